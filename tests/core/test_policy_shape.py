"""The shapes of settings: every value of a wrong type, range or name is refused with its path and the way out."""

from __future__ import annotations

import pytest

from otel_loopguard.core.policy_file.text import parse_policy
from otel_loopguard.errors import PolicyError

PATTERNS = ", ".join(f"x{number}: b" for number in range(257))

WRONG_FILES = [
    ("", "$", "expected a mapping (`{}` for an empty one), got nothing"),
    ("[]", "$", "expected a mapping (`{}` for an empty one), got an empty list"),
    ("tools:", "$.tools", "expected a mapping (`{}` for an empty one), got nothing"),
    ("tools: {t: }", "$.tools.t", "expected a mapping (`{}` for an empty one), got nothing"),
    ("version: 2", "$.version", "expected `1`, the version that this release reads, got the number 2"),
    ('version: "1"', "$.version", "expected `1`, the version that this release reads, got the text `1`"),
    ("version: true", "$.version", "got `true`"),
    ("version: 1\nversion: 1", "$.version", "key `version` is given twice, first in line 1"),
    ("widnow: 1", "$.widnow", "unknown key `widnow`, did you mean `window`?"),
    ("turns: {xyzzy: 1}", "$.turns.xyzzy", "unknown key `xyzzy`, known are `no_progress`"),
    (
        "defaults: {owner: o}",
        "$.defaults.owner",
        "unknown key `owner`, known are `kind`, `identical`, `cycle`, `drift`, `same_error`",
    ),
    (
        '"a\\e[31m": 1',
        '$["a\\u001b[31m"]',
        "unknown key `a\\u001b[31m`, known are `version`, `revision`, ",
    ),
    (
        "tools:\n  get_logs:\n    kind: reader",
        "$.tools.get_logs.kind",
        "expected one of `read`, `write`, `poll`, `none`, `unknown`",
    ),
    ("mode: block", "$.mode", "expected one of `observe`, `nudge`, `enforce`"),
    ("window: twelve", "$.window", "expected a whole number from 4 to 64, got the text `twelve`"),
    ("window: '12'", "$.window", "expected a whole number from 4 to 64, got the text `12`"),
    ("window: 12.5", "$.window", "expected a whole number from 4 to 64, got the number 12.5"),
    ("window: true", "$.window", "expected a whole number from 4 to 64, got `true`"),
    ("window: 0", "$.window", "expected a whole number from 4 to 64, got the number 0"),
    ("window: 3", "$.window", "expected a whole number from 4 to 64, got the number 3"),
    ("window: 65", "$.window", "expected a whole number from 4 to 64, got the number 65"),
    ("turns: {no_progress: 0}", "$.turns.no_progress", "expected a whole number of at least 2, got the number 0"),
    (
        "defaults: {identical: {nudge: 1}}",
        "$.defaults.identical.nudge",
        "expected a whole number of at least 2, got the number 1",
    ),
    (
        "defaults: {drift: {nudge: 0}}",
        "$.defaults.drift.nudge",
        "expected a whole number of at least 2, got the number 0",
    ),
    (
        "defaults: {same_error: {stop: 3000000000}}",
        "$.defaults.same_error.stop",
        "expected a whole number of at most 2147483647, got the number 3000000000",
    ),
    (
        "tools: {t: {cycle: {nudge: 3}}}",
        "$.tools.t.cycle",
        "unknown key `cycle`",
    ),
    (
        "defaults: {cycle: {max_period: 1}}",
        "$.defaults.cycle.max_period",
        "expected a whole number from 2 to 64, got the number 1",
    ),
    (
        "defaults: {cycle: {nudge: 1}}",
        "$.defaults.cycle.nudge",
        "expected a whole number of at least 2, got the number 1",
    ),
    ("revision: 7", "$.revision", "expected text, got the number 7, write it in quotes"),
    ("revision: true", "$.revision", "expected text, got `true`, write it in quotes"),
    ("revision: ' '", "$.revision", "expected text, got the text ` `"),
    ('revision: "a\\nb"', "$.revision", "expected text, got the text `a\\nb`"),
    (
        f"revision: {'x' * 257}",
        "$.revision",
        "expected text of at most 256 characters",
    ),
    ("scope: tenant.id", "$.scope", "expected a list of attribute names, got the text `tenant.id`"),
    ("scope: [a, b, a]", "$.scope[2]", "the same entry stands here twice, remove one"),
    ("scope: [1]", "$.scope[0]", "expected the name of an attribute, got the number 1, write it in quotes"),
    ("ask_user: {a: b}", "$.ask_user", "expected a list of tool names, got a mapping"),
    ("tools: {'': {}}", '$.tools[""]', "expected the name of a tool, got the text ``"),
    (
        f"tools: {{b: {{}}}}\nmatch: {{{PATTERNS}}}",
        "$.match",
        "expected at most 256 entries, got 257",
    ),
]

WRONG_TOOLS = [
    ("knd: read", "knd", "unknown key `knd`, did you mean `kind`?"),
    ("kind: [read]", "kind", "expected one of `read`, `write`, `poll`, `none`, `unknown`"),
    ("owner: ''", "owner", "expected a name, got the text ``"),
    (
        "kind: poll, poll: {deadline: 600}",
        "poll.deadline",
        "`5m` or `2h`, got the number 600",
    ),
    (
        "kind: poll, poll: {deadline: 0s}",
        "poll.deadline",
        "`5m` or `2h`, got the text `0s`",
    ),
    (
        "kind: poll, poll: {deadline: 1.5s}",
        "poll.deadline",
        "`5m` or `2h`, got the text `1.5s`",
    ),
    (
        "kind: poll, poll: {min_interval: 1 d}",
        "poll.min_interval",
        "`5m` or `2h`, got the text `1 d`",
    ),
    ("kind: poll, poll: {max_total: 0}", "poll.max_total", "expected a whole number of at least 1, got the number 0"),
    ("arguments: {text: squeeze}", "arguments.text", "expected one of `exact`, `trim`, `collapse`"),
    ("arguments: {drop_nulls: 1}", "arguments.drop_nulls", "expected `true` or `false`, got the number 1"),
    (
        "arguments: {identity: []}",
        "arguments.identity",
        "expected a list of fields with at least one entry, got an empty list",
    ),
    (
        "arguments: {ignore: [a..b]}",
        "arguments.ignore[0]",
        "expected a field such as `id`, `meta.id` or `items[].id`, got the text `a..b`",
    ),
    ("arguments: {ignore: ['a*']}", "arguments.ignore[0]", "got the text `a*`"),
    ("arguments: {ignore: ['a[0]']}", "arguments.ignore[0]", "got the text `a[0]`"),
    ("arguments: {ignore: ['a[]b']}", "arguments.ignore[0]", "got the text `a[]b`"),
    ("arguments: {ignore: ['.a']}", "arguments.ignore[0]", "got the text `.a`"),
    ("arguments: {round: {a: -1}}", "arguments.round.a", "expected a whole number from 0 to 15, got the number -1"),
    ("arguments: {round: [a]}", "arguments.round", "expected a mapping (`{}` for an empty one), got a list"),
    (
        "result: {volatile: ['(open']}",
        "result.volatile[0]",
        "expected a regular expression, got one that fails: missing ), unterminated subpattern at position 0",
    ),
    (
        "result: {volatile: ['a{1,99999999999}']}",
        "result.volatile[0]",
        "expected a regular expression, got one that fails: the repetition number is too large",
    ),
    ("result: {volatile: ['']}", "result.volatile[0]", "expected a regular expression, got the text ``"),
    (
        "result: {volatile: ['x*']}",
        "result.volatile[0]",
        "expected a pattern that matches characters, this one masks nothing",
    ),
    (
        f"result: {{volatile: ['{'x' * 257}']}}",
        "result.volatile[0]",
        "expected a regular expression of at most 256 characters",
    ),
    ('result: {refusal: ["\\ud800"]}', "result.refusal[0]", "expected a regular expression without lone surrogates"),
    (
        "result: {volatile: []}",
        "result.volatile",
        "expected a list of regular expressions with at least one entry, got an empty list",
    ),
    (
        "result: {volatile: all}",
        "result.volatile",
        "expected `standard`, `none` or a list of regular expressions with at least one entry, got the text `all`",
    ),
    (
        "result: {refusal: {a: b}}",
        "result.refusal",
        "expected `standard`, `none` or a list of regular expressions with at least one entry, got a mapping",
    ),
    (
        "result: {progress: {}}",
        "result.progress",
        "expected exactly one of `version`, `state`, `items`, `decreasing`, `percent`, got an empty mapping",
    ),
    (
        "result: {progress: {version: {path: a}, percent: {path: b}}}",
        "result.progress",
        "expected exactly one of `version`, `state`, `items`, `decreasing`, `percent`, got a mapping",
    ),
    ("result: {progress: {version: {}}}", "result.progress.version", "expected the key `path`"),
    ("result: {progress: {state: {path: a}}}", "result.progress.state", "expected the key `order`"),
    (
        "result: {progress: {state: {path: a, order: []}}}",
        "result.progress.state.order",
        "expected a list of states with at least one entry, got an empty list",
    ),
    (
        "result: {progress: {state: {path: a, order: [b, b]}}}",
        "result.progress.state.order[1]",
        "the same entry stands here twice, remove one",
    ),
    (
        "result: {progress: {state: {path: a, order: [1]}}}",
        "result.progress.state.order[0]",
        "expected a state, got the number 1, write it in quotes",
    ),
    (
        "result: {progress: {version: {path: 'a[].b'}}}",
        "result.progress.version.path",
        "expected one field such as `id` or `meta.id`, got the text `a[].b`",
    ),
    ("kind: write, result: {changed: {}}", "result.changed", "expected the key `path`"),
    ("page: {}", "page", "expected the key `cursor`"),
    ("cycle: {nudge: 3}", "cycle", "unknown key `cycle`, `cycle` stands under `defaults`"),
    ("cylce: {nudge: 3}", "cylce", "unknown key `cylce`, `cycle` stands under `defaults`"),
    ("ignore: [a]", "ignore", "unknown key `ignore`, `ignore` stands under `arguments` or `result`"),
    ("max_unchangd: 3", "max_unchangd", "unknown key `max_unchangd`, `max_unchanged` stands under `poll`"),
    ("kinds: read", "kinds", "unknown key `kinds`, did you mean `kind`?"),
]


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        *WRONG_FILES,
        *((f"tools: {{t: {{{text}}}}}", f"$.tools.t.{path}", words) for text, path, words in WRONG_TOOLS),
    ],
)
def test_what_is_wrong_is_refused_with_path_and_way_out(text: str, path: str, words: str) -> None:
    """Each message says what was expected and what stands there, and where; without a full stop."""
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert words in caught.value.reason
    assert caught.value.path == path
    assert f" - at `{path}` (line " in str(caught.value)
    assert not caught.value.reason.endswith(".")


def test_the_form_of_a_message() -> None:
    """What was expected, where in the policy, where in the text."""
    with pytest.raises(PolicyError) as caught:
        parse_policy("tools:\n  get_logs:\n    kind: reader")
    assert str(caught.value) == (
        "expected one of `read`, `write`, `poll`, `none`, `unknown` - at `$.tools.get_logs.kind` (line 3, column 11)"
    )
