"""mlflow, which keeps a provider of its own beside the global one and exports by OTLP where a variable says so."""

import mlflow
from reached import report


@mlflow.trace(span_type="TOOL")
def search(*, q: str, n: int) -> str:
    return "canary result"


@mlflow.trace(span_type="AGENT")
def agent() -> str:
    search(q="canary", n=1)
    search(n=1, q="canary")
    search(q="canary 2", n=1)
    return "done"


agent()
report()
mlflow.flush_trace_async_logging()
