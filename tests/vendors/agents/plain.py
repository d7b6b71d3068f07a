"""Plain user code: two providers of its own, one set as the global one later than its tracers were asked for."""

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from reached import report

early = trace.get_tracer("early")
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
other = TracerProvider()
other.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

with early.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
    for tracer, arguments in (
        (early, '{"q": "canary", "n": 1}'),
        (other.get_tracer("other"), '{"n": 1, "q": "canary"}'),
        (early, '{"q": "canary 2", "n": 1}'),
    ):
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search",
            "gen_ai.tool.call.arguments": arguments,
        }
        with tracer.start_as_current_span("execute_tool search", attributes=attributes) as span:
            span.set_attribute("gen_ai.tool.call.result", "canary result")
report()
