"""One call from several records: exported twice, seen by framework, client and server, unfinished and finished.

Not the order of calls (`order`), and not what the run's memory says about copies that come late (`run`): it judges
the records that it is given, the same whatever their order. Records are one call when they are

- one span: the same trace and span id;
- one number: the same sequence number of one process and agent, with compatible content;
- one call id within one turn of one process, or on one parent chain, with compatible content;
- nested: a tool span directly inside a tool span of the same tool, where not both have a call id and the arguments
  are equal or one has none (what an instrumented client does inside a framework's tool);
- alike in every respect that identifies a call, its start time included, where a record has neither span nor number.

What contradicts itself is a conflict: one span with two contents stays one call, two contents under one number or
call id are two calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final

from otel_loopguard.core.call import Turn
from otel_loopguard.stream.copies import (
    as_bytes,
    completed,
    contradict,
    differ,
    number_of,
    other_agents,
    preference,
    same_content,
    same_result,
    same_tool,
)
from otel_loopguard.stream.held import Held, Merged, Number, Question
from otel_loopguard.stream.record import CallRecord

__all__ = ["alone", "merge"]

_CHAIN: Final = 32
"""Enclosing tool spans that are followed; agents do not nest deeper, and records may name each other in a circle."""

_LATE: Final = 1 << 64
"""After every time stamp: where no time is known."""


def merge(held: Sequence[Held]) -> tuple[list[Merged], list[Question]]:
    """The calls that some records of one run tell of, and what is doubtful about them."""
    questions: list[Question] = []
    nodes = _by_span(held, questions)
    clusters = _Clusters(nodes)
    _by_number(clusters, questions)
    _by_nesting(clusters, questions)
    _by_call_id(clusters, questions)
    _by_likeness(clusters)
    _note_reuse(clusters, questions)
    return [_combined(members) for members in clusters.all()], questions


def alone(held: Held, number: Number | None) -> Merged:
    """The call of a record that has nothing in common with any other: what `merge` says of it.

    ``number`` is the record's own (`number_of`). It is no event's record, and its call began when it began.
    """
    record = held.record
    trace_id, span_id = record.trace_id, record.span_id
    around = record.enclosing_span_id or record.parent_span_id
    return Merged(
        record,
        held.arrived,
        held.index,
        (held.index,),
        held.copies,
        () if number is None else (number,),
        ((trace_id, span_id),) if span_id else (),
        ((trace_id, around),) if around and around != span_id else (),
        False,  # noqa: FBT003
        held.tags,
    )


# One span ---------------------------------------------------------------------------------------------------------


def _by_span(held: Sequence[Held], questions: list[Question]) -> list[Held]:
    """One node a span; records without a span are nodes of their own. Sorted, so that arrival does not matter."""
    spans: dict[tuple[str, str], list[Held]] = {}
    nodes: list[Held] = []
    for item in held:
        record = item.record
        if record.span_id and not record.is_event:
            spans.setdefault((record.trace_id, record.span_id), []).append(item)
        else:
            nodes.append(item)
    nodes.extend(copies[0] if len(copies) == 1 else _one_span(copies, questions) for copies in spans.values())
    return _sorted(nodes)


def _one_span(copies: list[Held], questions: list[Question]) -> Held:
    """The best copy of a span, completed from the others."""
    copies.sort(key=preference)
    best = copies[0].record
    for item in copies[1:]:
        other = item.record
        if contradict(best, other):
            questions.append(Question("conflict", best, item.index))
        best = completed(best, other)
    return Held(
        best,
        min(item.arrived for item in copies),
        min(item.index for item in copies),
        sum(item.copies for item in copies),
        tuple(item.index for item in copies),
    )


def _rank(item: Held) -> tuple[bool, int, int, str, str, str]:
    """The copy that tells what a call is first: the one that started first."""
    record = item.record
    return (
        record.is_event,
        _LATE if record.start_ns is None else record.start_ns,
        _LATE if record.sequence is None else record.sequence,
        record.trace_id,
        record.span_id,
        record.call.call_id or "",
    )


def _sorted(nodes: list[Held]) -> list[Held]:
    nodes.sort(key=_rank)
    if any(_rank(one) == _rank(other) for one, other in pairwise(nodes)):
        nodes.sort(key=lambda item: (_rank(item), as_bytes(item.record)))
    return nodes


# Several spans ----------------------------------------------------------------------------------------------------


class _Clusters:
    """Which nodes are one call so far."""

    def __init__(self, nodes: list[Held]) -> None:
        self.nodes = nodes
        self._of = [[index] for index in range(len(nodes))]

    def same(self, one: int, other: int) -> bool:
        """Whether two nodes are one call already."""
        return self._of[one] is self._of[other]

    def join(self, one: int, other: int) -> bool:
        """Make two nodes one call; False, and nothing done, where their contents contradict each other."""
        if self.same(one, other):
            return True
        mine, theirs = self._of[one], self._of[other]
        nodes = self.nodes
        if not all(same_content(nodes[left].record, nodes[right].record) for left in mine for right in theirs):
            return False
        mine.extend(theirs)
        for index in theirs:
            self._of[index] = mine
        return True

    def first(self, node: int) -> int:
        """What stands for the node's call: equal for all nodes of one call."""
        return min(self._of[node])

    def all(self) -> Iterator[list[Held]]:
        """The nodes of every call, the one that started first first."""
        for index, members in enumerate(self._of):
            if self.first(index) == index:
                yield [self.nodes[member] for member in sorted(members)]


def _by_number(clusters: _Clusters, questions: list[Question]) -> None:
    numbered: dict[tuple[str, str, int], list[int]] = {}
    for index, node in enumerate(clusters.nodes):
        number = number_of(node.record)
        if number is not None:
            numbered.setdefault((number.process_id, number.agent, number.sequence), []).append(index)
    for found in numbered.values():
        for one, other in combinations(found, 2):
            first, second = clusters.nodes[one].record, clusters.nodes[other].record
            if other_agents(first, second):
                continue
            alike = same_tool(first, second) and (
                bool(first.process_id) or not differ(first.call.call_id, second.call.call_id)
            )
            if not (alike and clusters.join(one, other)) or _results_differ(first, second):
                questions.append(Question("conflict", second, clusters.nodes[other].index))


def _results_differ(one: CallRecord, other: CallRecord) -> bool:
    """Whether two records of one number have two results; layers of a call, each with its span, may word it anew."""
    return not (one.span_id and other.span_id) and not (one.is_event or other.is_event) and not same_result(one, other)


def _by_nesting(clusters: _Clusters, questions: list[Question]) -> None:
    spans = {
        (node.record.trace_id, node.record.span_id): index
        for index, node in enumerate(clusters.nodes)
        if node.record.span_id and not node.record.is_event
    }
    for index, node in enumerate(clusters.nodes):
        inner = node.record
        outer_index = _around(inner, spans)
        own = True
        for _ in range(_CHAIN):
            if outer_index is None or outer_index == index:
                break
            outer = clusters.nodes[outer_index].record
            if inner.call.call_id is not None and inner.call.call_id == outer.call.call_id:
                _join_by_id(clusters, index, outer_index, questions, nested=True)
                break
            if own and inner.call.tool == outer.call.tool and None in (inner.call.call_id, outer.call.call_id):
                clusters.join(index, outer_index)
            own = own and clusters.same(index, outer_index)
            outer_index = _around(outer, spans)


def _around(record: CallRecord, spans: Mapping[tuple[str, str], int]) -> int | None:
    """The tool span around a call that may be the same call."""
    if record.delegated or record.is_event:
        return None
    return spans.get((record.trace_id, record.enclosing_span_id or record.parent_span_id))


def _by_call_id(clusters: _Clusters, questions: list[Question]) -> None:
    turns: dict[tuple[str, str, Turn], list[int]] = {}
    for index, node in enumerate(clusters.nodes):
        call = node.record.call
        if call.call_id is not None and call.turn is not None and not node.record.is_event:
            turns.setdefault((node.record.process_id, call.call_id, call.turn), []).append(index)
    for found in turns.values():
        for one, other in combinations(found, 2):
            if not other_agents(clusters.nodes[one].record, clusters.nodes[other].record):
                _join_by_id(clusters, one, other, questions, nested=False)


def _join_by_id(clusters: _Clusters, one: int, other: int, questions: list[Question], *, nested: bool) -> None:
    """One call id on two records: one call, a contradiction, or an id that was used again in another turn."""
    first, second = clusters.nodes[one].record, clusters.nodes[other].record
    if clusters.same(one, other) or differ(first.call.turn, second.call.turn):
        return
    # Layers name a tool in their own ways (`plugin-search`, `search`); where one lacks the arguments, the id decides.
    alike = same_tool(first, second) or (nested and None in (first.call.fingerprint, second.call.fingerprint))
    if not (alike and clusters.join(one, other)):
        questions.append(Question("conflict", second, clusters.nodes[other].index))


def _note_reuse(clusters: _Clusters, questions: list[Question]) -> None:
    """Say once for each call id that it stands for several calls, unless they contradict each other anyway."""
    clashing = {question.record.call.call_id for question in questions}
    seen: dict[tuple[str, str, str], int] = {}
    noted: set[tuple[str, str, str]] = set()
    for index, node in enumerate(clusters.nodes):
        record = node.record
        if record.call.call_id is None or record.call.call_id in clashing or record.is_event:
            continue
        key = (record.process_id, record.agent, record.call.call_id)
        first = seen.setdefault(key, index)
        if key not in noted and not clusters.same(first, index):
            noted.add(key)
            questions.append(Question("call_id", record, node.index))


def _by_likeness(clusters: _Clusters) -> None:
    """Records without span and number: the same call id, tool, arguments and start make copies of one call."""
    seen: dict[tuple[object, ...], int] = {}
    for index, node in enumerate(clusters.nodes):
        record = node.record
        if record.span_id or record.sequence is not None or record.start_ns is None or record.is_event:
            continue
        call = record.call
        key = (record.process_id, call.call_id, call.turn, call.tool, call.fingerprint, call.key_id, record.start_ns)
        first = seen.setdefault(key, index)
        if first != index and _copies_agree(clusters.nodes[first].record, record):
            clusters.join(first, index)


def _copies_agree(one: CallRecord, other: CallRecord) -> bool:
    return (
        not other_agents(one, other)
        and not differ(one.end_ns, other.end_ns)
        and same_result(one, other)
        and (one.call.fingerprint is not None or one.call.call_id is not None)
    )


def _combined(members: list[Held]) -> Merged:
    best = members[0].record
    for item in members[1:]:
        best = completed(best, item.record)
    numbers = {(number.process_id, number.agent, number.sequence): number for number in _numbers(members)}
    spans = tuple((item.record.trace_id, item.record.span_id) for item in members if item.record.span_id)
    around = (
        (item.record.trace_id, item.record.enclosing_span_id or item.record.parent_span_id)
        for item in members
        if not item.record.is_event
    )
    if best.call.start_ns != best.start_ns:
        best = best.changed(call=best.call.changed(start_ns=best.start_ns))
    return Merged(
        best,
        min(item.arrived for item in members),
        min(item.index for item in members),
        tuple(index for item in members for index in item.indexes or (item.index,)),
        sum(item.copies for item in members if not item.record.is_event),
        tuple(sorted(numbers.values(), key=lambda number: (number.process_id, number.agent, number.sequence))),
        spans,
        tuple(span for span in around if span[1] and span not in spans),
        heard=best.is_event,
    )


def _numbers(members: list[Held]) -> Iterator[Number]:
    for item in reversed(members):  # the earliest copy's times stand
        number = number_of(item.record)
        if number is not None:
            yield number
