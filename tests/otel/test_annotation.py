"""What our processor writes on a tool span."""

from __future__ import annotations

import pytest

import otel_loopguard
from otel_loopguard import names
from otel_loopguard.config import Settings
from otel_loopguard.core.policy import Policy, ProgressRule, ResultRules, ToolPolicy
from tests.support.process import Fixed, Process

ALWAYS = {
    names.FINGERPRINT, names.KEY_ID, names.RUN_ID, names.SEQUENCE, names.REPEAT_COUNT, names.RESULT_FINGERPRINT,
    names.OUTCOME, names.VERDICT, names.PROCESS_ID,
}  # fmt: skip


def ours(attributes: dict[str, object]) -> dict[str, object]:
    """The attributes of our namespace."""
    return {key: value for key, value in attributes.items() if key.startswith("loopguard.")}


def test_a_first_call_carries_what_is_always_written() -> None:
    """A call that says nothing special carries the nine attributes of every call, and what was redacted."""
    process = Process()
    process.call(arguments={"q": "x"}, result='["hit"]')
    (attributes,) = process.attributes
    assert set(ours(attributes)) == ALWAYS | {names.REDACTED_KEYS}
    trace_id = process.tools[0].get_span_context().trace_id
    assert attributes[names.RUN_ID] == f"{trace_id:032x}"
    assert attributes[names.SEQUENCE] == 1
    assert attributes[names.REPEAT_COUNT] == 1
    assert attributes[names.OUTCOME] == "ok"
    assert attributes[names.VERDICT] == "allow"
    assert attributes[names.KEY_ID] == "k1"
    assert len(attributes[names.FINGERPRINT]) == len(attributes[names.RESULT_FINGERPRINT]) == 32
    assert len(attributes[names.PROCESS_ID]) == 16


def test_kept_content_lists_nothing_redacted() -> None:
    """Where nothing is removed, nothing is listed."""
    process = Process(Settings(content="keep"))
    process.call(arguments={"q": "x"})
    assert names.REDACTED_KEYS not in process.attributes[0]
    assert process.attributes[0]["gen_ai.tool.call.arguments"] == '{"q": "x"}'


def test_repeats_say_how_often_and_what_came_of_it() -> None:
    """Equal calls share a fingerprint and count up; streaks and progress are written from the second on."""
    process = Process()
    with process.agent():
        for _ in range(6):
            process.call(arguments={"q": "x"})
    assert len(set(process.written(names.FINGERPRINT))) == 1
    assert process.written(names.SEQUENCE) == [1, 2, 3, 4, 5, 6]
    assert process.written(names.REPEAT_COUNT) == [1, 2, 3, 4, 5, 6]
    assert process.written(names.REPEAT_CONSECUTIVE) == [None, 2, 3, 4, 5, 6]
    assert process.written(names.PROGRESS) == [None, "unchanged", "unchanged", "unchanged", "unchanged", "unchanged"]
    assert process.written(names.VERDICT) == ["allow", "allow", "nudge", "allow", "stop", "stop"]
    assert process.written(names.FINDING_KIND)[:5] == [None, None, "identical", None, "identical"]
    assert process.written(names.FINDING_KINDS)[2] == ("identical",)


def test_silence_of_work_that_is_done() -> None:
    """A program that prints nothing when it is done went well; one that was asked found nothing."""
    process = Process()
    for line in ("git add app.py", "grep needle app.py"):
        process.call(arguments={"command": line}, result="")
    assert process.written(names.OUTCOME) == ["ok", "empty"]


def test_a_new_answer_is_progress() -> None:
    """An equal call with another result has advanced."""
    process = Process()
    for answer in ("1", "2"):
        process.call(arguments={"q": "x"}, result=answer)
    with process.agent():
        for answer in ("1", "2"):
            process.call(arguments={"q": "x"}, result=answer)
    assert process.written(names.PROGRESS) == [None, None, None, "advanced"]


def test_spelling_is_no_difference() -> None:
    """Four spellings of one question have one fingerprint."""
    process = Process()
    for arguments in ('{"a":1,"b":"x"}', '{"b": "x", "a": 1.0}', '{"a":1e0,"b":" x ","c":null}', '{"b":"x","a":1}'):
        process.call(arguments=arguments)
    assert len(set(process.written(names.FINGERPRINT))) == 1


@pytest.mark.parametrize("arguments", [..., "__REDACTED__", '{"q": "[REDACTED]"}'])
def test_unknown_arguments_have_no_fingerprint(arguments: object) -> None:
    """Arguments that were not captured are unknown, never equal: no fingerprint, no repeat, verdict `unknown`."""
    process = Process()
    for _ in range(5):
        process.call(arguments=arguments)
    for attributes in process.attributes:
        assert {names.FINGERPRINT, names.REPEAT_COUNT}.isdisjoint(attributes)
        assert attributes[names.VERDICT] == "unknown"
    assert process.written(names.SEQUENCE) == [1] * 5  # each in a trace, so a run, of its own


def test_a_call_without_result_is_missing_one() -> None:
    """A span without a result says so, and has no result fingerprint."""
    process = Process()
    process.call(arguments={"q": "x"}, result=...)
    assert process.written(names.OUTCOME) == ["missing"]
    assert process.written(names.RESULT_FINGERPRINT) == [None]


def test_names_that_the_span_lacks() -> None:
    """Agent, tool, call id and error type are written where the convention put them elsewhere, and never replaced."""
    process = Process()
    with process.agent("researcher"):
        with process.tracer.start_as_current_span(
            "execute_tool search",
            attributes={"openinference.span.kind": "TOOL", "tool.name": "search", "input.value": '{"q": 1}',
                        "tool.id": "call_7"},
        ):  # fmt: skip
            pass
        process.call("look", {"q": 1}, **{"gen_ai.agent.name": "other", "gen_ai.tool.call.id": "call_8"})
    first, second = process.attributes
    assert first[names.AGENT_NAME] == "researcher"
    assert first[names.TOOL_NAME] == "search"
    assert first["tool.name"] == "search"
    assert second[names.AGENT_NAME] == "other"
    assert second[names.TOOL_CALL_ID] == "call_8"


def test_turns_are_numbered_where_a_model_names_them() -> None:
    """Calls after one model span share its number; without a model span there is none."""
    process = Process()
    with process.agent():
        process.call("a", 0)
        process.model()
        process.call("b", 1)
        process.call("c", 2)
        process.model()
        process.call("d", 3)
    assert process.written(names.TURN) == [None, 1, 1, 2]


def test_the_policy_is_named_where_it_is_the_users() -> None:
    """The built-in policy goes without saying."""
    process = Process(sources=Fixed(Policy(revision="2026-11-29.1")))
    process.call()
    assert process.written(names.POLICY_VERSION) == ["2026-11-29.1"]


def test_what_a_detector_elsewhere_needs() -> None:
    """Errors carry the fingerprints of their message's key and shape, pagers that of their calls without the cursor."""
    policy = Policy(tools={"pages": ToolPolicy(kind="read", cursor="cursor")})
    process = Process(sources=Fixed(policy))
    with process.agent():
        process.call("pages", {"q": 1, "cursor": "a"}, result='["one"]')
        process.call("pages", {"q": 1, "cursor": "b"}, result='["two"]')
        process.call("look", {"q": 1}, result="no such table: users", **{"error.type": "not_found"})
    groups = process.written(names.GROUP_FINGERPRINT)
    assert groups[0] == groups[1] != process.written(names.FINGERPRINT)[0]
    assert groups[2] is None
    failed = process.attributes[2]
    assert failed[names.OUTCOME] == "error"
    assert len(failed[names.ERROR_FINGERPRINT]) == len(failed[names.ERROR_SHAPE]) == 32
    assert {names.ERROR_FINGERPRINT, names.ERROR_SHAPE}.isdisjoint(process.attributes[0])


def test_unseen_items_are_counted() -> None:
    """Where a policy declares items, each page says how many of them were never seen before; a user message forgets."""
    items = ResultRules(progress=ProgressRule("items", ("[]", "id")))
    policy = Policy(
        tools={
            "pages": ToolPolicy(kind="read", cursor="cursor", result=items),
            "list": ToolPolicy(kind="read", result=items),
        }
    )
    process = Process(sources=Fixed(policy))
    with process.agent():
        process.call("pages", {"cursor": 1}, result='[{"id": 1}, {"id": 2}]')
        process.call("pages", {"cursor": 2}, result='[{"id": 2}, {"id": 3}, {"id": 3}]')
        process.call("pages", {"cursor": 3}, result='[{"id": 1}]')
        process.call("list", {}, result='[{"id": 1}]')
        process.call("list", {}, result='[{"id": 1}, {"id": 4}]')
        process.call("look", {}, result='[{"id": 1}]')
        otel_loopguard.user_message()
        process.call("pages", {"cursor": 3}, result='[{"id": 1}]')
    assert process.written(names.ITEMS_UNSEEN) == [2, 1, 0, 1, 1, None, 1]


def test_everything_written_is_registered() -> None:
    """No attribute of ours is missing from the registry, whatever happened to the call."""
    process = Process()
    with process.agent():
        for _ in range(8):
            process.model()
            process.call(arguments={"q": "x"})
    registered = {name.name for name in names.SPAN_ATTRIBUTES}
    for attributes in process.attributes:
        assert registered.issuperset(ours(attributes))
