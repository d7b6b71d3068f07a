"""A LangGraph agent with a model that plays a script, under an instrumentation named by the command line."""

import sys
from importlib import import_module

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)

module, name = sys.argv[1].split(":")
getattr(import_module(module), name)().instrument()

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from reached import report

SCRIPT = [{"q": "canary", "n": 1}, {"n": 1, "q": "canary"}, {"q": "canary 2", "n": 1}, *[{"q": "canary"}] * 5]


@tool
def search(q: str, n: int = 0) -> str:
    """Search."""
    return "canary result"


class Script(GenericFakeChatModel):
    """Asks for the calls of the script, one a turn."""

    def bind_tools(self, tools, **options):
        return self


calls = [
    AIMessage(content="", tool_calls=[{"name": "search", "args": arguments, "id": f"call_{number}"}])
    for number, arguments in enumerate(SCRIPT[: int(sys.argv[2])])
]
model = Script(messages=iter([*calls, AIMessage(content="done")]), metadata={"ls_model_name": "script-1"})
create_agent(model, [search]).invoke(
    {"messages": [("user", "canary question")]}, config={"configurable": {"thread_id": "thread-1"}}
)
report()
