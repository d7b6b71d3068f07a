"""Every key of a policy file: its shape and what it means.

Not what the keys add up to (`policy_fold`) or which contradict each other (`policy_rules`). One table serves the
parser and the JSON Schema.
"""

from __future__ import annotations

from typing import Final, Literal, TypedDict

from .policy import KeyPath, Mode, Profile, ToolKind
from .policy_shape import (
    Choice, Data, Duration, Field, FieldPath, Flag, Integer, ListOf, MapOf, Pattern, Section, Text, WordOr,
)  # fmt: skip

__all__ = [
    "POLICY", "SMALLEST_WINDOW", "WrittenArguments", "WrittenDefaults", "WrittenPolicy", "WrittenPoll", "WrittenProgress",
    "WrittenResult", "WrittenThresholds", "WrittenTool",
]  # fmt: skip

SMALLEST_WINDOW: Final = 4
"""Three equal calls with one turn to spare; the largest window is 64, the calls of which a history keeps details."""

_REPEATS: Final = Integer(low=2)
"""A first call, a first lap or a first error repeats nothing, so no threshold is below two."""

_MODES: Final = Choice(("observe", "nudge", "enforce"))
_KIND: Final = Field(
    "kind", Choice(("read", "write", "poll", "none", "unknown")),
    "what the tool does: reads, changes something, waits for something, nothing at all (a thought), or not declared",
)  # fmt: skip

_IDENTICAL: Final = Field(
    "identical",
    Section((
        Field("nudge", _REPEATS, "equal calls with equal results in the window, the judged one included, for a nudge"),
        Field("stop", _REPEATS, "the same for a stop; at most the window"),
        Field("in_a_row", _REPEATS, "equal calls in a row for a nudge, whatever their results; at most the window"),
    )),
    "the same call again; built in: nudge 3, stop 5, in_a_row 5; for `kind: read` nudge 2, stop 3",
)  # fmt: skip
_CYCLE: Final = Field(
    "cycle",
    Section((
        Field("max_period", Integer(low=2, high=64), "turns of the longest lap; at most the window"),
        Field("nudge", _REPEATS, "laps in all for a nudge"),
        Field("stop", _REPEATS, "laps in all for a stop"),
    )),
    "several calls in turn, again and again; built in: max_period 8, nudge 2, stop 3",
)  # fmt: skip
_DRIFT: Final = Field(
    "drift",
    Section((Field("nudge", _REPEATS, "empty or failing answers in a row for a nudge"),)),
    "different arguments with the same empty or failing answer; built in: nudge 5",
)
_SAME_ERROR: Final = Field(
    "same_error",
    Section((
        Field("nudge", _REPEATS, "equal errors in the window for a nudge"),
        Field("stop", _REPEATS, "equal errors in the window for a stop; at most the window"),
    )),
    "one error again and again, whatever the arguments; built in: nudge 3, stop 6",
)  # fmt: skip

_FIELD: Final = FieldPath()
_ONE_FIELD: Final = FieldPath(lists=False)
_FIELDS: Final = ListOf(_FIELD, of="a list of fields")

_ARGUMENTS: Final = Field(
    "arguments",
    Section((
        Field("ignore", _FIELDS, "fields that do not count"),
        Field("identity", ListOf(_FIELD, low=1, of="a list of fields"), "only these fields count"),
        Field("defaults", MapOf(Text("a field"), Data()), "an omitted field counts as having this value"),
        Field("drop_nulls", Flag(), "a null counts as omitted; built in: true, in profile `strict` false"),
        Field("text", Choice(("exact", "trim", "collapse")), "what blanks in texts count for; built in: `trim`"),
        Field("case_insensitive", _FIELDS, "fields in which case does not count"),
        Field("round", MapOf(_FIELD, Integer(low=0, high=15)), "places after the point to which a field is rounded"),
        Field("unordered", _FIELDS, "lists in which order does not count"),
        Field("json", _FIELDS, "fields that hold JSON text"),
        Field("path", _FIELDS, "fields that hold file paths"),
    )),
    "which arguments are equal",
)  # fmt: skip


def _progress(name: str, path: FieldPath, about: str, *more: Field) -> Field:
    required = ("path", *(item.name for item in more if item.name == "order"))
    return Field(name, Section((Field("path", path, "where the result holds it"), *more), required=required), about)


_STATES: Final = ListOf(Text("a state"), low=1, of="a list of states")
_PROGRESS: Final = Field(
    "progress",
    Section(
        (
            _progress("version", _ONE_FIELD, "a number that must grow"),
            _progress(
                "state", _ONE_FIELD, "a state that must move on",
                Field("order", _STATES, "states, the earliest first"),
                Field("terminal", _STATES, "states that nothing follows"),
            ),
            _progress("items", _FIELD, "ids of which some must be new"),
            _progress("decreasing", _ONE_FIELD, "a number, or a list whose length counts, that must shrink"),
            _progress("percent", _ONE_FIELD, "a share of the whole that must grow"),
        ),
        exactly_one=True,
    ),
    "what progress is; nothing else in the result counts then",
)  # fmt: skip
_RESULT: Final = Field(
    "result",
    Section((
        Field("ignore", _FIELDS, "fields that do not count"),
        Field(
            "volatile",
            WordOr(("standard", "none"), ListOf(Pattern(zero_width=False), low=1, of="a list of regular expressions")),
            "what is masked in texts: the built-in set, nothing, or these patterns",
        ),
        Field(
            "refusal",
            WordOr(("standard", "none"), ListOf(Pattern(), low=1, of="a list of regular expressions")),
            "which texts without an error flag are refusals",
        ),
        _PROGRESS,
        Field("changed", Section((Field("path", _ONE_FIELD, "false there: nothing was changed"),), ("path",)),
              "where a result says whether the call changed anything"),
        Field("cache", Flag(), "a repeat may be answered from the earlier result; built in: true for `kind: read`"),
    )),
    "which results are equal",
)  # fmt: skip
_POLL: Final = Field(
    "poll",
    Section((
        Field("max_unchanged", Integer(), "equal answers in a row; no limit unless set"),
        Field("max_total", Integer(), "polls in all; no limit unless set"),
        Field("deadline", Duration(), "time since the first poll's start; no limit unless set"),
        Field("min_interval", Duration(), "time from one poll's start to the next; no limit unless set"),
    )),
    "budgets of a tool of `kind: poll`",
)  # fmt: skip
_THRESHOLDS: Final = (_KIND, _IDENTICAL, _CYCLE, _DRIFT, _SAME_ERROR)
_TOOL: Final = Section((
    *_THRESHOLDS,
    Field("mode", _MODES, "what a guard does for this tool"),
    _ARGUMENTS,
    _RESULT,
    _POLL,
    Field("page", Section((Field("cursor", Text("the name of an argument"), "the argument that must advance"),),
                          ("cursor",)), "the tool answers page by page"),
    Field("idempotency_key", Text("the name of an argument"), "the argument that makes a retry safe"),
    Field("duplicate_after_success", Choice(("allow", "nudge", "stop")),
          "the same write again after it succeeded; built in: stop"),
    Field("owner", Text("a name"), "who looks after the tool; shown in reports"),
), of="the settings of a tool")  # fmt: skip

POLICY: Final = Section((
    Field("version", Integer(low=1, high=1), "version of this schema"),
    Field("revision", Text("text"), "your own version; travels as `loopguard.policy.version`"),
    Field("profile", Choice(("standard", "strict", "lenient")), "how arguments are compared unless a tool says more"),
    Field("mode", _MODES, "what guards do"),
    Field("window", Integer(low=SMALLEST_WINDOW, high=64), "turns remembered for repeats; built in: 12"),
    Field("turns", Section((Field("no_progress", Integer(low=2), "turns without news for a nudge; built in: 6"),)),
          "limits that count turns of a run"),
    Field("scope", ListOf(Text("the name of an attribute"), of="a list of attribute names"),
          "attributes whose values separate histories"),
    Field("defaults", Section(_THRESHOLDS), "settings that a tool does not set itself"),
    Field("tools", MapOf(Text("the name of a tool"), _TOOL), "settings by tool name"),
    Field("match", MapOf(Text("a shell pattern"), Text("the name of a tool")),
          "shell patterns for names of tools that take the settings of a tool above; the first that fits counts"),
    Field("ask_user", ListOf(Text("the name of a tool"), of="a list of tool names"), "tools that ask the user"),
), of="a policy")  # fmt: skip


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
