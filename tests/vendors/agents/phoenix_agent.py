"""arize-phoenix-otel with its decorators; its provider drops its own exporter when a processor is added to it."""

import os

from phoenix.otel import register
from reached import report

provider = register(endpoint=f"{os.environ['COLLECTOR']}/v1/traces", batch=False, verbose=False)
tracer = provider.get_tracer("a")


@tracer.tool
def search(*, q: str, n: int) -> str:
    return "canary result"


@tracer.agent
def agent() -> str:
    search(q="canary", n=1)
    search(n=1, q="canary")
    search(q="canary 2", n=1)
    return "done"


agent()
report()
