"""Calls heard by the completion hook: fingerprints for tool spans that carry no arguments, and nothing readable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import Span

from otel_loopguard import names
from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.live.told import MAX_TOLD
from otel_loopguard.otel.completion import LoopGuardCompletionHook, beside
from tests.support.process import Fixed, Process


@dataclass
class Part:
    """A part of a message as the gen-AI utilities make it."""

    arguments: object
    name: str = "search"
    id: str | None = "call-1"
    type: str = "tool_call"


@dataclass
class Message:
    """A message as the gen-AI utilities make it."""

    parts: list[Part]
    role: str = "assistant"


@dataclass
class NoOp:
    """What the instrumentation uses where no hook is named."""


@dataclass
class Hook:
    """A user's own hook."""

    heard: list[dict[str, Any]] = field(default_factory=list)

    def on_completion(self, **content: Any) -> None:  # noqa: ANN401 - the hook takes anything
        """Keep everything."""
        self.heard.append(content)


def answer(process: Process, *parts: Part, hook: Any = None) -> None:  # noqa: ANN401 - any hook
    """A model answers with some calls."""
    with process.tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as span:
        (hook or LoopGuardCompletionHook()).on_completion(
            inputs=[], outputs=[Message(list(parts))], system_instruction=[], span=span, log_record=None
        )


def call(process: Process, call_id: str = "call-1", tool: str = "search") -> None:
    """A tool runs, with content capture off."""
    process.call(tool, ..., ..., **{"gen_ai.tool.call.id": call_id})


def agent(process: Process, *turns: tuple[Part, str]) -> list[Any]:
    """An agent that asks for a call and makes it, turn by turn: the fingerprints on its spans."""
    with process.agent():
        for part, call_id in turns:
            answer(process, part)
            call(process, call_id)
    return process.written(names.FINGERPRINT)


def test_entry_point() -> None:
    """The hook is found by the name `loopguard` and is called without arguments."""
    (found,) = entry_points(group="opentelemetry_genai_completion_hook", name="loopguard")
    assert isinstance(found.load()(), LoopGuardCompletionHook)


def test_a_call_is_joined_by_its_id() -> None:
    """Reordered arguments are the same call, others are not, and the span's own form gives the same fingerprint."""
    process = Process()
    first, second, other = agent(
        process,
        (Part({"q": "canary", "n": 1}), "call-1"),
        (Part('{"n": 1.0, "q": "canary"}', id="call-2"), "call-2"),
        (Part({"q": "other"}, id="call-3"), "call-3"),
    )
    assert first == second is not None
    assert other not in {first, None}
    assert process.written(names.REPEAT_COUNT) == [1, 2, 1]
    process.call("search", {"q": "canary", "n": 1})
    assert process.written(names.FINGERPRINT)[-1] == first
    assert "canary" not in "".join(span.to_json() for span in process.spans)


def test_an_id_that_is_used_again_names_the_new_call() -> None:
    """Models that number their calls anew each turn: the id means the last call that was asked for."""
    process = Process()
    first, second = agent(process, (Part({"q": 1}), "call-1"), (Part({"q": 2}), "call-1"))
    assert first != second
    assert None not in {first, second}


@pytest.mark.parametrize(
    ("part", "call_id"),
    [
        (Part({"q": 1}, id="call-9"), "call-1"),
        (Part({"q": 1}, name="fetch"), "call-1"),
        (Part({"q": 1}, id=None), "call-1"),
        (Part({"q": 1}, id=""), "call-1"),
        (Part({"q": 1}, type="server_tool_call"), "call-1"),
        (Part("[REDACTED]"), "call-1"),
    ],
    ids=["another id", "another tool", "no id", "an empty id", "no request", "a placeholder"],
)
def test_what_is_not_surely_the_call_stays_unknown(part: Part, call_id: str) -> None:
    """A tool span without arguments gets a fingerprint only from the request of the same tool and id."""
    process = Process()
    assert agent(process, (part, call_id)) == [None]
    assert process.written(names.VERDICT) == ["unknown"]


def test_two_calls_under_one_id_are_no_guess() -> None:
    """Where two different calls were asked for under one id before either ran, nobody knows which one did."""
    process = Process()
    with process.agent():
        answer(process, Part({"q": 1}), Part({"q": 2}))
        call(process)
        answer(process, Part({"q": 3}))
        call(process)
    first, second = process.written(names.FINGERPRINT)
    assert first is None
    assert second is not None


def test_another_trace_is_another_call() -> None:
    """An id means something in its own trace alone."""
    process = Process()
    answer(process, Part({"q": 1}))
    call(process)
    assert process.written(names.FINGERPRINT) == [None]


def test_arguments_on_the_span_win() -> None:
    """What the tool's span carries itself is not replaced."""
    process = Process()
    with process.agent():
        answer(process, Part({"q": 1}))
        process.call("search", {"q": 2}, **{"gen_ai.tool.call.id": "call-1"})
        process.call("search", {"q": 2}, **{"gen_ai.tool.call.id": "call-2"})
    first, second = process.written(names.FINGERPRINT)
    assert first == second


@pytest.mark.parametrize("scope", ["service", "run"])
def test_keys_of_a_scope_are_those_of_the_span(scope: Literal["service", "run"]) -> None:
    """What was heard under a service's or a run's own key equals what a span of the same tells."""
    process = Process(key_scope=scope, resource={"service.name": "s"})
    with process.agent(**{"gen_ai.conversation.id": "talk"}):
        answer(process, Part({"q": 1}))
        call(process)
        process.call("search", {"q": 1})
    first, second = process.written(names.FINGERPRINT)
    assert first == second is not None


def test_a_rotated_key_makes_it_unknown() -> None:
    """A fingerprint under an old policy or key is not passed off as one under the new."""
    sources = Fixed()
    process = Process(sources=sources)
    with process.agent():
        answer(process, Part({"q": 1}))
        process.live._rules._ask_at = 0
        sources.now = parse_policy("version: 1")
        call(process)
    assert process.written(names.FINGERPRINT) == [None]


def test_scope_values_are_known_with_the_span_alone() -> None:
    """Under a policy with scope values nothing is joined: they are part of the fingerprint."""
    process = Process(sources=Fixed(parse_policy("version: 1\nscope: [tenant.id]")))
    assert agent(process, (Part({"q": 1}), "call-1")) == [None]


def test_what_was_heard_is_bounded() -> None:
    """Calls that never run are forgotten, the oldest first, and counted."""
    process = Process()
    with process.agent():
        for number in range(0, MAX_TOLD + 1, 200):
            many = min(200, MAX_TOLD + 1 - number)
            answer(process, *(Part({"q": number + one}, id=f"call-{number + one}") for one in range(many)))
        call(process, "call-0")
        call(process, f"call-{MAX_TOLD}")
    first, last = process.written(names.FINGERPRINT)
    assert first is None
    assert last is not None
    assert process.metric(names.DROPPED) == [(1, {names.DROP_REASON: "heard_calls"})]


@pytest.mark.parametrize(
    "outputs", [None, "text", [None], [Message([])], [SimpleNamespace(parts=[None, 1])], [Message([Part(object())])]]
)
def test_whatever_it_is_given(outputs: object) -> None:
    """No answer of any form is an error."""
    process = Process()
    with process.tracer.start_as_current_span("chat") as span:
        LoopGuardCompletionHook().on_completion(outputs=outputs, span=span)


@pytest.fixture
def unwatched() -> Iterator[Span]:
    """A span of a provider without our processor."""
    with TracerProvider(shutdown_on_exit=False).get_tracer("t").start_as_current_span("chat") as span:
        yield span


def test_a_span_that_nobody_watches(unwatched: Span) -> None:
    """Without our processor on the model's span there is nothing to do; without any span neither."""
    LoopGuardCompletionHook().on_completion(outputs=[Message([Part({"q": 1})])], span=unwatched)
    LoopGuardCompletionHook().on_completion(outputs=[Message([Part({"q": 1})])])


def test_a_users_hook_keeps_working() -> None:
    """The user's hook gets what it got before, and ours hears it too."""
    process, theirs = Process(), Hook()
    module = SimpleNamespace(_NoOpCompletionHook=NoOp)
    with process.agent():
        answer(process, Part({"q": 1}), hook=beside(theirs, module))
        call(process)
    (heard,) = theirs.heard
    assert json.dumps(heard["outputs"][0].parts[0].arguments) == '{"q": 1}'
    assert set(heard) == {"inputs", "outputs", "system_instruction", "span", "log_record"}
    assert process.written(names.FINGERPRINT) != [None]


def test_without_a_users_hook_ours_stands_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of no hook is ours; one that was loaded by our name is left as it is."""
    module = SimpleNamespace(_NoOpCompletionHook=NoOp)
    assert isinstance(beside(NoOp(), module), LoopGuardCompletionHook)
    assert isinstance(beside(NoOp(), SimpleNamespace()), object)
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_COMPLETION_HOOK", "loopguard")
    theirs = Hook()
    assert beside(theirs, module) is theirs
