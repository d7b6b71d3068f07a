"""langfuse with tools as `@observe(as_type="tool")` makes them."""

import os

from langfuse import Langfuse, observe
from reached import report

client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=os.environ["COLLECTOR"])


@observe(as_type="tool")
def search(*, q: str, n: int) -> str:
    return "canary result"


@observe(as_type="agent")
def agent() -> None:
    search(q="canary", n=1)
    search(n=1, q="canary")
    search(q="canary 2", n=1)


agent()
report()
client.flush()
