"""Prints whether the provider of the configuration file is watched, and makes one call."""

from opentelemetry import trace
from reached import report

tracer = trace.get_tracer("a")
with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
    for arguments in ('{"q": "canary", "n": 1}', '{"n": 1, "q": "canary"}', '{"q": "canary 2", "n": 1}'):
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments": arguments,
        }
        with tracer.start_as_current_span("execute_tool search", attributes=attributes) as span:
            span.set_attribute("gen_ai.tool.call.result", "canary result")
report()
