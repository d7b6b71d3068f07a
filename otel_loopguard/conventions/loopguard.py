"""Records that we annotated ourselves: an overlay of marks over what the instrumentation wrote.

Not a family of spans: a span's call is read by its family, and the marks replace what they know better. Alone it
reads the loop event of a call that left no span, and annotated spans whose other marks a filter took away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from otel_loopguard import names as own
from otel_loopguard.core.identifier import bounded

from ._decode import call_id_of, failure, name_of
from ._record import ContentKeys, Event, Marks, RawCall, Record, Role

__all__ = ["Loopguard"]

LARGEST_SEQUENCE: Final = 1 << 62
"""No process counts so far: a number beyond is not kept, because it could not be packed."""


class Loopguard:
    """The overlay."""

    name = "loopguard"
    content: ClassVar[ContentKeys] = ContentKeys()
    markers: ClassVar[frozenset[str]] = frozenset([own.RUN_ID, own.SEQUENCE, own.VERDICT, own.FINDING_SEQUENCE])
    names: tuple[str, ...] = (own.FINDING,)

    def read(self, record: Record) -> RawCall | None:
        """A call known by our marks alone: an annotated span, or a `loopguard.finding` log event."""
        attributes = record.attributes
        is_event = record.signal == "log"
        if is_event and (record.name or attributes.get("event.name")) != own.FINDING:
            return None
        if not is_event and own.SEQUENCE not in attributes and own.VERDICT not in attributes:
            return None
        failed = failure(record)
        return self.overlay(
            RawCall(
                family=self.name,
                tool=name_of(attributes.get(own.TOOL_NAME)) or "",
                call_id=call_id_of(attributes, (own.TOOL_CALL_ID,)),
                agent=name_of(attributes.get(own.AGENT_NAME)),
                is_error=failed.is_error,
                error_type=failed.error_type,
            ),
            record,
        )

    def role(self, record: Record) -> Role | None:
        """A span on which somebody put a run id."""
        run_id = name_of(record.attributes.get(own.RUN_ID))
        return None if run_id is None else Role("step", run_id=run_id)

    def overlay(self, call: RawCall, record: Record) -> RawCall:
        """The call with our marks laid over it."""
        attributes = record.attributes
        turn = attributes.get(own.TURN)
        turn = bounded(turn) if isinstance(turn, str) else turn
        marks = _marks(record)
        return call.changed(
            run_id=name_of(attributes.get(own.RUN_ID)) or call.run_id,
            turn=turn if isinstance(turn, int | str) and not isinstance(turn, bool) else call.turn,
            handoff_to=name_of(attributes.get(own.HANDOFF_AGENT)) or call.handoff_to,
            user_message=attributes.get(own.USER_MESSAGE) is True or call.user_message,
            marks=marks if marks != _NO_MARKS else None,
        )


_NO_MARKS: Final = Marks()


def _marks(record: Record) -> Marks:
    attributes = record.attributes
    is_event = record.signal == "log"
    sequence = _number(attributes, own.FINDING_SEQUENCE if is_event else own.SEQUENCE)
    here, elsewhere = _findings([Event(own.FINDING, attributes)] if is_event else record.events, sequence)
    verdict = name_of(attributes.get(own.VERDICT))
    kind = name_of(attributes.get(own.FINDING_KIND))
    if not is_event and kind is not None and verdict in ("nudge", "stop") and not here and not elsewhere:
        here.append((kind, verdict))  # where a filter took the span's events away
    return Marks(
        key_id=name_of(attributes.get(own.KEY_ID)) or "",
        fingerprint=name_of(attributes.get(own.FINGERPRINT)),
        result_fingerprint=name_of(attributes.get(own.RESULT_FINGERPRINT)),
        group_fingerprint=name_of(attributes.get(own.GROUP_FINGERPRINT)),
        error_fingerprint=name_of(attributes.get(own.ERROR_FINGERPRINT)),
        error_shape=name_of(attributes.get(own.ERROR_SHAPE)),
        state_fingerprint=name_of(attributes.get(own.STATE_FINGERPRINT)),
        outcome=name_of(attributes.get(own.OUTCOME)),
        verdict=verdict,
        sequence=sequence,
        process_id=name_of(attributes.get(own.PROCESS_ID)) or "",
        items_unseen=_number(attributes, own.ITEMS_UNSEEN),
        findings=tuple(here),
        findings_elsewhere=tuple(elsewhere),
        is_event=is_event,
    )


def _findings(
    events: Iterable[Event], sequence: int | None
) -> tuple[list[tuple[str, str]], list[tuple[str, str, int]]]:
    """Findings of the span's events: those that judge this call, and those that judge another one by its number."""
    here: list[tuple[str, str]] = []
    elsewhere: list[tuple[str, str, int]] = []
    for event in events:
        if event.name != own.FINDING:
            continue
        kind = name_of(event.attributes.get(own.FINDING_KIND))
        action = name_of(event.attributes.get(own.FINDING_ACTION))
        if kind is None or action is None:
            continue
        judged = _number(event.attributes, own.FINDING_SEQUENCE)
        if judged is None or sequence is None or judged == sequence:
            here.append((kind, action))
        else:
            elsewhere.append((kind, action, judged))
    return here, elsewhere


def _number(attributes: Mapping[str, object], key: str) -> int | None:
    value = attributes.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= LARGEST_SEQUENCE:
        return None
    return value
