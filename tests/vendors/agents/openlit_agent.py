"""openlit, whose provider is the global one that it makes itself; the spans are those that it writes for tools."""

import os

import openlit
from opentelemetry import trace
from reached import report

openlit.init(otlp_endpoint=os.environ["COLLECTOR"], disable_batch=True, disable_metrics=True, disable_events=True)
tracer = trace.get_tracer("openlit.otel.tracing")

with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
    for arguments in ("{'q': 'canary', 'n': 1}", "{'n': 1, 'q': 'canary'}", "{'q': 'canary 2', 'n': 1}"):
        with tracer.start_as_current_span("execute_tool search") as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "search")
            span.set_attribute("gen_ai.tool.call.arguments", arguments)
            span.set_attribute("gen_ai.tool.call.result", "content='canary result' name='search' tool_call_id='c'")
report()
