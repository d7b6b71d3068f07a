"""Settings that contradict each other or can never take effect, and their near misses."""

from __future__ import annotations

import pytest

from otel_loopguard.core.policy_file.text import parse_policy, read_policy
from otel_loopguard.errors import PolicyError

WRONG_FILES = [
    (
        "window: 8\ndefaults: {identical: {nudge: 9, stop: 12}}",
        "$.defaults.identical.nudge",
        "9 can never be reached in a window of 8 turns, raise `window` or write at most 8",
    ),
    (
        "window: 5\ndefaults: {same_error: {nudge: 6, stop: 7}}",
        "$.defaults.same_error.nudge",
        "6 can never be reached in a window of 5 turns, raise `window` or write at most 5",
    ),
    (
        "defaults: {cycle: {max_period: 13}}",
        "$.defaults.cycle.max_period",
        "a lap of 13 turns does not fit a window of 12 turns, raise `window` or write at most 12",
    ),
    (
        "defaults: {identical: {stop: 3}}",
        "$.defaults.identical.stop",
        "a nudge at 3 never comes before the stop at 3, write a `stop` above 3 or a",
    ),
    (
        "defaults: {identical: {nudge: 4}}\ntools: {t: {identical: {stop: 4}}}",
        "$.tools.t.identical.stop",
        "a nudge at 4 never comes before the stop at 4, write a `stop` above 4 or a",
    ),
    (
        "defaults: {kind: read, identical: {stop: 3}}\ntools: {t: {kind: write}}",
        "$.tools.t",
        "a nudge at 3 never comes before the stop at 3, write a `stop` above 3 or a",
    ),
    (
        "window: 20\ndefaults: {cycle: {max_period: 20, stop: 10}}",
        "$.defaults.cycle",
        "10 laps of 20 turns are never seen, 192 turns are remembered, lower one of them",
    ),
    (
        "tools: {t: {kind: write, idempotency_key: k, arguments: {identity: [k]}}}",
        "$.tools.t.arguments.identity",
        "only the idempotency key `k` is in `identity`, so all writes would be equal, name what differs",
    ),
    (
        "defaults: {cycle: {nudge: 3, stop: 3}}",
        "$.defaults.cycle",
        "a nudge at 3 never comes before the stop at 3, write a `stop` above 3 or a",
    ),
    (
        "defaults: {same_error: {nudge: 7, stop: 7}}",
        "$.defaults.same_error",
        "a nudge at 7 never comes before the stop at 7, write a `stop` above 7 or a `nudge` below 7",
    ),
    (
        "window: 5\ntools: {t: {same_error: {nudge: 5}}}",
        "$.tools.t.same_error.nudge",
        "a nudge at 5 never comes before the stop at 5, write a `stop` above 5 or a `nudge` below 5",
    ),
    (
        "defaults: {kind: read}\ntools: {t: {idempotency_key: k}}",
        "$.tools.t.idempotency_key",
        "no effect on a tool of `kind: read`",
    ),
    ("match: {'a*': b}", "$.match.a*", "`b` is not in `tools`, describe it there"),
    (
        "tools: {a: {}, b: {}}\nmatch: {a: b}",
        "$.match.a",
        "a tool of this name is in `tools`, whose own settings win, remove one of them",
    ),
    (
        "tools: {b: {}}\nmatch: {'a*': b, 'ab*': b}",
        "$.match.ab*",
        "never reached: `a*` stands before it and fits the same names",
    ),
    (
        "tools: {b: {}}\nmatch: {'*': b, 'x?[yz]': b, '?': b}",
        "$.match.?",
        "never reached: `*` stands before it and fits the same names",
    ),
]

WRONG_TOOLS = [
    (
        "arguments: {identity: [a.b], ignore: [a, c]}",
        "arguments.identity",
        "every field of `identity` is in `ignore` too, so all calls would be equal, remove one from `ignore`",
    ),
    (
        "arguments: {round: {a: 2}, ignore: [a]}",
        "arguments.round.a",
        "`a` is in `ignore` too, remove it from one of them",
    ),
    (
        "arguments: {json: [b, a.c], ignore: [a]}",
        "arguments.json[1]",
        "`a.c` is in `ignore` too, remove it from one of them",
    ),
    (
        "arguments: {defaults: {a: 1}, ignore: [a]}",
        "arguments.defaults.a",
        "`a` is in `ignore` too, remove it from one of them",
    ),
    (
        "result: {progress: {percent: {path: a.b}}, ignore: [a]}",
        "result.progress.percent.path",
        "`a.b` is in `ignore` too, remove it from one of them",
    ),
    (
        "identical: {stop: 13}",
        "identical.stop",
        "13 can never be reached in a window of 12 turns, raise `window` or write at most 12",
    ),
    (
        "identical: {in_a_row: 13}",
        "identical.in_a_row",
        "13 can never be reached in a window of 12 turns, raise `window` or write at most 12",
    ),
    (
        "same_error: {stop: 13}",
        "same_error.stop",
        "13 can never be reached in a window of 12 turns, raise `window` or write at most 12",
    ),
    (
        "identical: {nudge: 6, stop: 4}",
        "identical",
        "a nudge at 6 never comes before the stop at 4, write a `stop` above 6 or a `nudge` below 4",
    ),
    ("identical: {nudge: 5, stop: 5}", "identical", "never comes before the stop at 5, write a `stop` above 5 or"),
    (
        "kind: read, identical: {nudge: 3}",
        "identical.nudge",
        "a nudge at 3 never comes before the stop at 3, write a `stop` above 3 or a",
    ),
    (
        "kind: read, poll: {max_total: 5}",
        "poll",
        "`poll` has no effect on a tool of `kind: read`, only where `kind` is `poll`",
    ),
    ("poll: {max_total: 5}", "poll", "`poll` has no effect on a tool of `kind: unknown`, only where `kind` is `poll`"),
    ("kind: write, page: {cursor: c}", "page", "only where `kind` is `read` or `unknown`"),
    (
        "kind: poll, page: {cursor: c}",
        "page",
        "`page` has no effect on a tool of `kind: poll`, only where `kind` is `read` or `unknown`",
    ),
    ("kind: read, result: {changed: {path: c}}", "result.changed", "only where `kind` is `write` or `unknown`"),
    ("kind: read, idempotency_key: k", "idempotency_key", "only where `kind` is `write`"),
    ("duplicate_after_success: allow", "duplicate_after_success", "only where `kind` is `write`"),
    ("kind: write, drift: {nudge: 4}", "drift", "only where `kind` is `read` or `unknown`"),
    (
        "kind: poll, identical: {stop: 4}",
        "identical",
        "`identical` has no effect on a tool of `kind: poll`, only where `kind` is `read` or `write` or",
    ),
    (
        "kind: write, result: {cache: true}",
        "result.cache",
        "the answer of a write is never kept for a repeat, remove `cache` or declare another `kind`",
    ),
    (
        "kind: none, result: {cache: true}",
        "result.cache",
        "`cache` has no effect on a tool of `kind: none`, only where `kind` is `read` or `write` or `unknown`",
    ),
    (
        "kind: poll, result: {cache: false}",
        "result.cache",
        "`cache` has no effect on a tool of `kind: poll`, only where",
    ),
    (
        "kind: none, result: {progress: {version: {path: v}}}",
        "result.progress",
        "`progress` has no effect on a tool of `kind: none`, only where `kind` is `read` or `write` or `poll` or",
    ),
    (
        "kind: poll, poll: {max_unchanged: 20, max_total: 5}",
        "poll",
        "20 unchanged polls can never be reached with a `max_total` of 5, lower the first",
    ),
    (
        "kind: poll, poll: {min_interval: 2m, deadline: 60s}",
        "poll",
        "the second poll is past the `deadline` already, write a `min_interval` below it",
    ),
    (
        "kind: read, page: {cursor: c}, arguments: {ignore: [c]}",
        "page.cursor",
        "the cursor `c` is in `arguments.ignore`, so every page would be the same call",
    ),
    (
        "kind: read, page: {cursor: c}, arguments: {identity: [d]}",
        "page.cursor",
        "the cursor `c` is not in `arguments.identity`, so every page would be the same call",
    ),
    (
        "kind: read, page: {cursor: c}, identical: {in_a_row: 6}",
        "identical.in_a_row",
        "a tool with `page` has no `in_a_row`, remove it",
    ),
]


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        *WRONG_FILES,
        *((f"tools: {{t: {{{text}}}}}", f"$.tools.t.{path}", words) for text, path, words in WRONG_TOOLS),
    ],
)
def test_what_is_wrong_is_refused_with_path_and_way_out(text: str, path: str, words: str) -> None:
    """Each message says why a setting cannot take effect and what to write instead, and where."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert words in caught.value.reason
    assert caught.value.path == path
    assert f" - at `{path}` (line " in str(caught.value)
    assert not caught.value.reason.endswith(".")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("version: 1\nwidnow: 3", 2, 1),
        ("tools:\n  t:\n    kind: read\n    identical: {nudge: 6, stop: 4}", 4, 16),
        ("defaults: {identical: {nudge: 4}}\ntools: {t: {identical: {stop: 4}}}", 2, 31),
        ("tools: {t: {arguments: {json: [b, a.c], ignore: [a]}}}", 1, 35),
        ("tools: {b: {}}\nmatch:\n  'a*': b\n  'ab*': b", 4, 10),
        ("tools: {t: {result: {volatile: ['(open']}}}", 1, 33),
    ],
)
def test_line_and_column_are_those_of_the_setting(text: str, line: int, column: int) -> None:
    """A key that does not exist is shown itself, else the value."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "text",
    [
        "window: 12.0",
        "window: 6\ndefaults: {identical: {nudge: 3, stop: 6}}",
        "defaults: {drift: {nudge: 40}}\nturns: {no_progress: 40}",
        "tools: {t: {kind: write, result: {cache: false}}}",
        "tools: {t: {result: {changed: {path: c}}, page: {cursor: c}}}",
        "tools: {t: {arguments: {identity: [a], ignore: [a.b, c], json: [a]}}}",
        "tools: {t: {kind: poll, poll: {}}}",
        "tools: {t: {kind: poll, poll: {max_unchanged: 5, max_total: 5, min_interval: 60s, deadline: 60s}}}",
        "tools: {t: {kind: poll, result: {progress: {items: {path: '[][].id'}}}}}",
        "tools: {t: {result: {refusal: ['^(?!ok)'], volatile: ['\\d+']}}}",
        "tools: {b: {}}\nmatch: {'ab*': b, 'a*': b, '?b': b, '[xy]*': b, 'x*': b}",
        "defaults: {kind: poll}\ntools: {t: {poll: {max_total: 3}}}",
        "defaults: {kind: write, drift: {nudge: 4}}",
        "tools: {a: &read {kind: read}, b: *read}",
        '{"tools": {"naïve tool 💡": {"kind": "read"}}}',
    ],
)
def test_near_misses_are_taken(text: str) -> None:
    """What only looks like a mistake is accepted."""
    parse_policy(text)


def test_all_problems_are_found_at_once() -> None:
    """One reading, every problem, in the order of the file."""
    text = "tools:\n  a: {kind: rad, pol: 1}\n  b: 3\n  c: {result: {progress: {}}}\nwindow: 99\n"
    reading = read_policy(text)
    assert [(problem.path, problem.line) for problem in reading.problems] == [
        ("$.tools.a.kind", 2),
        ("$.tools.a.pol", 2),
        ("$.tools.b", 3),
        ("$.tools.c.result.progress", 4),
        ("$.window", 5),
    ]
    assert reading.folded is None
    with pytest.raises(PolicyError, match="expected one of `read`"):
        reading.sound()


def test_a_contradiction_in_the_defaults_is_told_once() -> None:
    """Not again for every tool that inherits it."""
    text = "defaults: {identical: {nudge: 5, stop: 4}}\ntools: {a: {}, b: {kind: write}, c: {kind: read}}"
    assert [problem.path for problem in read_policy(text).problems] == ["$.defaults.identical"]
