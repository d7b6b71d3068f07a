"""The Traceloop SDK with its decorators."""

import os

from reached import report
from traceloop.sdk import Traceloop
from traceloop.sdk.decorators import agent, tool

Traceloop.init(app_name="a", api_endpoint=os.environ["COLLECTOR"], disable_batch=True, telemetry_enabled=False)


@tool(name="search")
def search(*, q: str, n: int) -> str:
    return "canary result"


@agent(name="a")
def run() -> None:
    search(q="canary", n=1)
    search(n=1, q="canary")
    search(q="canary 2", n=1)


run()
report()
