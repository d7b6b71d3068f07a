"""What works in a policy and is probably not meant."""

from __future__ import annotations

import pytest

from otel_loopguard.core.policy_file.advice import advice
from otel_loopguard.core.policy_file.document import Place
from otel_loopguard.core.policy_file.text import read_policy

SMALL = "a window of {0} turns sees no lap of more than {0} turns, the built-in rule looks for 8"
LOWERED = "a window of 4 turns lowers `identical.stop`, `identical.in_a_row`, `same_error.stop` to 4"
GAP = "equal calls {} turns apart are useful, and a window of 12 turns counts them as repeats: "
BELOW = "write a window below 9 and a `cycle.max_period` of at most 8"
TOO_SMALL = "no window is that small, declare what the tool reads, polls or pages instead"
POLLER = "a poller without a budget may poll for ever, write `poll.max_unchanged` or `poll.deadline`"
ONE_ITEM = "one item a result, write `[]` after the name of a list, such as `items[].id`"
KEY = "every repeat is allowed, so the key is never asked for"

CACHE = "only answers of declared reads are kept, write `kind: read` if the tool changes nothing"


@pytest.mark.parametrize(
    ("text", "gap", "messages", "path"),
    [
        ("window: 6", None, [SMALL.format(6)], "$.window"),
        ("window: 4", None, [SMALL.format(4), LOWERED], "$.window"),
        ("window: 12", 12, [GAP.format(12) + "write a window from 8 to 11"], "$.window"),
        ("{}", 9, [GAP.format(9) + "write a window of 8"], "$.window"),
        ("defaults: {cycle: {max_period: 10}}", 9, [GAP.format(9) + BELOW], "$.window"),
        ("{}", 4, [GAP.format(4) + TOO_SMALL], "$.window"),
        ("tools: {t: {kind: poll}}", None, [POLLER], "$.tools.t"),
        (
            "tools: {t: {result: {progress: {items: {path: ids}}}}}",
            None,
            [ONE_ITEM],
            "$.tools.t.result.progress.items.path",
        ),
        (
            "tools: {t: {kind: write, idempotency_key: k, duplicate_after_success: allow}}",
            None,
            [KEY],
            "$.tools.t.idempotency_key",
        ),
        ("tools: {t: {result: {cache: true}}}", None, [CACHE], "$.tools.t.result.cache"),
    ],
)
def test_advice_is_given(text: str, gap: int | None, messages: list[str], path: str) -> None:
    """Longest cycle <= window < shortest useful gap, and settings that leave something open."""
    found = advice(read_policy(text), gap)
    assert [item.message for item in found] == messages
    assert {item.path for item in found} == {path}


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("{}", None),
        ("window: 8", None),
        ("window: 12", 13),
        ("window: 20\ndefaults: {cycle: {max_period: 20}}", 21),
        ("window: 5\ndefaults: {cycle: {max_period: 5}, same_error: {stop: 5}}", None),
        ("tools: {t: {kind: poll, poll: {max_total: 9}}}", None),
        ("tools: {t: {result: {progress: {items: {path: 'ids[]'}}}}}", None),
        ("tools: {t: {kind: write, idempotency_key: k}}", None),
        ("tools: {t: {kind: read, result: {cache: true}}, u: {result: {cache: false}}}", None),
        ("widnow: 4", 2),
    ],
)
def test_near_misses_get_no_advice(text: str, gap: int | None) -> None:
    """A policy that means what it says, and one that is wrong anyway."""
    assert advice(read_policy(text), gap) == ()


def test_advice_knows_its_place() -> None:
    """Line and column of the setting, where the file has it."""
    (item,) = advice(read_policy("version: 1\ntools:\n  t:\n    kind: poll\n"))
    assert item.place == Place(4, 5)
    (gap,) = advice(read_policy("{}"), 12)
    assert gap.place is None
