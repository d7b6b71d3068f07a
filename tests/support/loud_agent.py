"""An instrumented agent without otel-loopguard that says everything everywhere: one text in every place of OTLP.

`opentelemetry-instrument python -m tests.support.loud_agent RUN TEXT`. Five equal tool calls, with a model's span and
a log record beside each.
"""

from __future__ import annotations

import json
import sys

from opentelemetry import _logs, trace
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

CALLS = 5


def main(run: str, text: str) -> None:
    """Say it all."""
    tracer, logger = trace.get_tracer("loud"), _logs.get_logger("loud")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "loud", "gen_ai.conversation.id": run}
    with tracer.start_as_current_span("invoke_agent loud", attributes=agent):
        for number in range(CALLS):
            context = SpanContext(trace_id=number + 1, span_id=number + 1, is_remote=True, trace_flags=TraceFlags(1))
            with tracer.start_as_current_span(
                "execute_tool search", links=[Link(context, {"link.note": text, "gen_ai.tool.call.arguments": text})]
            ) as span:
                span.set_attributes({
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "search",
                    "gen_ai.tool.call.id": f"{run}-{number}",
                    "gen_ai.conversation.id": run,
                    "gen_ai.tool.call.arguments": json.dumps({"query": text}),
                    "gen_ai.tool.call.result": json.dumps([text]),
                    "input.value": text,
                    "traceloop.entity.input": text,
                    "my.own": text,
                    "my.list": [text, text],
                })  # fmt: skip
                span.add_event("gen_ai.tool.message", {"content": text, "gen_ai.tool.call.arguments": text})
                span.record_exception(ValueError(text))
                span.set_status(Status(StatusCode.ERROR, text))
            with tracer.start_as_current_span("chat") as span:
                span.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps([text])})
            attributes = {"gen_ai.tool.call.arguments": text, "note": {"deep": [text]}, "exception.message": text}
            for body in (text, {"content": text, "deep": {"list": [text]}}, [text]):
                logger.emit(LogRecord(body=body, attributes=attributes, severity_number=SeverityNumber.INFO))
            logger.emit(LogRecord(body=text, attributes=attributes, event_name="gen_ai.tool.message"))


if __name__ == "__main__":
    main(*sys.argv[1:])
