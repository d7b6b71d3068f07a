"""The README's tables of instrumentations and providers: `python -m tests.readme_instrumentations` writes them anew.

The first is that of `loopguard doctor`; the second is what the tests with real packages run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from otel_loopguard.cli.diagnosis import INSTRUMENTATIONS, Instrumentation

__all__ = ["PROVIDERS", "with_instrumentations"]

_MARKED: Final = re.compile(r"(<!-- (instrumentations|providers) -->\n).*?(<!-- end -->)", re.DOTALL)
_REQUIREMENTS: Final = Path(__file__).parent / "vendors" / "requirements"

PROVIDERS: Final = {
    "logfire": ("logfire", "a new one at each `configure()`"),
    "langfuse": ("langfuse", "the global one, where there is none"),
    "phoenix": ("arize-phoenix-otel", "its own class; its exporter stays"),
    "traceloop": ("traceloop-sdk", "the global one, where there is none"),
    "openlit": ("openlit", "the global one, where there is none"),
    "mlflow": ("mlflow", "one of its own, beside the global one"),
    "openinference": ("opentelemetry-sdk", "your own code's, under OpenInference"),
    "genai": ("opentelemetry-util-genai", "your own code's, under the official instrumentations"),
    "declarative": ("opentelemetry-configuration", "that of `OTEL_CONFIG_FILE`"),
    "crewai": ("crewai", "its maker's own telemetry: left alone"),
}
"""Environment, distribution whose version is told, and which provider it makes."""


def _rows(one: Instrumentation) -> str:
    if one.calls == "none":
        default, way = "no tool spans", "-"
    else:
        default = "yes" if one.by_default else "no"
        shows = " and ".join(f"`{switch.setting}`" for switch in one.shown_by)
        hides = " or ".join(f"`{switch.setting}`" for switch in one.hidden_by)
        way = f"{hides} hides them" if hides else shows or ("-" if one.by_default else "nothing does")
        way += "; arguments are heard without" if one.heard else ""
        way += " (logs)" if one.calls == "logs" else ""
    return f"| {one.name} | `{one.distribution}` {one.tried} | {default} | {way} | {one.tested} |\n"


def _instrumentations() -> Iterator[str]:
    yield "| instrumentation | version tried | arguments visible by default | how to make them visible | tested how |\n"
    yield "| --- | --- | --- | --- | --- |\n"
    yield from map(_rows, INSTRUMENTATIONS)


def _providers() -> Iterator[str]:
    yield "| provider of | version tried | which |\n"
    yield "| --- | --- | --- |\n"
    for environment, (distribution, which) in PROVIDERS.items():
        text = (_REQUIREMENTS / f"{environment}.txt").read_text(encoding="utf-8")
        (version,) = re.findall(rf"^{distribution}==(.+)$", text, re.MULTILINE)
        yield f"| {environment} | `{distribution}` {version} | {which} |\n"


def with_instrumentations(text: str) -> str:
    """The text with both tables as they are to be."""
    tables = {"instrumentations": "".join(_instrumentations()), "providers": "".join(_providers())}
    return _MARKED.sub(lambda found: found[1] + tables[found[2]] + found[3], text)


if __name__ == "__main__":
    _README = Path(__file__).resolve().parent.parent / "README.md"
    _README.write_text(with_instrumentations(_README.read_text(encoding="utf-8")), encoding="utf-8")
