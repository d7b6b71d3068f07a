"""An agent behind WSGI, ASGI and Celery: each request or task makes one call and tells how it was counted."""

import json
import os

import otel_loopguard
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

provider = TracerProvider()
exporter = InMemorySpanExporter()
provider.add_span_processor(SimpleSpanProcessor(exporter))


def call() -> bytes:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.arguments": "{}"}
    with otel_loopguard.run("one run"):
        with provider.get_tracer("t").start_as_current_span("execute_tool t", attributes=attributes):
            pass
    (span,) = exporter.get_finished_spans()
    exporter.clear()
    told = {name: span.attributes[f"loopguard.{name}"] for name in ("sequence", "process.id")}
    return json.dumps({"pid": os.getpid(), **told}).encode()


def wsgi(environ, start_response):
    start_response("200 OK", [("content-type", "application/json")])
    return [call()]


async def asgi(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": call()})


if os.environ.get("BROKER"):
    from celery import Celery

    tasks = Celery("serving", broker="filesystem://")
    tasks.conf.broker_transport_options = {
        "data_folder_in": os.environ["BROKER"],
        "data_folder_out": os.environ["BROKER"],
        "control_folder": os.environ["BROKER"],
    }

    @tasks.task(name="work")
    def work() -> None:
        with open(os.environ["TOLD"], "ab", buffering=0) as file:
            file.write(call() + b"\n")
