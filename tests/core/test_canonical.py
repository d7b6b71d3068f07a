"""The canonical form: what is one call, what is not, and that the native path gives what the plain one defines."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NoReturn

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from otel_loopguard.core.call import ABSENT
from otel_loopguard.core.canonical import (
    Pairs,
    Unknown,
    canonical,
    encode,
    load,
    load_and_encode,
    plain_encode,
    plain_load,
)
from otel_loopguard.core.form.placeholder import withheld
from otel_loopguard.core.form.unknown import MAX_BYTES, MAX_DEPTH
from otel_loopguard.core.policy import LENIENT, STRICT, ArgumentRules

STANDARD = ArgumentRules()
PROFILES = pytest.mark.parametrize("rules", [STANDARD, STRICT, LENIENT], ids=["standard", "strict", "lenient"])


def form(value: object, rules: ArgumentRules = STANDARD) -> str:
    """Canonical text of ``value``, or the reason why there is none."""
    found = canonical(value, rules)
    return f"unknown: {found.reason}" if isinstance(found, Unknown) else found.decode("utf-8", "surrogatepass")


# Generated data ---------------------------------------------------------------------------------------------------

_TEXTS = st.text() | st.sampled_from(
    [
        "",
        " ",
        "\n",
        " a",
        "a ",
        "a\n",
        "\tb",
        "null",
        "x\\",
        'say "hi" to',
        '"',
        "a,",
        "a{",
        ":null",
        "1.0",
        ":1.0,",
        "e-5",
        "café",
        "cafe\u0301",
        "\ufb01",
        "\U0001f600",
        "\ue000",
        "\ud83d",
        "\ud83d\ude00",
        "[x",
        "<b>",
        "[truncated]",
        "a…[truncated]",
        "[REDACTED]",
        "__REDACTED__",
        "****",
        "\\u003a",
        "a:b",
        "\x0b",
        "a\x0b",
        "\x00",
        "é" * 3,
    ]
)
_NUMBERS = (
    st.integers()
    | st.integers(min_value=-(2**70), max_value=2**70)
    | st.floats()
    | st.sampled_from(
        [0.0, -0.0, 1.0, 1e16, 1e21, 1e22, 1e23, 2.0**60, 2**53, 2**53 + 1, 1e-5, 1e-6, 1e-7, 5e-324, 10**400]
    )
)
_KEYS = _TEXTS | st.sampled_from(["request_id", "timestamp", "a", "b", "c"])
DATA = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(_KEYS, DATA, max_size=6) | st.lists(DATA, max_size=6) | DATA
RULES = st.builds(
    ArgumentRules,
    volatile=st.sampled_from([frozenset(), frozenset(["request_id", "a"])]),
    drop_nulls=st.booleans(),
    text=st.sampled_from(["exact", "trim", "collapse"]),
    fold_case=st.booleans(),
    ignore=st.sampled_from([(), (("b",),), (("a", "b"), ("c", "[]", "a"))]),
    unordered=st.sampled_from([(), (("a",),)]),
    json=st.sampled_from([(), (("c",),)]),
    defaults=st.sampled_from([{}, {"a": 1.0, "b": " x"}]),
)
SIMPLE_RULES = st.builds(
    ArgumentRules,
    volatile=st.sampled_from([frozenset(), frozenset(["request_id", "a"])]),
    drop_nulls=st.booleans(),
    text=st.sampled_from(["exact", "trim"]),
)


def as_json(value: object) -> str:
    """JSON text as Python writes it: spaces, escapes, NaN."""
    return json.dumps(value)


def same(left: object, right: object) -> bool:
    """Equality of uniform data by what it says, with NaN equal to itself and 1 unlike True."""
    return (
        repr(left) == repr(right)
        if not isinstance(left, Unknown)
        else isinstance(right, Unknown) and left.reason == right.reason
    )


def ordered(data: object) -> object:
    """``data`` with the members of every dict in one order, because loading keeps none."""
    if isinstance(data, dict):
        return {key: ordered(data[key]) for key in sorted(data, key=lambda key: key.encode("utf-8", "surrogatepass"))}
    if isinstance(data, Pairs):
        return Pairs((key, ordered(value)) for key, value in data)
    return [ordered(item) for item in data] if isinstance(data, list) else data


def outcome(found: object) -> object:
    """Something comparable: bytes, or the reason."""
    return found.reason if isinstance(found, Unknown) else found


@given(DOCUMENTS)
def test_native_and_plain_load_agree(value: object) -> None:
    """Loading an object gives the same data by either path."""
    assert same(ordered(load(value)), ordered(plain_load(value)))


@given(DOCUMENTS | st.text(alphabet='{}[]",:0123456789.eE+- nulltrufas\\'))
def test_native_and_plain_load_agree_on_text(value: object) -> None:
    """Loading a text gives the same data by either path."""
    text = value if isinstance(value, str) else as_json(value)
    assert same(ordered(load(text)), ordered(plain_load(text)))


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "plain words", "\ttabs and\x7f\x00", "e\u0301", "\ud83d\ude00 \ud800", "[REDACTED]",
        "cut ...[truncated]",
        "no" + "[" * 300, "no" + "[]" * 300, "[" * 300, "nullify", "truth", "null", " 1", "\ufeff{}", "x" * 9_000_000,
    ],
)  # fmt: skip
def test_native_and_plain_load_agree_on_what_is_no_json(text: str) -> None:
    """A text is itself in its composed form, unless it is withheld or too large."""
    assert outcome(load(text)) == outcome(plain_load(text))
    for rules in (STRICT, STANDARD):
        assert outcome(load_and_encode(text, rules)[1]) == outcome(plain_encode(plain_load(text), rules))


@given(DOCUMENTS, SIMPLE_RULES | RULES)
def test_every_way_to_the_bytes_agrees(value: object, rules: ArgumentRules) -> None:
    """The native path, the plain path, both steps at once and one by one give the same bytes, for an object and for
    its JSON text.
    """
    expected = outcome(plain_encode(plain_load(value), rules))
    text = as_json(value)
    assert outcome(canonical(value, rules)) == expected
    assert outcome(encode(load(value), rules)) == expected
    assert outcome(load_and_encode(value, rules)[1]) == expected
    if not isinstance(value, str):
        assert outcome(canonical(text, rules)) == expected
        assert outcome(encode(load(text), rules)) == expected
        assert outcome(canonical(json.dumps(value, ensure_ascii=False, separators=(",", ":")), rules)) == expected


# RFC 8785 ---------------------------------------------------------------------------------------------------------

_JCS_TEXTS = (
    st.text()
    .filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text) and withheld(text) is None)
    .map(lambda text: unicodedata.normalize("NFC", text))
)
_JCS_NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda number: abs(number) < 2**53
)
_JCS = st.recursive(
    st.none() | st.booleans() | _JCS_NUMBERS | _JCS_TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_JCS_TEXTS, inner, max_size=5),
    max_leaves=15,
)


@given(st.dictionaries(_JCS_TEXTS, _JCS, max_size=6) | st.lists(_JCS, max_size=6))
@example({"\U0001f600": 1, "\ue000": 2, "\uff21": 3, "z": 4, "\u20ac": 5})
@example([1e-6, 1e-7, 9.5e-7, 1.5e-10, 0.1, 123456789.125, 5e-324, -0.0, 1.0, 4.35, 1e-5, 0.000123])
@example(['\x00\x08\t\n\x0c\r\x1f\x7f\u2028"\\/'])
def test_strict_is_rfc_8785(value: Any) -> None:  # noqa: ANN401 - whatever JSON says
    """In profile `strict` the bytes are those of the standard: NFC texts, integers below 2^53, doubles that are not
    integral.
    """
    assert canonical(value, STRICT) == rfc8785.dumps(value)
    assert plain_encode(plain_load(value), STRICT) == rfc8785.dumps(value)


# What holds always ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{ "b": [2, 1],\n "a" : 1.0 }', '{"a":1,"b":[2,1]}'),
        ("[1, 1.0, 1e0, 10E-1, -0, -0.0, 0e5]", "[1,1,1,1,0,0,0]"),
        ("[9007199254740993, 1152921504606846977]", "[9007199254740993,1152921504606846977]"),
        ("[1e21, 1e23, 1.5e300]", f"[{10**21},{10**23},{15 * 10**299}]"),
        ([2.0**60, 2**60, 1e22, 10**22], f"[{2**60},{2**60},{10**22},{10**22}]"),
        ("1e399", "1" + "0" * 399),
        ("1e400", "1e400"),
        (10**400, "1e400"),
        (-(10**400) * 25, "-25e400"),
        ("1e999999999", "1e999999999"),
        ("[NaN, Infinity, -Infinity]", "[NaN,Infinity,-Infinity]"),
        ({"a": math.nan}, '{"a":NaN}'),
        ({"a": [math.inf, -math.inf]}, '{"a":[Infinity,-Infinity]}'),
        ('{"a": 1, "a": 2}', '{"a":1,"a":2}'),
        ('{"z": 0, "a": 1, "a": 1}', '{"z":0,"a":1,"a":1}'),
        ('{"caf\\u00e9": 1, "cafe\\u0301": 2}', '{"café":1,"café":2}'),
        ({"cafe\u0301": "cafe\u0301"}, '{"café":"café"}'),
        ({"\U0001f600": 1, "\ue000": 2}, '{"\U0001f600":1,"\ue000":2}'),
        ('["\\ud83d\\ude00", "\\ud83d"]', '["\U0001f600","\ud83d"]'),
        ("not JSON", '"not JSON"'),
        ('{"a": ', '"{\\"a\\":"'),
        ('{"a": 1} trailing', '"{\\"a\\": 1} trailing"'),
        ("", '""'),
        ("null", "null"),
        ("true", "true"),
        (None, "null"),
        (7, "7"),
        ([], "[]"),
        ({}, "{}"),
        ([True, 1, "true", "1", 1.5], '[true,1,"true","1",1.5]'),
        ((1, [2, (3,)]), "[1,[2,[3]]]"),
    ],
)  # fmt: skip
def test_what_holds_for_every_tool(value: object, expected: str) -> None:
    """Order of members, spelling of numbers and JSON text do not matter; nothing else is lost."""
    assert form(value) == expected


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": "1"}),
        ({"a": True}, {"a": 1}),
        ({"a": 2**53}, {"a": 2**53 + 1}),
        ('{"n": 1e999999999}', '{"n": 1e999999998}'),
        ('{"n": 1e999999999}', '{"n": "1e999999999"}'),
        ('{"a": 1, "a": 2}', '{"a": 1}'),
        ('{"a": 1, "a": 2}', '{"a": 2}'),
        ('{"a": 1, "a": 2}', '{"a": 2, "a": 1}'),
        ('{"a": 1, "a": 2}', '[["a", 1], ["a", 2]]'),
        ('{"a": 1, "a": null}', '{"a": 1}'),
        ('{"a" :1, "a":2}', '{"a": 2}'),
        ('{"x": "\\u003a", "a": 1, "a": 2}', '{"x": ":", "a": 2}'),
        ({"a": math.nan}, {"a": "NaN"}),
        ({"a": math.nan}, {}),
        ({"a": "\ud83d"}, {"a": "\ud83e"}),
        ({"a": "ﬁ"}, {"a": "fi"}),
        ({"a": [None]}, {"a": []}),
        ({"a": b"x"}, {"a": "x"}),
        ("[1", "[1,"),
    ],
)  # fmt: skip
def test_what_is_not_one_call(left: object, right: object) -> None:
    """Two inputs on which a tool could behave differently have different bytes in the standard profile."""
    assert form(left) != form(right)


# Profiles and rules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "value", "expected"),
    [
        (STANDARD, {"a": None, "b": {"c": None, "d": [None]}}, '{"b":{"d":[null]}}'),
        (STANDARD, {"a": " x \n", "b": " ", "c": "\n", "d": ""}, '{"a":"x","b":" ","c":"\\n","d":""}'),
        (STANDARD, {"a": ["\t x\x0b", {"b": "\x0cy"}]}, '{"a":["x",{"b":"y"}]}'),
        (STANDARD, {"a": "\u00a0x\u00a0"}, '{"a":"\u00a0x\u00a0"}'),
        (STANDARD, {" a ": 1}, '{" a ":1}'),
        (STANDARD, {"request_id": 1, "Request_id": 2, "a": {"now": 3}}, '{"Request_id":2,"a":{"now":3}}'),
        (STANDARD, '{"nonce": 1, "nonce": 2, "a": 3}', '{"a":3}'),
        (STANDARD, '{"a": null, "b": 1, "b": null}', '{"b":1,"b":null}'),
        (STRICT, {"a": None, "now": 1, "b": " x "}, '{"a":null,"b":" x ","now":1}'),
        (LENIENT, {"a": "  Green \t TEA "}, '{"a":"green tea"}'),
        (LENIENT, {"a": " If x:\n  Y "}, '{"a":"if x:\\n  y"}'),
        (
            LENIENT,
            {"a": "  ", "b": 1.005, "c": 7, "d": "STRASSE", "e": "straße"},
            '{"a":"  ","b":1,"c":7,"d":"strasse","e":"strasse"}',
        ),
        (LENIENT, {"a": 0.125, "b": 0.135, "c": -0.001, "d": 1e-9}, '{"a":0.12,"b":0.14,"c":0,"d":0}'),
        (
            ArgumentRules(ignore=(("meta", "id"), ("rows", "[]", "at"))),
            {"meta": {"id": 1, "x": 2}, "rows": [{"at": 1, "y": 2}], "id": 3},
            '{"id":3,"meta":{"x":2},"rows":[{"y":2}]}',
        ),
        (
            ArgumentRules(identity=(("cmd",), ("meta", "id"), ("rows", "[]", "y"))),
            {"cmd": "a", "name": "b", "meta": {"id": 1, "x": 2}, "rows": [{"y": 2, "z": 3}]},
            '{"cmd":"a","meta":{"id":1},"rows":[{"y":2}]}',
        ),
        (ArgumentRules(identity=(("cmd",),)), "only text", '"only text"'),
        (ArgumentRules(defaults={"limit": 50, "sort": " up "}), {"limit": 50.0, "sort": "up", "q": 1}, '{"q":1}'),
        (ArgumentRules(defaults={"limit": 50}), {"limit": 51}, '{"limit":51}'),
        (ArgumentRules(defaults={"a.b": 1}), {"a.b": 1, "a": {"b": 1}}, '{"a":{"b":1}}'),
        (ArgumentRules(defaults={"tags": ["b", "a"]}, unordered=(("tags",),)), {"tags": ["a", "b"]}, "{}"),
        (
            ArgumentRules(case_insensitive=(("id",),)),
            {"id": ["Ab", {"x": "CD"}], "n": "X"},
            '{"id":["ab",{"x":"cd"}],"n":"X"}',
        ),
        (ArgumentRules(round={("amount",): 2}), {"amount": 2.675, "fee": 2.675}, '{"amount":2.68,"fee":2.675}'),
        (ArgumentRules(round={("amount",): 2}), '{"amount": 2.665}', '{"amount":2.66}'),
        (ArgumentRules(round={("amount",): 2}), {"amount": Decimal("2.6650000000000000000001")}, '{"amount":2.67}'),
        (ArgumentRules(round={("amount",): 0}), {"amount": [0.5, 1.5, 2.5]}, '{"amount":[0,2,2]}'),
        (ArgumentRules(round={("amount",): -2}), {"amount": 1250}, '{"amount":1200}'),
        (
            ArgumentRules(unordered=(("tags",),)),
            {"tags": ["b", "a", "b"], "list": [2, 1]},
            '{"list":[2,1],"tags":["a","b","b"]}',
        ),
        (ArgumentRules(json=(("payload",),)), {"payload": '{"b": 1.0, "a": null}'}, '{"payload":{"b":1}}'),
        (ArgumentRules(json=(("payload",),)), {"payload": "{broken"}, '{"payload":"{broken"}'),
        (
            ArgumentRules(json=(("payload",),), ignore=(("payload", "id"),)),
            {"payload": '{"id": 1, "x": 2}'},
            '{"payload":{"x":2}}',
        ),
        (ArgumentRules(path=(("file",),)), {"file": "./docs//a/./b/", "x": "a//b"}, '{"file":"docs/a/b","x":"a//b"}'),
        (ArgumentRules(text="exact", drop_nulls=False), {"a": " x", "b": None}, '{"a":" x","b":null}'),
    ],
)
def test_rules(rules: ArgumentRules, value: object, expected: str) -> None:
    """Every rule of a policy, with what it must leave alone beside it."""
    assert form(value, rules) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/", "docs"), ("./docs", "docs"), ("docs//art", "docs/art"), ("docs/./art", "docs/art"), ("", ""),
        ("/docs", "/docs"), ("//docs", "/docs"), ("/", "/"), (".", "."), ("./", "."), ("../a/../b", "../a/../b"),
        ("a/..", "a/.."),
        ("Docs", "Docs"), (".hidden", ".hidden"), ("a b/", "a b"), ("...", "..."),
    ],
)  # fmt: skip
def test_paths_are_lexical(path: str, expected: str) -> None:
    """Single dots, doubled and trailing slashes go; everything that a file system would have to say stays."""
    assert form({"file": path}, ArgumentRules(path=(("file",),))) == f'{{"file":"{expected}"}}'


# Unknown ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (ABSENT, "absent"),
        ("[REDACTED]", "redacted"),
        ('"__REDACTED__"', "redacted"),
        ({"a": "<elided>"}, "redacted"),
        ('{"a": {"b": ["x", "__REDACTED__"]}}', "redacted"),
        ({"request_id": "[REDACTED]", "a": 1}, "redacted"),
        ("<4096 chars; not recorded>", "truncated"),
        ('{"command": "ls -la …[truncated]', "truncated"),
        ({"a": "long text ...[truncated]"}, "truncated"),
        ({"a": ABSENT}, "absent"),
    ],
)
@PROFILES
def test_content_that_was_withheld_is_unknown(value: object, reason: str, rules: ArgumentRules) -> None:
    """A placeholder as the whole or as any member makes the call unknown, in every profile."""
    assert form(value, rules) == f"unknown: {reason}"
    found = load(value)
    assert isinstance(found, Unknown)
    assert found.reason == reason


@pytest.mark.parametrize(
    "text",
    ["what does [REDACTED] mean", "redacted", "elided lines", "N/A", "None", "[truncated] at the start", "<b>", "***"],
)
def test_a_text_about_redaction_is_content(text: str) -> None:
    """A longer text that mentions a placeholder, or a common word, is content."""
    assert form({"q": text}) == json.dumps({"q": text}, separators=(",", ":"))


def test_unknown_is_equal_to_nothing() -> None:
    """Two calls whose arguments are unknown are not one call."""
    assert Unknown("absent") != Unknown("absent")


# Bounds -----------------------------------------------------------------------------------------------------------


def nested(depth: int, inner: object = 1) -> object:
    """``inner`` in a list in a list, ``depth`` deep."""
    value = inner
    for _ in range(depth):
        value = [value]
    return value


@PROFILES
def test_depth_is_bounded(rules: ArgumentRules) -> None:
    """Nesting is read down to the stated depth, by both paths, from object and text alike; deeper is too large."""
    for inner in ("1", "[]", "{}"):
        text = "[" * MAX_DEPTH + inner + "]" * MAX_DEPTH
        deep = nested(MAX_DEPTH, json.loads(inner))
        assert form(deep, rules) == form(text, rules) == text
        assert plain_encode(plain_load(deep), rules) == plain_encode(plain_load(text), rules) == text.encode()
        assert form([deep], rules) == form(f"[{text}]", rules) == "unknown: too_large"
        for found in (plain_load([deep]), plain_load(f"[{text}]")):
            assert isinstance(found, Unknown)


@pytest.mark.parametrize(
    "text",
    ["[" * 10_000 + "]" * 10_000, "[" * 10_000, '{"a":' * 10_000, '{"a":' * 10_000 + "1" + "}" * 10_000],
    ids=["closed", "open", "open objects", "closed objects"],
)
def test_ten_thousand_levels_do_not_raise(text: str) -> None:
    """Nesting beyond every stack is too large, whether it is closed or not."""
    assert form(text) == "unknown: too_large"


def test_brackets_inside_texts_are_no_nesting() -> None:
    """Only brackets outside of texts count as levels."""
    text = json.dumps({"a": "[" * 1000, "b": "\\" * 7 + '"' + "{" * 1000, "é": math.nan})
    assert not isinstance(load(text), Unknown)


def test_size_is_bounded() -> None:
    """What is longer than the bound is too large, as text, as object, and as a single text."""
    assert form("x" * (MAX_BYTES + 1)) == "unknown: too_large"
    assert form({"a": "x" * MAX_BYTES}) == "unknown: too_large"
    assert form({"a": {"\ud800": "x" * MAX_BYTES}}) == "unknown: too_large"
    assert form(json.dumps(["x" * MAX_BYTES])) == "unknown: too_large"
    assert len(form({"a": "x" * (MAX_BYTES - 10)})) == MAX_BYTES - 2


@pytest.mark.parametrize(
    "text", ["1" + "0" * 20_000, "7" * 20_000, "1e9999999999999999999", "7" * 20_000 + ".5", f"[{'9' * 11_000}]"]
)
def test_numbers_of_any_length_do_not_raise(text: str) -> None:
    """A number of more digits than the bound is too large; the digits that trail as noughts do not count."""
    assert form(text) in {"unknown: too_large", "1e20000"}
    assert form(10**100_000) == "unknown: too_large"


@pytest.mark.parametrize("text", ["1e999999999", "-1.5E+999999999", "1e-999999999", '{"a": [1e999999999, 1]}'])
@pytest.mark.parametrize("rules", [STANDARD, LENIENT, ArgumentRules(round={("a",): 2})])
def test_an_exponent_of_a_billion_is_never_written_out(text: str, rules: ArgumentRules) -> None:
    """A number whose digits would fill the memory has a short form under every rule for numbers."""
    assert len(form(text, rules)) < 30


# Never raises -----------------------------------------------------------------------------------------------------


class Hostile:
    """An object of which nothing can be asked."""

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError("no")

    __str__ = __repr__ = __eq__ = __hash__ = __len__ = __iter__ = __bool__ = _refuse


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"a": x}, lambda x: {"a": [1, (x,)]}])
def test_hostile_objects_are_unknown(wrap: Callable[[object], object]) -> None:
    """An object whose every method raises makes the call unknown and nothing else happens."""
    assert form(wrap(Hostile())) == "unknown: absent"


@pytest.mark.parametrize("wrap", [lambda one: [one, one], lambda one: {"a": one, "b": one}, lambda one: [(one, one)]])
def test_what_is_held_in_many_places_is_not_written_out_without_bound(wrap: Callable[[object], object]) -> None:
    """Sixty levels that each hold the one below twice are a few objects in memory, and more than fits any form."""
    value: object = ["x"]
    for _ in range(60):
        value = wrap(value)
    for found in (load(value), *load_and_encode(value, STANDARD)):
        assert isinstance(found, Unknown)
        assert found.reason == "too_large"
    row = [0] * 10
    assert load([row, row]) == [row, row]


@pytest.mark.parametrize(
    "text",
    ['{"b":1,"a":{"d":[1.5,null],"c":"x "}}', '{"b": 2.0, "a": 1}', '["b", {"b": 1, "a": 2}]', '{"b":1e7,"a":1}'],
)
def test_where_order_is_of_no_concern(text: str) -> None:
    """The data may then stand as it was read, and is the same; beyond the bytes named it is in order."""
    data, encoded = load_and_encode(text, STANDARD, len(text))
    assert (data, encoded) == load_and_encode(text, STANDARD)
    assert repr(load_and_encode(text, STANDARD, 1)[0]) == repr(load(text))


def test_cycles_end() -> None:
    """An object that holds itself is endless, so too large."""
    ring: dict[str, object] = {}
    ring["self"] = ring
    rows: list[object] = [1]
    rows.append({"rows": rows})
    assert form(ring) == form(rows) == "unknown: too_large"


def test_what_is_handed_over_stays_as_it_is() -> None:
    """Neither loading nor encoding changes the caller's objects."""
    value = {"b": [None, 1.0, {"now": None, "x": " y "}], "a": ("t", 1.0), "now": 3}
    before = repr(value)
    canonical(value, STANDARD)
    encode(load(value), LENIENT)
    assert repr(value) == before


@given(
    st.binary()
    | st.text()
    | st.floats()
    | st.decimals()
    | st.dates()
    | st.uuids()
    | st.fractions()
    | st.complex_numbers(),
    RULES,
)
def test_nothing_raises(value: object, rules: ArgumentRules) -> None:
    """Whatever is handed over, alone or inside, gives bytes or a reason."""
    for given_ in (value, [value], {"a": value}, {"a": {"b": [value]}}):
        assert isinstance(canonical(given_, rules), bytes | Unknown)
        assert outcome(canonical(given_, rules)) == outcome(plain_encode(plain_load(given_), rules))
