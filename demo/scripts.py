"""What the two agents of the demo decide and what their tools answer, written down step by step.

Not an agent: `demo.agent` plays a script and makes the telemetry. Every argument and every result holds the
customer's name, so that one search of the wire tells whether anything readable got out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["SCRIPTS", "STEPS", "Step", "healthy", "stuck"]

STEPS: Final = 40
"""Length of either run: the budget that ends the stuck one."""


class Step(NamedTuple):
    """One decision of the scripted model and what came of it."""

    thought: str
    tool: str
    arguments: str
    """As models hand arguments over: JSON text."""
    result: object


def stuck(customer: str) -> Iterator[Step]:
    """Three useful steps, then one question in four spellings that finds nothing, until the budget is used up."""
    yield Step(
        "An alert came in. I read it first.",
        "get_alert",
        json.dumps({"alert": "AL-7731", "customer": customer}),
        {"title": "Checkout fails", "customer": customer, "service": "checkout", "since": "2026-11-29T08:00:00Z"},
    )
    yield Step(
        "Which version of checkout is running, and since when?",
        "list_deploys",
        json.dumps({"service": "checkout", "customer": customer}),
        [{"version": "4.18.2", "at": "2026-11-28T17:20:00Z", "customer": customer}],
    )
    yield Step(
        "The deploy was hours before the alert. I look at the error rate.",
        "get_error_rate",
        json.dumps({"service": "checkout", "customer": customer}),
        {"errors_per_minute": 41, "before": 2, "customer": customer},
    )
    question = {"service": "checkout", "customer": customer, "level": "error", "since": "2026-11-29T08:00:00Z"}
    for step in range(4, STEPS + 1):
        yield Step(
            "The error rate is high, so there must be error logs of the checkout service since the alert began. "
            "The last search came back empty, which I did not expect; I search the logs again to be sure.",
            "search_logs",
            _spelling(question, step),
            [],
        )


def _spelling(question: dict[str, str], step: int) -> str:
    """The same question as models vary it: order of keys, blanks, a null for what was left out, a request's id."""
    match step % 4:
        case 0:
            return json.dumps(question)
        case 1:
            return json.dumps(dict(reversed(question.items())), separators=(",", ":"))
        case 2:
            return json.dumps({**question, "level": " error", "until": None}, indent=2)
        case _:
            return json.dumps({"request_id": f"req-{step}", **question})


def healthy(customer: str) -> Iterator[Step]:
    """Work that repeats calls and gets somewhere: pages, a poll, edits each followed by the same test run."""
    yield Step(
        "The customer asks why orders are missing from the export. I read the ticket.",
        "get_ticket",
        json.dumps({"ticket": "T-1290", "customer": customer}),
        {"title": "Orders missing from export", "customer": customer},
    )
    for page in range(8):
        orders = [{"id": f"{customer}-{page}-{number}", "total": 10 * number} for number in range(3)]
        yield Step(
            "More orders may follow on the next page.",
            "list_orders",
            json.dumps({"customer": customer, "cursor": f"page-{page}"}),
            {"orders": orders, "next": f"page-{page + 1}"},
        )
    export = json.dumps({"customer": customer})
    yield Step("I have all orders; now a fresh export.", "start_export", export, {"export": 1, "customer": customer})
    for status in ["queued"] * 3 + ["running"] * 5 + ["complete"]:
        answer = {"export": 1, "status": status, "customer": customer}
        yield Step("Is the export done?", "get_export_status", export, answer)
    yield Step(
        "Two orders lack. I look at the code that selects them.",
        "read_file",
        json.dumps({"path": "export/select.py", "customer": customer}),
        f"def select(orders): ...  # {customer}",
    )
    for edit, failed in enumerate((8, 6, 6, 4, 3, 2, 2, 1, 0), start=1):
        yield Step(
            "The tests still fail. I change the selection.",
            "edit_file",
            json.dumps({"path": "export/select.py", "content": f"# {customer}: change {edit}\n"}),
            {"changed": True, "customer": customer},
        )
        yield Step(
            "Do the tests pass now?",
            "run_tests",
            json.dumps({"path": "export", "customer": customer}),
            {"failed": failed, "customer": customer},
        )
    yield Step(
        "The tests pass and the export is complete. I answer.",
        "reply",
        json.dumps({"ticket": "T-1290", "text": f"Dear {customer}, your orders are there."}),
        {"sent": True, "customer": customer},
    )
    yield Step(
        "I close the ticket.", "close_ticket", json.dumps({"ticket": "T-1290", "customer": customer}), {"closed": True}
    )


SCRIPTS: Final = {"stuck": stuck, "healthy": healthy}
