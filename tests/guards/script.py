"""A scripted model and counted tools: what every adapter's driver lets its framework loop.

No framework and no guard: a driver brings those.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from otel_loopguard.core.policy import Policy
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import LoopDetected
from otel_loopguard.guards import Guard
from tests.support.process import Fixed, Process

__all__ = [
    "ANSWER", "POLICY", "TOOLS", "Driver", "Lost", "Model", "Rejected", "Script", "Tools", "Transcript", "guard_for",
    "process_for",
]  # fmt: skip

Step = Sequence[tuple[str, Mapping[str, Any]]]
"""The calls of one model decision."""

ANSWER = "I have nothing more to do."
"""What the model says when its script is at its end."""

POLICY = """
version: 1
tools:
  search: {kind: read}
  note: {kind: read}
  refund: {kind: write}
  submit: {kind: write, duplicate_after_success: nudge}
  transfer: {kind: write}
"""


class Boom(Exception):  # noqa: N818 - it is not our error
    """What a tool raises."""


class Lost(Boom, TimeoutError):  # noqa: N818
    """What it raises where nobody knows what happened: the application's own kind of timeout."""


class Rejected(Boom, ValueError):  # noqa: N818
    """What it raises where nothing happened."""


@dataclass(frozen=True)
class Script:
    """What the model asks for, decision after decision, unless it hears that it was stopped."""

    steps: tuple[Step, ...]

    @classmethod
    def stubborn(cls, *calls: tuple[str, Mapping[str, Any]], times: int = 12) -> Script:
        """The same decision again and again."""
        return cls((calls,) * times)


class Tools:
    """The tools, with their real invocations counted outside their results."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.ran: Counter[str] = Counter()
        self.in_transfer: Callable[[], object] = lambda: None
        """What happens while a transfer is under way."""

    def count(self, name: str) -> int:
        """One more invocation; how many it makes."""
        with self._lock:
            self.ran[name] += 1
            return self.ran[name]

    def search(self, query: str) -> str:
        """Look something up; it never finds more."""
        self.count("search")
        return f"2 hits for {query}"

    def ask(self, query: str) -> str:
        """A tool nobody declared; it never says more."""
        self.count("ask")
        return f"the answer to {query} is 42"

    def note(self, text: str) -> str:
        """Something new each time."""
        return f"noted {self.count('note')}: {text}"

    def refund(self, order: str) -> str:
        """A write."""
        self.count("refund")
        return f"refunded {order}"

    def submit(self, order: str) -> str:
        """A write that may be done twice, after a word."""
        return f"submitted {order}, receipt {self.count('submit')}"

    def transfer(self, order: str) -> str:
        """A write during which anything may happen."""
        self.count("transfer")
        self.in_transfer()
        return f"transferred {order}"

    def fail(self, query: str) -> str:
        """Raises until it is asked the right thing."""
        self.count("fail")
        if query == "right":
            return "found it"
        raise Boom("the index is broken")


TOOLS = ("search", "ask", "note", "refund", "submit", "transfer", "fail")
"""Names of the tools, each a method of `Tools` with one text argument."""


@dataclass
class Transcript:
    """What came of a conversation."""

    ran: Mapping[str, int]
    heard: list[str] = field(default_factory=list)
    """Texts of the tool results that the model got, in order."""
    answer: str | None = None
    """What the agent said in the end."""
    stop: LoopDetected | None = None
    raised: BaseException | None = None
    """Any other exception that reached the caller."""
    unanswered: int = 0
    """Calls of the conversation without exactly one answer."""
    conversation: str = ""
    """All that the model got, as text: it must not differ in mode `observe`."""


class Model:
    """A fake model: it follows its script and keeps what it hears."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.turn = 0
        self.heard: list[str] = []

    def next(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """The calls (id, tool, arguments) of the next decision; none: it answers."""
        if self.turn >= len(self.script.steps):
            return []
        step = self.script.steps[self.turn]
        self.turn += 1
        return [(f"call_{self.turn}_{place}", tool, arguments) for place, (tool, arguments) in enumerate(step)]

    def hear(self, text: object) -> None:
        """A tool's result, as the model got it."""
        self.heard.append(text if isinstance(text, str) else json.dumps(text))


class Driver(Protocol):
    """One way to run a conversation through an adapter."""

    name: str
    raises: bool
    """An exception of a tool reaches the caller; else the framework turns it into a result."""
    tells_rejections: bool
    """An exception of a tool is seen by the guard; else only a text that the framework made of it."""
    batches: bool
    """The calls of one decision are seen together, before any of them is dispatched."""
    nests: bool
    """The framework lets a tool run another conversation of this kind, in a thread with its context."""

    def run(self, script: Script, tools: Tools, guard: Guard | None, *, agent: str = "agent") -> Transcript:
        """Let the framework loop the model; with None there is no guard at all."""
        ...


def process_for(policy: str = POLICY, **options: Any) -> Process:  # noqa: ANN401 - what `Process` takes
    """A process of its own, with what it emits."""
    parsed: Policy = parse_policy(policy)
    return Process(sources=Fixed(parsed), **options)


def guard_for(process: Process, make: Callable[..., Guard] = Guard, **options: object) -> Guard:
    """A guard in that process, enforcing unless told otherwise."""
    return make(**{"mode": "enforce", "live": process.live, **options})
