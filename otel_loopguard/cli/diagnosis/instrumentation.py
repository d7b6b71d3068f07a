"""Which instrumentations put a tool call's arguments on its span: by default, now, and what to set.

Not how they spell them (`conventions`). The README's table of instrumentations is tested against this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Final, Literal

__all__ = ["INSTRUMENTATIONS", "Installed", "Instrumentation", "Switch", "installed"]

Tested = Literal["real packages", "recorded spans", "its source"]
"""In a process with them; on spans that they wrote; on spans, or the lack of them, as their source has it."""
Calls = Literal["spans", "logs", "none"]
"""Where tool calls are written."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A variable with the words that throw it; of a list in the variable, one word is enough."""

    variable: str
    words: tuple[str, ...]

    def is_on(self, environ: Mapping[str, str]) -> bool:
        """Whether the variable says so, in any spelling of case."""
        held = {word.strip().lower() for word in environ.get(self.variable, "").split(",")}
        return any(word.lower() in held for word in self.words)

    @property
    def setting(self) -> str:
        """As one writes it in a shell."""
        return f"{self.variable}={self.words[0]}"


@dataclass(frozen=True, slots=True)
class Instrumentation:
    """One distribution."""

    name: str
    distribution: str
    tried: str
    """The version whose spans were tried."""
    calls: Calls = "spans"
    by_default: bool = True
    """Whether arguments and results are there when nothing is set."""
    shown_by: tuple[Switch, ...] = ()
    """All of them are needed; none: nothing shows them, where they are not there by default."""
    hidden_by: tuple[Switch, ...] = ()
    """Any of them is enough."""
    heard: bool = False
    """The completion hook hears the arguments all the same."""
    tested: Tested = "recorded spans"

    def is_visible(self, environ: Mapping[str, str]) -> bool:
        """Whether arguments and results are there under an environment."""
        if self.calls == "none" or any(switch.is_on(environ) for switch in self.hidden_by):
            return False
        return self.by_default or (bool(self.shown_by) and all(switch.is_on(environ) for switch in self.shown_by))

    def way_out(self, environ: Mapping[str, str]) -> str:
        """What to set so that they are there; empty where nothing helps or nothing is needed."""
        if self.calls == "none" or self.is_visible(environ):
            return ""
        off = [f"unset {switch.variable}" for switch in self.hidden_by if switch.is_on(environ)]
        return " and ".join(off or [switch.setting for switch in self.shown_by])


@dataclass(frozen=True, slots=True)
class Installed:
    """An instrumentation of this environment."""

    instrumentation: Instrumentation
    version: str
    visible: bool
    way_out: str


_CAPTURE: Final = (Switch("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", ("SPAN_ONLY", "SPAN_AND_EVENT")),)
_TRACELOOP: Final = (Switch("TRACELOOP_TRACE_CONTENT", ("false",)),)
_OPENINFERENCE: Final = (Switch("OPENINFERENCE_HIDE_INPUTS", ("true", "1")),)
_LATEST: Final = Switch("OTEL_SEMCONV_STABILITY_OPT_IN", ("gen_ai_latest_experimental",))


def _official() -> Iterator[Instrumentation]:
    """OpenTelemetry's own gen-AI instrumentations."""
    rows: tuple[tuple[str, Calls, bool, Tested], ...] = (
        ("langchain", "spans", True, "real packages"),
        ("llama-index", "spans", True, "recorded spans"),
        ("agno", "spans", True, "recorded spans"),
        ("openai-agents", "spans", False, "recorded spans"),
        ("smolagents", "none", False, "recorded spans"),
        ("openai", "none", False, "its source"),
        ("anthropic", "none", False, "its source"),
    )
    for part, calls, heard, tested in rows:
        yield Instrumentation(
            f"OpenTelemetry gen-AI {part}", f"opentelemetry-instrumentation-genai-{part}",
            "1.2b0" if part == "smolagents" else "1.3b0", calls, by_default=False, shown_by=_CAPTURE, heard=heard,
            tested=tested,
        )  # fmt: skip
    yield Instrumentation(
        "OpenTelemetry gen-AI google-genai", "opentelemetry-instrumentation-google-genai", "1.3b0", by_default=False,
        shown_by=_CAPTURE, tested="its source",
    )  # fmt: skip


def _openinference() -> Iterator[Instrumentation]:
    rows: tuple[tuple[str, str, Tested], ...] = (
        ("langchain", "0.1.80", "real packages"),
        ("openai-agents", "2.6.0", "recorded spans"),
        ("crewai", "1.1.21", "recorded spans"),
        ("smolagents", "0.1.43", "recorded spans"),
        ("llama-index", "4.6.1", "recorded spans"),
        ("google-adk", "1.0.5", "recorded spans"),
        ("pydantic-ai", "0.1.30", "recorded spans"),
        ("strands-agents", "0.1.12", "its source"),
        ("claude-agent-sdk", "0.1.22", "its source"),
        ("agno", "1.0.15", "its source"),
        ("autogen-agentchat", "0.1.22", "its source"),
    )
    for part, tried, tested in rows:
        yield Instrumentation(
            f"OpenInference {part}", f"openinference-instrumentation-{part}", tried, hidden_by=_OPENINFERENCE,
            tested=tested,
        )  # fmt: skip


def _traceloop() -> Iterator[Instrumentation]:
    rows: tuple[tuple[str, Calls], ...] = (
        ("langchain", "spans"), ("openai-agents", "spans"), ("agno", "spans"), ("llamaindex", "spans"),
        ("mcp", "spans"), ("crewai", "none"),
    )  # fmt: skip
    for part, calls in rows:
        yield Instrumentation(
            f"OpenLLMetry {part}", f"opentelemetry-instrumentation-{part}", "0.62.4", calls, hidden_by=_TRACELOOP,
            tested="its source" if part == "llamaindex" else "recorded spans",
        )  # fmt: skip
    yield Instrumentation("Traceloop SDK", "traceloop-sdk", "0.62.4", hidden_by=_TRACELOOP, tested="real packages")


INSTRUMENTATIONS: Final = (
    *_official(),
    *_openinference(),
    *_traceloop(),
    Instrumentation("Pydantic AI", "pydantic-ai-slim", "2.68.0"),
    Instrumentation("Strands Agents", "strands-agents", "1.62.0"),
    Instrumentation("Google ADK", "google-adk", "2.13.0", by_default=False, shown_by=_CAPTURE),
    Instrumentation("Langfuse", "langfuse", "5.0.4", tested="real packages"),
    Instrumentation("MLflow", "mlflow", "3.17.2", tested="real packages"),
    Instrumentation("MLflow tracing", "mlflow-tracing", "3.17.2", tested="real packages"),
    Instrumentation(
        "OpenLIT", "openlit", "1.45.0", tested="its source",
        hidden_by=(Switch("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", ("false", "NO_CONTENT")),),
    ),
    Instrumentation(
        "Microsoft Agent Framework", "agent-framework-core", "1.23.0", by_default=False,
        shown_by=(Switch("ENABLE_SENSITIVE_DATA", ("true",)), _LATEST),
    ),
    Instrumentation(
        "Semantic Kernel", "semantic-kernel", "1.45.0", by_default=False,
        shown_by=(Switch("SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE", ("true",)),),
    ),
    Instrumentation("AutoGen", "autogen-core", "0.7.5", by_default=False),
    Instrumentation(
        "Haystack", "opentelemetry-haystack", "2.0.0", by_default=False,
        shown_by=(Switch("HAYSTACK_CONTENT_TRACING_ENABLED", ("true", "1")),),
    ),
    Instrumentation("MCP Python SDK", "mcp", "2.3.0", by_default=False),
    Instrumentation(
        "Claude Code", "claude-agent-sdk", "0.2.189", "logs", by_default=False,
        shown_by=(Switch("OTEL_LOG_TOOL_DETAILS", ("1",)),), tested="its source",
    ),
)  # fmt: skip
"""Every one that is known, those of one project beside each other."""


def installed(environ: Mapping[str, str]) -> list[Installed]:
    """Those of this Python environment."""
    found = []
    for one in INSTRUMENTATIONS:
        try:
            held = version(one.distribution)
        except PackageNotFoundError:
            continue
        found.append(Installed(one, held, one.is_visible(environ), one.way_out(environ)))
    return found
