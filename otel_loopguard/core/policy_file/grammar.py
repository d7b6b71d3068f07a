"""Every key of a policy file: its shape and what it means.

Not what the keys add up to (`policy_fold`) or which contradict each other (`policy_rules`). One table serves the
parser and the JSON Schema.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

from otel_loopguard.core.policy import KeyPath, Mode, Profile, ToolKind

from .section import Field, list_of, map_of, section, word_or
from .shape import Shape, choice, constant, data, duration, field_path, flag, integer, regular_expression, text

__all__ = [
    "ONLY_FOR", "POLICY", "WrittenArguments", "WrittenDefaults", "WrittenPolicy", "WrittenPoll", "WrittenProgress",
    "WrittenResult", "WrittenThresholds", "WrittenTool",
]  # fmt: skip

SMALLEST_WINDOW: Final = 4
"""Three equal calls with one turn to spare."""
MAX_PATTERNS: Final = 256
"""Every unnamed tool is held against all patterns: a bound keeps that below the cost of a fingerprint."""
LARGEST_WINDOW: Final = 64
"""The calls of which a history keeps details."""

_REPEATS: Final = integer(low=2)
"""A first call, a first lap or a first error repeats nothing, so no threshold is below two."""

ONLY_FOR: Final[tuple[tuple[tuple[str, ...], tuple[ToolKind, ...]], ...]] = (
    (("poll",), ("poll",)),
    (("page",), ("read", "unknown")),
    (("result", "changed"), ("write", "unknown")),
    (("result", "progress"), ("read", "write", "poll", "unknown")),
    (("result", "cache"), ("read", "write", "unknown")),
    (("idempotency_key",), ("write",)),
    (("duplicate_after_success",), ("write",)),
    (("identical",), ("read", "write", "none", "unknown")),
    (("drift",), ("read", "unknown")),
)
"""Settings of a tool that mean something for some kinds only. A poller repeats itself by trade, so only its budgets
judge it; a write is judged by success and failure, not by its answers; a tool that waits or writes has no pages; a
thought makes no progress, and neither it nor what is waited for is answered from memory."""

_KINDS: Final[tuple[ToolKind, ...]] = ("read", "write", "poll", "none", "unknown")


def _for_kinds(kinds: list[ToolKind], path: tuple[str, ...], rule: object) -> dict[str, object]:
    """JSON Schema for a setting below a tool that names one of some kinds itself."""
    for step in reversed(path):
        rule = {"properties": {step: rule}}
    return {"if": {"properties": {"kind": {"enum": kinds}}, "required": ["kind"]}, "then": rule}


def _kind_rules() -> list[object]:
    """`ONLY_FOR` as JSON Schema, and that the answer of a write is never kept."""
    refused = [_for_kinds([kind for kind in _KINDS if kind not in kinds], path, rule=False) for path, kinds in ONLY_FOR]
    return [*refused, _for_kinds(["write"], ("result", "cache"), {"const": False})]


_MODE: Final = choice("observe", "nudge", "enforce")
_FIELD: Final = field_path()
_ONE_FIELD: Final = field_path(lists=False)
_FIELDS: Final = list_of(_FIELD, "a list of fields")
_STATES: Final = list_of(text("a state"), "a list of states", filled=True)
_TOOL_NAME: Final = text("the name of a tool")
_ARGUMENT: Final = text("the name of an argument")
_ATTRIBUTES: Final = list_of(text("the name of an attribute"), "a list of attribute names")

_THRESHOLDS: Final = (
    Field(
        "kind",
        choice(*_KINDS),
        "what the tool does: read, write (change something), poll (wait for something), none (a thought), unknown",
    ),
    Field(
        "identical",
        section(
            Field("nudge", _REPEATS, "equal calls in the window, this one included, for a nudge"),
            Field("stop", _REPEATS, "equal calls in the window, this one included, for a stop; at most the window"),
            Field("in_a_row", _REPEATS, "equal calls in a row for a nudge whatever their results; at most the window"),
        ),
        "the same call again without news; built in: nudge 3, stop 5, in_a_row 5, for `kind: read` nudge 2, stop 3",
    ),
    Field(
        "cycle",
        section(
            Field("max_period", integer(low=2, high=64), "turns of the longest lap; at most the window"),
            Field("nudge", _REPEATS, "laps in all for a nudge"),
            Field("stop", _REPEATS, "laps in all for a stop"),
        ),
        "several calls in turn, again and again; built in: max_period 8, nudge 2, stop 3",
    ),
    Field(
        "drift",
        section(Field("nudge", _REPEATS, "empty or failing answers for a nudge")),
        "different arguments, the same empty or failing answer; built in: nudge 5",
    ),
    Field(
        "same_error",
        section(
            Field("nudge", _REPEATS, "equal errors in the window for a nudge"),
            Field("stop", _REPEATS, "equal errors in the window for a stop; at most the window"),
        ),
        "one error again and again, whatever the arguments; built in: nudge 3, stop 6",
    ),
)

_ARGUMENTS: Final = section(
    Field("ignore", _FIELDS, "fields that do not count"),
    Field("identity", list_of(_FIELD, "a list of fields", filled=True), "only these fields count"),
    Field("defaults", map_of(_ARGUMENT, data()), "an omitted argument counts as having this value"),
    Field("drop_nulls", flag(), "a null counts as omitted; built in: true, in profile `strict` false"),
    Field("text", choice("exact", "trim", "collapse"), "which blanks in texts count; built in: trim"),
    Field("case_insensitive", _FIELDS, "fields in which case does not count"),
    Field("round", map_of(_FIELD, integer(low=0, high=15)), "places after the point to which fields are rounded"),
    Field("unordered", _FIELDS, "lists in which order does not count"),
    Field("json", _FIELDS, "fields that hold JSON text"),
    Field("path", _FIELDS, "fields that hold file paths"),
)


def _progress(name: str, path: Shape, about: str, *more: Field) -> Field:
    required = ("path", *(item.name for item in more if item.name == "order"))
    return Field(name, section(Field("path", path, "where the result holds it"), *more, required=required), about)


_PROGRESS: Final = section(
    _progress("version", _ONE_FIELD, "a number that must grow"),
    _progress(
        "state",
        _ONE_FIELD,
        "a state that must move on",
        Field("order", _STATES, "the states, the earliest first"),
        Field("terminal", _STATES, "states that nothing follows"),
    ),
    _progress("items", _FIELD, "ids of which some must be new"),
    _progress("decreasing", _ONE_FIELD, "a number, or a list whose length counts, that must shrink"),
    _progress("percent", _ONE_FIELD, "a share of the whole that must grow"),
    exactly_one=True,
)
_MASKS: Final = list_of(regular_expression(masks=True), "a list of regular expressions", filled=True)
_REFUSALS: Final = list_of(regular_expression(), "a list of regular expressions", filled=True)
_CHANGED: Final = section(Field("path", _ONE_FIELD, "false there: nothing was changed"), required=("path",))
_RESULT: Final = section(
    Field("ignore", _FIELDS, "fields that do not count"),
    Field("volatile", word_or("standard", "none", other=_MASKS), "what is masked in texts before they are compared"),
    Field("refusal", word_or("standard", "none", other=_REFUSALS), "which texts without an error flag are refusals"),
    Field("progress", _PROGRESS, "what progress is; nothing else in the result counts then"),
    Field("changed", _CHANGED, "where a result says whether the call changed anything"),
    Field("cache", flag(), "a repeat may be answered from the earlier result; built in: true for `kind: read`"),
)
_POLL: Final = section(
    Field("max_unchanged", integer(), "equal answers in a row; no limit unless set"),
    Field("max_total", integer(), "polls in all; no limit unless set"),
    Field("deadline", duration(), "time since the first poll's start; no limit unless set"),
    Field("min_interval", duration(), "time from one poll's start to the next; no limit unless set"),
)
_PAGE: Final = section(Field("cursor", _ARGUMENT, "the argument that must advance"), required=("cursor",))
_TOOL: Final = section(
    # A lap is made of several tools' calls, so its thresholds are the whole policy's.
    *(field for field in _THRESHOLDS if field.name != "cycle"),
    Field("mode", _MODE, "what a guard does for this tool"),
    Field("arguments", _ARGUMENTS, "which arguments are equal"),
    Field("result", _RESULT, "which results are equal"),
    Field("poll", _POLL, "budgets of a tool of `kind: poll`"),
    Field("page", _PAGE, "the tool answers page by page"),
    Field("idempotency_key", _ARGUMENT, "the argument that makes a retry safe"),
    Field("duplicate_after_success", choice("allow", "nudge", "stop"), "a write that succeeded, again; built in: stop"),
    Field("owner", text("a name"), "who looks after the tool; shown in reports"),
    more=_kind_rules(),
    elsewhere={"cycle": "defaults"},
)

POLICY: Final = section(
    Field("version", constant(1, "`1`, the version that this release reads"), "version of this schema"),
    Field("revision", text("text"), "your own version; travels as `loopguard.policy.version`"),
    Field("profile", choice("standard", "strict", "lenient"), "how arguments are compared unless a tool says more"),
    Field("mode", _MODE, "what guards do"),
    Field("window", integer(low=SMALLEST_WINDOW, high=LARGEST_WINDOW), "turns remembered for repeats; built in: 12"),
    Field(
        "turns",
        section(Field("no_progress", integer(low=2), "turns without news for a nudge; built in: 6")),
        "limits that count turns",
    ),
    Field("scope", _ATTRIBUTES, "span, resource or record attributes whose values separate histories"),
    Field("defaults", section(*_THRESHOLDS), "settings that a tool does not set itself"),
    Field("tools", map_of(_TOOL_NAME, _TOOL), "settings by tool name"),
    Field(
        "match",
        map_of(text("a shell pattern"), _TOOL_NAME, most=MAX_PATTERNS),
        "patterns for names of tools that take the settings of a tool above; the first that fits counts",
    ),
    Field("ask_user", list_of(_TOOL_NAME, "a list of tool names"), "tools that ask the user"),
)


class WrittenThresholds(TypedDict, total=False):
    """``identical``, ``cycle``, ``drift`` or ``same_error``."""

    nudge: int
    stop: int
    in_a_row: int
    max_period: int


class WrittenDefaults(TypedDict, total=False):
    """``defaults``, and the same keys of a tool."""

    kind: ToolKind
    identical: WrittenThresholds
    cycle: WrittenThresholds
    drift: WrittenThresholds
    same_error: WrittenThresholds


class WrittenArguments(TypedDict, total=False):
    """``arguments``."""

    ignore: tuple[KeyPath, ...]
    identity: tuple[KeyPath, ...]
    defaults: dict[str, object]
    drop_nulls: bool
    text: Literal["exact", "trim", "collapse"]
    case_insensitive: tuple[KeyPath, ...]
    round: dict[KeyPath, int]
    unordered: tuple[KeyPath, ...]
    json: tuple[KeyPath, ...]
    path: tuple[KeyPath, ...]


class WrittenProgress(TypedDict, total=False):
    """One extractor of ``progress``."""

    path: KeyPath
    order: tuple[str, ...]
    terminal: tuple[str, ...]


class WrittenResult(TypedDict, total=False):
    """``result``."""

    ignore: tuple[KeyPath, ...]
    volatile: Literal["standard", "none"] | tuple[str, ...]
    refusal: Literal["standard", "none"] | tuple[str, ...]
    progress: dict[Literal["version", "state", "items", "decreasing", "percent"], WrittenProgress]
    changed: WrittenProgress
    cache: bool


class WrittenPoll(TypedDict, total=False):
    """``poll``; times in nanoseconds."""

    max_unchanged: int
    max_total: int
    deadline: int
    min_interval: int


class WrittenTool(WrittenDefaults, total=False):
    """One entry of ``tools``."""

    mode: Mode
    arguments: WrittenArguments
    result: WrittenResult
    poll: WrittenPoll
    page: dict[Literal["cursor"], str]
    idempotency_key: str
    duplicate_after_success: Literal["allow", "nudge", "stop"]
    owner: str


class WrittenPolicy(TypedDict, total=False):
    """A whole file."""

    version: int
    revision: str
    profile: Profile
    mode: Mode
    window: int
    turns: dict[Literal["no_progress"], int]
    scope: tuple[str, ...]
    defaults: WrittenDefaults
    tools: dict[str, WrittenTool]
    match: dict[str, str]
    ask_user: tuple[str, ...]
