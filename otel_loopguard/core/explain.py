"""Words for an agent that repeats itself: what was repeated, how often, what came back, and what remains.

Not a judge, and nothing that is ever exported: these words go to the model, which may see its own earlier result.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from otel_loopguard.errors import SettingError

from .decision import Finding, Kind
from .option import require, require_number
from .policy import REPORT_BLOCKED

__all__ = ["REPORT_BLOCKED", "Remaining", "Words", "tools_of"]

_FIELDS: Final = frozenset(["what", "tool", "count", "limit", "period", "earlier", "options"])
_CUT: Final = " ..."
_TEMPLATE_LIMIT: Final = 4000

_WHAT: Final[Mapping[Kind, str]] = {
    "identical": "You called `{tool}` {count} times with the same arguments; one time more gets you no further.",
    "cycle": "You are going round in a circle of {period} steps, now for the {count}. time, ending in `{tool}`; "
    "one round more gets you no further.",
    "drift": "You called `{tool}` {count} times in ever new wordings; the answer was the same or nothing each time.",
    "same_error": "`{tool}` failed {count} times with the same error, whatever the arguments.",
    "no_progress": "The last {count} steps brought nothing new.",
    "poll": "You asked `{tool}` {count} times; that is all the asking it has, and waiting for it here does not help.",
    "page": "`{tool}` was paged {count} times without a new item; there is nothing more in the list.",
    "write": "`{tool}` was done already with these arguments; doing it again would do it twice.",
    "indeterminate": "Nobody knows whether the earlier `{tool}` took effect; doing it again could do it twice.",
    "unknown_tool": "There is no tool `{tool}`; you called it {count} times.",
    "ask_again": "The user has answered this question already.",
    "parallel_duplicate": "You called `{tool}` twice with the same arguments in one step.",
}
_SAME_OUTCOME: Final = (
    "You called `{tool}` {count} times with the same arguments and it came to the same each time, whatever you did in "
    "between."
)
"""Of `no_progress`, where it is of one call: the other steps may well have brought something."""
_SWINGS: Final = (
    "You called `{tool}` {count} times with the same arguments and it failed in the same two ways by turns, whatever "
    "you did in between."
)
_REPORTED: Final = "You have said {count} times that you are blocked; that is recorded, and once more changes nothing."
"""Of the tool with which an agent says so."""
_AFTER_REPORT: Final = "end your turn and tell the user what you tried and what you need"
_OPTIONS: Final[Mapping[Kind, str]] = {
    "drift": "search somewhere else or widen the question",
    "same_error": "change the arguments so that the error cannot come back",
    "poll": "go on with something that does not depend on it",
    "page": "work with the items that you have",
    "write": "look up what the earlier call did",
    "indeterminate": "look up whether it took effect",
    "ask_again": "work with the answer that you have",
    "unknown_tool": "use a tool that exists",
}
_ANY_OPTION: Final = "widen or change the arguments"


@dataclass(frozen=True, slots=True)
class Remaining:
    """What an agent still has."""

    tools: tuple[str, ...] = ()
    """Names of all its tools; empty where they are not known."""
    exhausted: frozenset[str] = frozenset()
    """Tools that were nudged or refused and have not brought anything since."""
    ask_user: tuple[str, ...] = ()
    """Of its tools those that ask a person."""


@dataclass(frozen=True, slots=True)
class Words:
    """The templates and their bounds; every one may be replaced.

    Templates are `str.format` texts over ``what`` (the sentence of the kind), ``tool``, ``count``, ``limit``,
    ``period``, ``earlier`` (empty, or the earlier result) and ``options`` (what remains).
    """

    nudge: str = "[loopguard] {what}{earlier}\nWhat remains: {options}."
    refuse: str = "[loopguard] Not run: {what}{earlier}\nWhat remains: {options}."
    stop: str = "[loopguard] Stopped: {what} This run has ended; do not call tools."
    covered: str = "[loopguard] Not run: the run was stopped because of another call of the same step, `{tool}`."
    """Of a call that is not dispatched because another one of its step stops the agent: the fields are that one's."""
    duplicate: str = "[loopguard] Not run again: this step holds the same call already, and its answer is for both."
    """Of a read that stands twice in one step; ``count`` is 2."""
    what: Mapping[Kind, str] = field(default_factory=dict)
    """Sentences that replace those of some kinds."""
    options: Mapping[Kind, str] = field(default_factory=dict)
    """What remains for some kinds beside other tools, a person and `report_blocked`."""
    max_length: int = 2000
    """Characters of a whole text; longer ones are cut."""
    max_earlier: int = 600
    """Characters quoted of an earlier result; 0 quotes nothing."""
    max_tools: int = 20
    """Names listed of the remaining tools."""

    def __post_init__(self) -> None:
        require_number("max_length", self.max_length, len(_CUT))
        require_number("max_earlier", self.max_earlier)
        require_number("max_tools", self.max_tools)
        for name in ("nudge", "refuse", "stop", "covered", "duplicate"):
            _check(name, getattr(self, name))
        for group, texts in (("what", self.what), ("options", self.options)):
            require(group, texts, Mapping, 'texts by kind of finding, as `{"drift": "..."}`')
            for kind, text in texts.items():
                if kind not in _WHAT:
                    allowed = ", ".join(f"`{one}`" for one in _WHAT)
                    raise SettingError(
                        f"`{group}`: `{kind}` is no kind of finding, expected one of {allowed}", name=group
                    )
                _check(f"{group}[{kind!r}]", text)

    def say(self, template: str, finding: Finding, remaining: Remaining, earlier: str = "") -> str:
        """A template filled in for a finding; ``earlier`` is the text of the earlier result, if it may be quoted."""
        plain = {
            "tool": _short(finding.tool, 200),
            "count": finding.count,
            "limit": finding.limit,
            "period": finding.period,
        }
        own = _WHAT[finding.kind]
        if finding.of_call:
            own = _SAME_OUTCOME if finding.period == 1 else _SWINGS
        own = _REPORTED if finding.tool == REPORT_BLOCKED else own
        what = self.what.get(finding.kind, own).format(**plain, what="", earlier="", options="")
        quoted = _short(earlier, self.max_earlier) if self.max_earlier else ""
        text = template.format(
            **plain,
            what=what,
            earlier=f"\nThe earlier result: {quoted}" if quoted else "",
            options=self._remains(finding, remaining, plain),
        )
        return _short(text, self.max_length)

    def _remains(self, finding: Finding, remaining: Remaining, plain: Mapping[str, object]) -> str:
        if finding.tool == REPORT_BLOCKED:
            return _AFTER_REPORT
        own = {**_OPTIONS, **self.options}.get(finding.kind, _ANY_OPTION)
        options = [own.format(**plain, what="", earlier="", options="")]
        spent = {*remaining.exhausted, finding.tool, REPORT_BLOCKED, *remaining.ask_user}
        others = [name for name in remaining.tools if name not in spent]
        if others and self.max_tools:
            listed = ", ".join(f"`{_short(name, 80)}`" for name in others[: self.max_tools])
            options.append(f"use another tool ({listed}{', ...' if len(others) > self.max_tools else ''})")
        asking = [name for name in remaining.ask_user if name != finding.tool]
        options.append(f"ask a person with `{asking[0]}`" if asking else "ask a person")
        if REPORT_BLOCKED in remaining.tools:
            options.append(f"or call `{REPORT_BLOCKED}` with what you tried and what you need")
        return "; ".join(options)


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(0, limit - len(_CUT))] + _CUT


def _check(name: str, template: str) -> None:
    """Refuse a template that could fail, or grow without bound, when an agent is stuck."""
    require(name, template, str, "a text with fields in braces; leave it out to keep the built-in one")
    if len(template) > _TEMPLATE_LIMIT:
        raise SettingError(f"`{name}` is longer than {_TEMPLATE_LIMIT} characters", name=name)
    allowed = ", ".join(f"`{{{one}}}`" for one in sorted(_FIELDS))
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise SettingError(f"`{name}` is no template: {error}; write a brace as `{{{{`", name=name) from error
    for _, found, form, conversion in parts:
        if found is not None and (found not in _FIELDS or form or conversion):
            raise SettingError(f"`{name}` has an unknown field `{{{found}}}`, expected {allowed}", name=name)


def tools_of(names: Iterable[object]) -> tuple[str, ...]:
    """Names of tools, each once, in order."""
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str)))
