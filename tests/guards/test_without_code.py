"""`LOOPGUARD_GUARD` alone: what it guards without a line of code, and what it says of the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from otel_loopguard.cli.diagnosis import check_guards
from otel_loopguard.guards.frameworks import FRAMEWORKS

AGENT = """
import otel_loopguard_autoload
otel_loopguard_autoload.LoopGuardInstrumentor().instrument()
from langchain_core.tools import tool

ran = 0

@tool
def search(query: str) -> str:
    "Looks something up"
    global ran
    ran += 1
    return "2 hits"

from langchain_core.runnables import RunnableLambda

def agent(question):
    heard = []
    for _ in range(8):
        try:
            heard.append(search.invoke({"query": question}))
        except Exception as stop:
            return [*heard, type(stop).__name__]
    return heard

print(RunnableLambda(agent).invoke("why"), ran)
print(RunnableLambda(agent).invoke("why"), ran)
"""


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("enforce", "['2 hits', '2 hits', '2 hits', '2 hits', 'LoopDetected'] {}"),
        ("observe", "['2 hits', '2 hits', '2 hits', '2 hits', '2 hits', '2 hits', '2 hits', '2 hits'] {}"),
        ("", "['2 hits', '2 hits', '2 hits', '2 hits', '2 hits', '2 hits', '2 hits', '2 hits'] {}"),
    ],
)
def test_langchain_is_guarded_by_a_variable(mode: str, said: str) -> None:
    """In mode `enforce` the fifth equal call is refused before the tool runs; two conversations are two runs."""
    pytest.importorskip("langchain_core", reason="needs `langchain`: make test-guards")
    environ = {
        **os.environ,
        "LOOPGUARD_ENABLED": "true",
        "LOOPGUARD_GUARD": mode,
        "LOOPGUARD_KEY": "0123456789abcdef" * 4,
    }
    done = subprocess.run([sys.executable, "-c", AGENT], env=environ, capture_output=True, text=True, check=False)
    first, second = (4, 8) if mode == "enforce" else (8, 16)
    assert done.stdout.splitlines() == [said.format(first), said.format(second)], done.stderr


IN_FLIGHT = """
import otel_loopguard_autoload
otel_loopguard_autoload.LoopGuardInstrumentor().instrument()
import asyncio
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

ran = 0

@tool
async def refund(order: str) -> str:
    "Pays back"
    global ran
    ran += 1
    await asyncio.sleep(0)
    return "refunded"

async def agent(order):
    asked = [refund.ainvoke({"order": order}) for _ in range(3)]
    return [type(one).__name__ for one in await asyncio.gather(*asked, return_exceptions=True)]

print(asyncio.run(RunnableLambda(agent).ainvoke("A1")), ran)
"""


def test_a_write_in_flight_does_not_run_again_by_a_variable(tmp_path: Path) -> None:
    """A callback can refuse by an exception alone, so the equal writes that start beside the first raise it."""
    pytest.importorskip("langchain_core", reason="needs `langchain`: make test-guards")
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\ntools: {refund: {kind: write}}\n")
    environ = {
        **os.environ, "LOOPGUARD_ENABLED": "true", "LOOPGUARD_GUARD": "enforce", "LOOPGUARD_POLICY": str(policy),
        "LOOPGUARD_KEY": "0123456789abcdef" * 4,
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", IN_FLIGHT], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['str', 'LoopDetected', 'LoopDetected'] 1", done.stderr


INSTRUMENTED = """
import otel_loopguard_autoload
otel_loopguard_autoload.LoopGuardInstrumentor().instrument()
from opentelemetry.sdk.trace import TracerProvider
from openinference.instrumentation.langchain import LangChainInstrumentor
import otel_loopguard
from otel_loopguard.guards.langchain_callbacks import LoopguardCallbacks
from tests.guards.drivers.langchain import Sync
from tests.guards.script import Script, Tools

provider = TracerProvider()
otel_loopguard.instrument(provider)
LangChainInstrumentor().instrument(tracer_provider=provider, skip_dep_check=True)
Sync().run(Script.stubborn(("ask", {"query": "why"}), times=4), Tools(), None)
counters = LoopguardCallbacks.shared.guard._live.counters
print(counters.total("loopguard.tool.calls"), counters.total("loopguard.findings"))
"""


def test_langchain_by_a_variable_beside_an_instrumentation_is_one_count() -> None:
    """OpenInference prints the arguments in its own way and tells nobody of its spans: a call is one call still."""
    pytest.importorskip("openinference.instrumentation.langchain", reason="needs `langchain`: make test-guards")
    environ = {
        **os.environ, "LOOPGUARD_ENABLED": "true", "LOOPGUARD_GUARD": "observe", "LOOPGUARD_KEY": "0123456789abcdef" * 4
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", INSTRUMENTED], env=environ, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["4", "1"], done.stderr


def test_doctor_says_which_frameworks_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line for each installed framework: guarded by the variable, or how to guard it; none without the variable."""
    monkeypatch.setattr("otel_loopguard.guards.frameworks.version", lambda name: "1.2")  # noqa: ARG005
    assert check_guards({}) == []
    (off,) = check_guards({"LOOPGUARD_GUARD": "enforce"})
    assert (off.level, off.way_out) == ("warning", "set LOOPGUARD_ENABLED=true")
    on = {"LOOPGUARD_ENABLED": "true"}
    checks = check_guards({**on, "LOOPGUARD_GUARD": "enforce"})
    assert [check.level for check in checks] == ["ok", *["warning"] * 5]
    assert checks[0].text == "langchain-core 1.2 is guarded, mode enforce"
    assert [check.way_out for check in checks] == [framework.how for framework in FRAMEWORKS]
    for check, framework in zip(checks[1:], FRAMEWORKS[1:], strict=True):
        assert framework.why
        assert check.text == f"LOOPGUARD_GUARD does not reach {framework.distribution} 1.2: {framework.why}"
        assert "otel_loopguard.guards." in check.way_out

    def nothing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("otel_loopguard.guards.frameworks.version", nothing)
    assert [check.level for check in check_guards({**on, "LOOPGUARD_GUARD": "nudge"})] == ["warning"]


CHAT = """
import otel_loopguard_autoload
otel_loopguard_autoload.LoopGuardInstrumentor().instrument()
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from tests.guards.drivers.langchain import Scripted
from tests.guards.script import Model, Script

@tool
def search(query: str) -> str:
    "Looks something up"
    return "2 hits"

for often in (1, 9):
    asked = Script(((("search", {"query": "status"}),),) * often)
    thread = {"configurable": {"thread_id": f"t{often}"}}
    saver = InMemorySaver()
    for turn in range(7):
        agent = create_agent(Scripted(script=Model(asked)), [search], checkpointer=saver)
        try:
            agent.invoke({"messages": [("user", f"how is it now? {turn}")]}, thread)
        except Exception as stop:
            print(often, type(stop).__name__, turn)
            break
    else:
        print(often, "answered")
"""


def test_a_users_message_in_a_thread_begins_anew() -> None:
    """A chat in which each message makes one equal call is no loop; one message that makes many is."""
    pytest.importorskip("langchain", reason="needs `langchain`: make test-guards")
    environ = {**os.environ, "LOOPGUARD_ENABLED": "true", "LOOPGUARD_GUARD": "enforce", "OTEL_SDK_DISABLED": ""}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHAT], env=environ, capture_output=True, text=True, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.splitlines() == ["1 answered", "9 LoopDetected 0"], done.stderr
