"""What an instrumentation shows follows from its defaults and the variables that change them."""

from __future__ import annotations

from typing import Final

import pytest

from otel_loopguard.cli.diagnosis import INSTRUMENTATIONS

BY_NAME: Final = {one.distribution: one for one in INSTRUMENTATIONS}
SENSITIVE: Final = {"ENABLE_SENSITIVE_DATA": "true"}
CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@pytest.mark.parametrize(
    ("distribution", "environ", "visible", "way_out"),
    [
        ("opentelemetry-instrumentation-genai-langchain", {}, False, f"{CAPTURE}=SPAN_ONLY"),
        ("opentelemetry-instrumentation-genai-langchain", {CAPTURE: "true"}, False, f"{CAPTURE}=SPAN_ONLY"),
        ("opentelemetry-instrumentation-genai-langchain", {CAPTURE: "EVENT_ONLY"}, False, f"{CAPTURE}=SPAN_ONLY"),
        ("opentelemetry-instrumentation-genai-langchain", {CAPTURE: "span_and_event"}, True, ""),
        ("opentelemetry-instrumentation-genai-openai", {CAPTURE: "SPAN_ONLY"}, False, ""),
        ("openinference-instrumentation-crewai", {}, True, ""),
        ("openinference-instrumentation-crewai", {"OPENINFERENCE_HIDE_INPUTS": "true"},
         False, "unset OPENINFERENCE_HIDE_INPUTS"),
        ("traceloop-sdk", {"TRACELOOP_TRACE_CONTENT": "False"}, False, "unset TRACELOOP_TRACE_CONTENT"),
        ("opentelemetry-instrumentation-crewai", {}, False, ""),
        ("agent-framework-core", SENSITIVE,
         False, "ENABLE_SENSITIVE_DATA=true and OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"),
        ("agent-framework-core", {**SENSITIVE, "OTEL_SEMCONV_STABILITY_OPT_IN": "http, gen_ai_latest_experimental"},
         True, ""),
        ("mcp", {}, False, ""),
        ("mlflow", {}, True, ""),
    ],
)  # fmt: skip
def test_visibility(distribution: str, environ: dict[str, str], visible: bool, way_out: str) -> None:  # noqa: FBT001
    """Whether arguments are on the spans follows from the variables, and so does what to set."""
    known = BY_NAME[distribution]
    assert (known.is_visible(environ), known.way_out(environ)) == (visible, way_out)


def test_each_distribution_is_there_once() -> None:
    """The table has one row for each."""
    assert len(BY_NAME) == len(INSTRUMENTATIONS)
