"""The real packages, each in a process of its own: every provider is reached, and what leaves is what we say.

`make test-vendors` runs all of them; they are left out elsewhere, because they install packages.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.vendors import environments
from tests.vendors.collector import Collector, collecting

pytestmark = pytest.mark.vendors

Environment = Callable[[str], Path]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    return environments.wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(built: Path) -> Environment:
    """Makes the environment of a name once a session and gives its Python."""
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            made[name] = environments.environment(name, built)
        return made[name]

    return make


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Where the vendor's spans go."""
    with collecting() as held:
        yield held


def settings(collector: Collector, content: str = "redact_all") -> dict[str, str]:
    """One variable switches on; the others say with which key, and where the vendor sends."""
    return {
        "LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": environments.KEY, "LOOPGUARD_CONTENT": content,
        "COLLECTOR": collector.url, "MLFLOW_TRACKING_URI": collector.url, "MLFLOW_EXPERIMENT_ID": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{collector.url}/v1/traces",
        "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none",
    }  # fmt: skip


def providers(printed: str) -> list[list[Any]]:
    """Class, how often we are on it, whether we are first, of each provider that the program had."""
    (line,) = [line for line in printed.splitlines() if line.startswith("PROVIDERS ")]
    found: list[list[Any]] = json.loads(line.removeprefix("PROVIDERS "))
    return found


class Vendor(NamedTuple):
    """One row of the table."""

    environment: str
    command: tuple[str, ...]
    providers: int
    """Providers of the SDK that the program has at its end."""
    environ: Mapping[str, str] = {}


LANGCHAIN: Final = "openinference.instrumentation.langchain:LangChainInstrumentor"
VENDORS: Final = {
    "plain": Vendor("declarative", ("plain.py",), 2),
    "logfire": Vendor("logfire", ("logfire_agent.py",), 1),
    "langfuse": Vendor("langfuse", ("langfuse_agent.py",), 1),
    "phoenix": Vendor("phoenix", ("phoenix_agent.py",), 1),
    "traceloop": Vendor("traceloop", ("traceloop_agent.py",), 1),
    "openlit": Vendor("openlit", ("openlit_agent.py",), 1),
    "mlflow": Vendor("mlflow", ("mlflow_agent.py",), 1),
    "openinference": Vendor("openinference", ("langgraph_agent.py", LANGCHAIN, "3"), 1),
    "declarative": Vendor(
        "declarative",
        ("-c", "from opentelemetry.instrumentation.auto_instrumentation import run; run()", "python", "declarative.py"),
        1,
        {"OTEL_CONFIG_FILE": "otel.yaml"},
    ),
}


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
def test_a_vendor(vendor: Vendor, environment: Environment, collector: Collector) -> None:
    """Every provider has our processor once and first; the vendor's exporter sends the annotated spans, unreadable."""
    python = environment(vendor.environment)
    printed = environments.run(python, *vendor.command, environ={**settings(collector), **vendor.environ})
    found = providers(printed)
    assert [one[1:] for one in found if one[1]] == [[1, True]] * vendor.providers, found
    first, second, other = collector.tools
    assert first["loopguard.fingerprint"] == second["loopguard.fingerprint"] != other["loopguard.fingerprint"]
    assert [one["loopguard.repeat.count"] for one in (first, second, other)] == [1, 2, 1]
    assert {one["gen_ai.tool.name"] for one in (first, second, other)} == {"search"}
    assert [one["loopguard.outcome"] for one in (first, second, other)] == ["ok"] * 3
    assert not [raw for raw in collector.raw if b"canary" in raw]


@pytest.mark.parametrize("vendor", VENDORS.values(), ids=VENDORS)
def test_a_vendor_when_off(vendor: Vendor, environment: Environment, collector: Collector) -> None:
    """With the variable unset the vendor's spans are as if we were not installed."""
    python = environment(vendor.environment)
    environ = {**settings(collector), **vendor.environ, "LOOPGUARD_ENABLED": ""}
    printed = environments.run(python, *vendor.command, environ=environ)
    assert {one[1] for one in providers(printed)} == {0}
    assert [raw for raw in collector.raw if b"canary" in raw]
    assert not [raw for raw in collector.raw if b"loopguard." in raw]


OFFICIAL: Final = ("langgraph_agent.py", "opentelemetry.instrumentation.genai.langchain:LangChainInstrumentor")


@pytest.mark.parametrize("hook", ["", "loopguard", "theirs"])
def test_official_without_content(environment: Environment, collector: Collector, hook: str, tmp_path: Path) -> None:
    """With content capture off, calls have fingerprints by the completion hook and nothing readable is sent; whether no
    hook is named, ours or the user's own, which keeps working.
    """
    python = environment("genai")
    heard = tmp_path / "heard"
    environ = {**settings(collector, "redact"), "HEARD": str(heard)}
    if hook:
        environ["OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK"] = hook
    environ["PYTHONPATH"] = str(users_hook(tmp_path))
    environments.run(python, *OFFICIAL, "3", environ=environ)
    first, second, other = collector.tools
    assert first["loopguard.fingerprint"] == second["loopguard.fingerprint"] != other["loopguard.fingerprint"]
    assert [one["loopguard.repeat.count"] for one in (first, second, other)] == [1, 2, 1]
    assert [one["gen_ai.tool.call.id"] for one in (first, second, other)] == ["call_0", "call_1", "call_2"]
    assert not [raw for raw in collector.raw if b"canary" in raw]
    assert (heard.exists() and "canary" in heard.read_text()) == (hook == "theirs")


def users_hook(folder: Path) -> Path:
    """A distribution with a completion hook, as a user would write it."""
    made = folder / "site"
    info = made / "theirs-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[opentelemetry_genai_completion_hook]\ntheirs = theirs:Hook\n")
    (made / "theirs.py").write_text(
        "import os\n"
        "class Hook:\n"
        "    def on_completion(self, *, inputs, outputs, system_instruction, **more):\n"
        "        with open(os.environ['HEARD'], 'a') as file:\n"
        "            file.write(repr(outputs))\n"
    )
    return made


def test_official_loop_without_content(environment: Environment, collector: Collector) -> None:
    """Without results a loop is still told: the same call five times in a row."""
    python = environment("genai")
    environments.run(python, *OFFICIAL, "8", environ=settings(collector, "redact"))
    verdicts = [one["loopguard.verdict"] for one in collector.tools]
    assert verdicts == ["allow"] * 7 + ["nudge"]


def test_official_with_content(environment: Environment, collector: Collector) -> None:
    """With content capture on, results are read too, and redacted before they leave."""
    python = environment("genai")
    environ = {**settings(collector), "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}
    environments.run(python, *OFFICIAL, "3", environ=environ)
    assert [one["loopguard.outcome"] for one in collector.tools] == ["ok"] * 3
    assert not [raw for raw in collector.raw if b"canary" in raw]


def test_a_vendors_own_telemetry(environment: Environment) -> None:
    """CrewAI's provider for its maker is left as it is; the user's beside it is watched."""
    python = environment("crewai")
    environ = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": environments.KEY, "CREWAI_STORAGE_DIR": "loopguard-tests"}
    printed = environments.run(python, "crewai_agent.py", environ=environ).splitlines()
    (vendor,) = [line for line in printed if line.startswith("VENDOR ")]
    assert "LoopGuardSpanProcessor" not in vendor
    assert "USER ['LoopGuardSpanProcessor']" in printed


class Environ(NamedTuple):
    """What `loopguard doctor` is to say of an environment."""

    name: str
    environ: Mapping[str, str]
    code: int
    seen: str


@pytest.mark.parametrize(
    "case",
    [
        Environ("genai", {}, 0, "arguments heard"),
        Environ("genai", {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}, 0, "visible"),
        Environ("openinference", {}, 0, "visible"),
        Environ("openinference", {"OPENINFERENCE_HIDE_INPUTS": "true"}, 1, "not visible"),
    ],
)
def test_doctor(environment: Environment, collector: Collector, case: Environ) -> None:
    """In an environment of real packages, what is installed, what it shows and whether it is watched is told."""
    python = environment(case.name)
    command = "import sys; from otel_loopguard.cli import main; sys.argv[0] = 'loopguard'; "
    command += "code = 0\ntry: main(['doctor', '--json'])\nexcept SystemExit as left: print('EXIT', left.code or 0)"
    printed = environments.run(python, "-c", command, environ={**settings(collector), **case.environ})
    text, _, ended = printed.rpartition("EXIT ")
    told = json.loads(text)
    levels = {check["subject"]: check["level"] for check in told["checks"]}
    (known,) = told["instrumentations"]
    assert known["version"] == known["tried"] == environments.pinned(case.name)[known["distribution"]]
    visible = (
        "visible" if known["arguments_visible"] else "arguments heard" if known["arguments_heard"] else "not visible"
    )
    assert (int(ended), visible) == (case.code, case.seen)
    assert (levels["provider"], levels["endpoint"]) == ("ok", "ok")


def test_the_wheel(built: Path, tmp_path: Path) -> None:
    """In a fresh environment with nothing but the wheel, start-up finds the hook beside the package."""
    python = tmp_path / "bin" / "python"
    environments.uv("venv", "--quiet", "--python", "3", tmp_path)
    environments.uv("pip", "install", "--quiet", "--python", python, built)
    source = "from opentelemetry.sdk.trace import TracerProvider; import importlib.metadata as m; "
    source += "print(m.version('otel-loopguard'), len(TracerProvider()._active_span_processor._span_processors))"
    environ = {"LOOPGUARD_ENABLED": "true", "LOOPGUARD_KEY": environments.KEY}
    assert environments.run(python, "-c", source, environ=environ) == f"{version('otel-loopguard')} 1\n"
    assert environments.run(python, "-c", source) == f"{version('otel-loopguard')} 0\n"
    assert (next(python.parent.parent.glob("lib/*/site-packages")) / "otel_loopguard.pth").exists()
