"""What workers send each other: everything reaches its owner, answers become one, and content is in none of it."""

from __future__ import annotations

import socket
import threading

import pytest

from otel_loopguard.runtimes import Arrival, Handover
from otel_loopguard.service.exchange import AWAY, GREETING, Exchange, Parcel
from otel_loopguard.service.intake import Accepted, Answer, Refused, Request
from otel_loopguard.service.joint import Joint
from otel_loopguard.service.journal import pack_parts, unpack_arrivals
from otel_loopguard.service.links import Links, pass_link, take_link
from otel_loopguard.service.partition import Share
from otel_loopguard.stream.trace import Span, placed
from tests.service.test_reading import reading
from tests.support.spans import annotated, raw, traces

FULL = Refused("overloaded", "full", 30.0)
WIRE = 1


class Waiting:
    """Keeps the answers that come."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def add(self, part: Answer) -> None:
        """One answer."""
        self.answers.append(part)


class Worker:
    """The first of two workers; the test is the other."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.now = 0.0
        self.exchange = Exchange(Share(0, 2), lambda _peer, _wire, frame: self.frames.append(frame), lambda: self.now)

    def other(self) -> Exchange:
        """What the other end makes of frames."""
        other = Exchange(Share(1, 2), lambda _peer, _wire, frame: self.frames.append(frame), lambda: 0.0)
        other.hear(0, WIRE, GREETING)
        return other

    def parcel(self) -> Parcel:
        """The last frame, as the other one gets it."""
        found = self.other().hear(0, WIRE, self.frames[-1])
        assert found is not None
        return found

    def answer(self, *answers: Answer) -> None:
        """Answer the last parcel."""
        self.other().reply(self.parcel(), answers)
        self.exchange.hear(1, WIRE, self.frames.pop())


def arrivals(*spans: object) -> list[Arrival]:
    """Spans as they come in."""
    body = traces(spans).SerializeToString()  # type: ignore[arg-type]
    return [Arrival("", span) for span in reading().read(Request("", "traces", is_json=False, body=body)).spans]


def handover(run: str, time: int) -> Handover:
    """A call whose run was found."""
    span = arrivals(annotated(run, 1))[0].item
    assert isinstance(span, Span)
    return Handover(time, "", next(placed([span])))


def run_of_other() -> str:
    """A run that the second of two workers has."""
    return next(f"run-{number}" for number in range(100) if Share(0, 2).owner("", f"run-{number}") == 1)


@pytest.mark.parametrize(
    ("parts", "answer"),
    [
        ([Accepted(), Accepted()], Accepted()),
        ([Accepted(2, "why"), Accepted()], Accepted(2, "why")),
        ([Accepted(), FULL], FULL),
        ([FULL, AWAY], Refused("unavailable", AWAY.message, 30.0)),
        ([AWAY, FULL, Accepted()], Refused("unavailable", AWAY.message, 30.0)),
    ],
)
def test_many_answers_become_one(parts: list[Answer], answer: Answer) -> None:
    """Accepted is what all accept; the worst refusal is told, with the longest wait, once the last has come."""
    told: list[Answer] = []
    joint = Joint(len(parts), told.append)
    for part in parts:
        assert told == []
        joint.add(part)
    assert told == [answer]


def test_a_part_is_kept_by_its_owner() -> None:
    """What is posted arrives as it was, and the answer comes back to who waits."""
    worker, waiting = Worker(), Waiting()
    worker.exchange.hear(1, WIRE, GREETING)
    assert worker.exchange.whole
    came = arrivals(annotated("run", 1), raw("run", 2, {"q": 1}, []))
    worker.exchange.post(1, came[:1], waiting)
    worker.exchange.post(1, came[1:], waiting)
    worker.exchange.flush()
    assert unpack_arrivals(pack_parts(worker.parcel().parts)) == came
    worker.answer(Accepted(), FULL)
    assert waiting.answers == [Accepted(), FULL]


def test_no_content_is_on_a_wire() -> None:
    """Arguments and results have ended before anything is sent."""
    worker = Worker()
    worker.exchange.hear(1, WIRE, GREETING)
    worker.exchange.post(1, arrivals(raw("run", 1, {"q": "canary"}, ["canary"])), Waiting())
    worker.exchange.hand_over([handover(run_of_other(), 5)])
    assert len(worker.frames) == 1
    assert b"search" in worker.frames[0]
    assert b"canary" not in worker.frames[0]


def test_a_worker_that_is_gone_keeps_nothing() -> None:
    """Before it says hello and after its wire has ended its parts are refused for now, those on their way too."""
    worker, waiting = Worker(), Waiting()
    one = arrivals(annotated("run", 1))
    worker.exchange.post(1, one, waiting)
    worker.exchange.flush()
    assert waiting.answers == [AWAY]
    worker.exchange.hear(1, WIRE, GREETING)
    worker.exchange.post(1, one, waiting)
    worker.exchange.flush()
    worker.exchange.hear(1, WIRE, None)
    assert waiting.answers == [AWAY, AWAY]
    assert not worker.exchange.whole


def test_an_old_wire_says_nothing_any_more() -> None:
    """Of two wires to a worker the newer counts, in whatever order their readers are heard."""
    exchange = Worker().exchange
    for wire, frame in ((2, GREETING), (1, GREETING), (1, None)):
        exchange.hear(1, wire, frame)
    assert exchange.whole
    exchange.hear(1, 2, None)
    assert not exchange.whole


def test_a_call_is_handed_over_until_it_has_arrived() -> None:
    """Refused, lost with a worker, sent again after a while; until then its time holds the journal back."""
    worker = Worker()
    worker.exchange.hand_over([handover(run_of_other(), 5)])
    assert (worker.frames, worker.exchange.open_since) == ([], 5)
    worker.exchange.hear(1, WIRE, GREETING)
    worker.exchange.hand_over([])
    assert worker.frames == []
    for answer in (FULL, Accepted()):
        worker.now += 1
        worker.exchange.hand_over([])
        assert worker.exchange.open_since == 5
        worker.answer(answer)
    assert worker.exchange.open_since is None


def test_wires_come_from_the_parent() -> None:
    """An end that is handed over carries frames in both directions; the other's end is told of."""
    heard: list[tuple[int, bytes | None]] = []
    changed = threading.Condition()

    def hear(peer: int, _: int, frame: bytes | None) -> None:
        with changed:
            heard.append((peer, frame))
            changed.notify_all()

    parent, child = socket.socketpair()
    ends = socket.socketpair()
    pass_link(parent, 7, ends[0])
    taken = take_link(child)
    assert taken is not None
    ends[0].close()
    links = Links(hear)
    links.attach(*taken, GREETING)
    with ends[1].makefile("rb") as stream:
        assert stream.read(4 + len(GREETING))[4:] == GREETING
    ends[1].sendall(len(GREETING).to_bytes(4, "big") + GREETING)
    ends[1].close()
    with changed:
        assert changed.wait_for(lambda: len(heard) == 2, timeout=60)
    assert heard == [(7, GREETING), (7, None)]
    parent.close()
    assert take_link(child) is None
    child.close()
