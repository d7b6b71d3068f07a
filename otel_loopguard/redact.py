"""What leaves the process without content: which attributes, events and status a span must lose.

Not the writing: a host sets the constant on the live span, or on its copy of the record. Pure, and cheap where nothing
is to be removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal

from otel_loopguard.conventions import CONTENT, Event, Record, role
from otel_loopguard.names import REDACTED

__all__ = ["NOTHING", "STATUS_KEY", "ContentMode", "ExceptionMode", "Redaction", "redaction"]

ContentMode = Literal["redact", "redact_all", "keep"]
"""``redact``: arguments and results of tool calls; ``redact_all``: the messages of every span too."""
ExceptionMode = Literal["drop", "keep"]
"""Whether tool spans lose exception messages, stack traces and status descriptions; `redact_all` always drops them."""

STATUS_KEY: Final = "status.description"
"""How a removed status description is listed."""

# The two sets are no constants for the compiler: tests take single keys out and see what gets through.
_EXCEPTION_KEYS: frozenset[str] = frozenset(
    ["exception.message", "exception.stacktrace", "error.message", "otel.status_description"]
)
"""The exception's type stays: it names, and says nothing."""

_KEYS: frozenset[str] = CONTENT.tool | CONTENT.messages | CONTENT.events
"""Of attributes and events alike: some instrumentations write as an event what others write as an attribute."""
_PREFIXES: Final = (*CONTENT.tool_prefixes, *CONTENT.message_prefixes)


class Redaction:
    """What to remove from one span; never changed."""

    __slots__ = ("attributes", "drop_status", "events", "keys")

    def __init__(
        self,
        attributes: Mapping[str, str],
        events: tuple[Event, ...] | None = None,
        *,
        drop_status: bool = False,
        keys: tuple[str, ...] = (),
    ) -> None:
        self.attributes = attributes
        """The attributes to set, each to `[REDACTED]`."""
        self.events = events
        """All the span's events in their order, rewritten; None: they stay as they are."""
        self.drop_status = drop_status
        """The status description becomes `[REDACTED]`."""
        self.keys = keys
        """What is removed, sorted: attribute keys, ``<event name>/<key>`` for events, `status.description`."""


NOTHING: Final = Redaction({})
"""Nothing is to be removed."""


def redaction(
    record: Record, *, is_tool: bool, content: ContentMode, exceptions: ExceptionMode, is_incomplete: bool = False
) -> Redaction:
    """What the settings take from the span; ``is_incomplete`` says that it lost attributes to a limit.

    A tool span loses what any family keeps anywhere, whichever family read it: several often write on one span, and
    messages on a tool span hold its arguments. So does a span that holds a tool call's content and does not say what
    it is, for what said so may be missing, cut or evicted. Every other span loses what only a tool call has. What is
    redacted already is not listed again.
    """
    everything = content == "redact_all"
    of_content = content != "keep"
    of_exceptions = everything or exceptions != "keep"
    if is_tool or everything:
        taken = _taken(of_content=of_content, of_exceptions=of_exceptions)
    else:
        has_content = not CONTENT.only_tool.isdisjoint(record.attributes)
        is_doubtful = has_content or (is_incomplete and not CONTENT.tool.isdisjoint(record.attributes))
        if is_doubtful and role(record) is None:
            taken = _taken(of_content=of_content, of_exceptions=of_exceptions)
        elif of_content and (has_content or record.events):
            taken, of_exceptions = CONTENT.only_tool.__contains__, False
        else:
            return NOTHING
    attributes = record.attributes
    removal = _of_attributes(tuple(attributes), taken)
    if not record.events and not (of_exceptions and record.status_message) and REDACTED not in attributes.values():
        return removal
    keys = [key for key in removal.attributes if attributes[key] != REDACTED]
    events, listed = _events(record.events, taken) if record.events else (None, [])
    drop_status = of_exceptions and record.status_message not in ("", REDACTED)
    if drop_status:
        listed.append(STATUS_KEY)
    if not keys and not listed:
        return NOTHING
    named = sorted({*keys, *listed}) if listed else sorted(keys)
    return Redaction(dict.fromkeys(keys, REDACTED), events, drop_status=drop_status, keys=tuple(named))


@lru_cache(maxsize=1024)
def _of_attributes(keys: tuple[str, ...], taken: Callable[[str], bool]) -> Redaction:
    """The removal of those of a span's attributes that are taken, and of nothing else; instrumentations write few
    combinations of keys, so each is judged once.
    """
    removed = [key for key in keys if taken(key)]
    return Redaction(dict.fromkeys(removed, REDACTED), keys=tuple(sorted(removed))) if removed else NOTHING


def _taken(*, of_content: bool, of_exceptions: bool) -> Callable[[str], bool]:
    """The test of one key; instrumentations write few keys, so each is judged once."""
    if of_content:
        return _holds_any if of_exceptions else _holds_content
    return _EXCEPTION_KEYS.__contains__ if of_exceptions else _holds_nothing


@lru_cache(maxsize=4096)
def _holds_content(key: str) -> bool:
    return key in _KEYS or key.startswith(_PREFIXES)


@lru_cache(maxsize=4096)
def _holds_any(key: str) -> bool:
    return key in _EXCEPTION_KEYS or key in _KEYS or key.startswith(_PREFIXES)


def _holds_nothing(_key: str) -> bool:
    return False


def _events(events: Sequence[Event], taken: Callable[[str], bool]) -> tuple[tuple[Event, ...] | None, list[str]]:
    """The events with their content replaced and what was; None where none of them holds any."""
    rewritten: list[Event] = []
    listed: list[str] = []
    for event in events:
        removed = [key for key, value in event.attributes.items() if taken(key) and value != REDACTED]
        if removed:
            listed += [f"{event.name}/{key}" for key in removed]
            rewritten.append(Event(event.name, {**event.attributes, **dict.fromkeys(removed, REDACTED)}))
        else:
            rewritten.append(event)
    return (tuple(rewritten), listed) if listed else (None, listed)
