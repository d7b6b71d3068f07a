"""Providers that the application makes itself are all reached, once each, by the start-up hook and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from otel_loopguard.otel.reach import is_vendors_own

ON: Final = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": "0123456789abcdef" * 4}
COUNT: Final = """
def ours(provider):
    held = getattr(provider._active_span_processor, "_span_processors")
    kinds = [type(one).__name__ for one in held]
    assert "LoopGuardSpanProcessor" not in kinds[1:], kinds  # ours is the first, where it is there
    return kinds.count("LoopGuardSpanProcessor")
"""


def run(tmp_path: Path, source: str, environ: Mapping[str, str] = ON, *flags: str) -> str:
    """What a program prints in a process of its own; it must end well and without a word on standard error."""
    script = tmp_path / "app.py"
    script.write_text(COUNT + source)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("LOOPGUARD_", "OTEL_", "COV"))}
    done = subprocess.run(
        [sys.executable, *flags, script], cwd=tmp_path, env={**own, **environ}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_the_hook_is_where_start_up_looks(root: Path) -> None:
    """The line is one line, installed beside the package, and the same as in the project."""
    installed = Path(sysconfig.get_path("purelib"), "otel_loopguard.pth")
    text = installed.read_text(encoding="utf-8")
    assert text == (root / "otel_loopguard.pth").read_text(encoding="utf-8")
    assert text.count("\n") == 1
    assert text.startswith("import ")


@pytest.mark.parametrize("word", [None, "", "0", "false", " FALSE "])
@pytest.mark.parametrize("flags", [(), ("-I",)], ids=["plain", "isolated"])
def test_off_imports_nothing(tmp_path: Path, word: str | None, flags: tuple[str, ...]) -> None:
    """Unless the variable is set, no module of ours is imported at start-up and no provider is touched."""
    source = """
import sys
before = sorted(n for n in sys.modules if "loopguard" in n or n.startswith("opentelemetry"))
from opentelemetry.sdk.trace import TracerProvider
print(before, ours(TracerProvider()))
"""
    environ = {} if word is None else {"LOOPGUARD_ENABLED": word}
    assert run(tmp_path, source, environ, *flags) == "[] 0"


def test_on_imports_one_file(tmp_path: Path) -> None:
    """Switched on, a process that never traces has imported one small module, none of OpenTelemetry's."""
    source = 'import sys; print([n for n in sys.modules if "loopguard" in n or n.startswith("opentelemetry")])'
    assert run(tmp_path, source, {"LOOPGUARD_ENABLED": "1"}) == "['otel_loopguard_autoload']"


CASES: Final = {
    "plain user code": "print(ours(TracerProvider()))",
    "several": "print(*{ours(TracerProvider()) for _ in range(3)})",
    "set as the global one": """
provider = TracerProvider()
trace.set_tracer_provider(provider)
print(ours(trace.get_tracer_provider()))
""",
    "attached by hand too": """
provider = TracerProvider()
import otel_loopguard
otel_loopguard.instrument(provider)
print(ours(provider))
""",
    "the entry point too": """
from otel_loopguard_autoload import LoopGuardInstrumentor
provider = TracerProvider()
trace.set_tracer_provider(provider)
LoopGuardInstrumentor().instrument()
LoopGuardInstrumentor().instrument(tracer_provider=provider)
print(ours(provider))
""",
    "activated twice": """
import otel_loopguard_autoload as autoload
autoload.activate()
autoload.activate()
print(ours(TracerProvider()))
""",
    "a subclass that adds its exporter": """
class Vendor(TracerProvider):
    def __init__(self):
        super().__init__()
        TracerProvider.add_span_processor(self, SimpleSpanProcessor(ConsoleSpanExporter()))
    def add_span_processor(self, span_processor):
        raise AssertionError("drops the default exporter")
vendor = Vendor()
assert len(vendor._active_span_processor._span_processors) == 2
print(ours(vendor))
""",
    "a list of processors that was there before": """
from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor
held = SynchronousMultiSpanProcessor()
held.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
print(ours(TracerProvider(active_span_processor=held)))
""",
    "processors on threads of their own": """
from opentelemetry.sdk.trace import ConcurrentMultiSpanProcessor
print(ours(TracerProvider(active_span_processor=ConcurrentMultiSpanProcessor(), shutdown_on_exit=False)))
""",
    "two providers with one list": """
from opentelemetry.sdk.trace import SynchronousMultiSpanProcessor
held = SynchronousMultiSpanProcessor()
TracerProvider(active_span_processor=held)
print(ours(TracerProvider(active_span_processor=held)))
""",
    "the SDK imported anew, as notebooks do": """
import importlib, sys
import opentelemetry.sdk.trace
print(ours(importlib.reload(opentelemetry.sdk.trace).TracerProvider()))
""",
    "what the class shows of itself": """
import inspect, pickle
assert pickle.loads(pickle.dumps(TracerProvider)) is TracerProvider
assert "sampler" in inspect.signature(TracerProvider).parameters
assert "def add_span_processor" in inspect.getsource(TracerProvider)
print(1)
""",
}  # fmt: skip


@pytest.mark.parametrize("source", CASES.values(), ids=CASES)
def test_each_provider_is_reached_once(tmp_path: Path, source: str) -> None:
    """However a provider is made, our processor is on it once, before all others."""
    imports = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
"""
    assert run(tmp_path, imports + source) == "1"


def test_no_provider_is_made(tmp_path: Path) -> None:
    """An application without a provider has none because of us."""
    source = "from opentelemetry import trace\nprint(type(trace.get_tracer_provider()).__name__)"
    assert run(tmp_path, source) == "ProxyTracerProvider"


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("crewai.telemetry.telemetry", True),
        ("crewai.telemetry", True),
        ("crewai_core.telemetry", True),
        ("guardrails.hub_telemetry.hub_tracing", True),
        ("guardrails.utils.hub_telemetry_utils", True),
        ("crewai.telemetry_of_mine", False),
        ("crewai.agent", False),
        ("my.crewai.telemetry", False),
        ("", False),
    ],
)
def test_which_modules_are_vendors_own(module: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """A provider belongs to a vendor where the vendor's own telemetry package asked for it."""
    assert is_vendors_own(module) is expected


def test_a_vendors_own_provider_is_left_alone(tmp_path: Path) -> None:
    """What is made inside a vendor's telemetry stays as it is, whatever lies between; the next one is reached."""
    package = tmp_path / "crewai" / "telemetry"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package.parent / "__init__.py").write_text("")
    (package / "session.py").write_text(
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "class Own(TracerProvider):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "def make():\n"
        "    return Own()\n"
    )
    source = """
from crewai.telemetry.session import make, TracerProvider
print(ours(make()), ours(TracerProvider()))
"""
    assert run(tmp_path, source) == "0 1"


@pytest.mark.parametrize("word", ["true", "yes"])
def test_a_broken_installation_does_not_stop_the_application(tmp_path: Path, word: str) -> None:
    """Where the package cannot be imported the application goes on; the log says so, without the message."""
    broken = tmp_path / "otel_loopguard"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise ImportError('canary')")
    source = """
import io, logging
heard = io.StringIO()
logging.basicConfig(stream=heard)
from opentelemetry.sdk.trace import TracerProvider
print(ours(TracerProvider()), "not started: ImportError" in heard.getvalue(), "canary" in heard.getvalue())
"""
    assert run(tmp_path, source, {"LOOPGUARD_ENABLED": word, "PYTHONPATH": str(tmp_path)}) == "0 True False"
