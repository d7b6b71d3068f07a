"""Detectors that share the runs, without processes: crashes of any of them at any moment, found by hypothesis."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_loopguard.runtimes import Limits
from otel_loopguard.service.intake import Accepted, Refused
from tests.service.test_detector import PROCESSES, undisturbed
from tests.service.test_workers import around, unnamed
from tests.support.cluster import Cluster
from tests.support.detecting import SECOND
from tests.support.spans import annotated, digits, traces

SPANS = [*PROCESSES, *unnamed("trace-1", 4), around("trace-1", "talk-1"), *unnamed("bare", 5)]
EXPECTED = undisturbed(SPANS)
LIMITS = Limits(lateness=10 * SECOND)


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[int], int, float, int | None, bool]]:
    """Requests: their spans, the worker that gets them, the seconds after them, and who crashes then, and how."""
    order = draw(st.permutations(range(len(SPANS))))
    again = draw(st.lists(st.sampled_from(range(len(SPANS))), max_size=8))
    spans = [*order, *again]
    cuts = sorted(draw(st.sets(st.integers(1, len(spans) - 1), min_size=2, max_size=7)))
    return [
        (
            spans[begin:end],
            draw(st.integers(0, 2)),
            draw(st.sampled_from([0.0, 0.1, 0.5])),
            draw(st.sampled_from([None, None, 0, 1, 2])),
            draw(st.booleans()),
        )
        for begin, end in zip([0, *cuts], [*cuts, len(spans)], strict=True)
    ]


@settings(max_examples=40)
@given(histories(), st.dictionaries(st.integers(3, 14), st.sets(st.integers(0, 2), min_size=1), max_size=4))
def test_crashes_of_workers_make_no_difference(
    requests: list[tuple[list[int], int, float, int | None, bool]], crashes: dict[int, set[int]]
) -> None:
    """Some or all crash while requests come or calls are handed on: no finding is lost or has another id."""
    with TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder), 3, LIMITS)
        for spans, worker, pause, crashed, on_its_way in requests:
            request = traces([SPANS[index] for index in spans])
            if crashed is None or not on_its_way:
                cluster.deliver(request, worker)
            else:
                cluster.workers[worker].send(request)  # its parts lie with their owners, unanswered
            if crashed is not None:
                cluster.crash({crashed})
                if on_its_way:
                    cluster.deliver(request, worker)
            cluster.wait(pause)
        for second in range(40):
            cluster.wait(1, crashes.get(second, ()))
        assert cluster.ids() == EXPECTED
        cluster.close()


def test_a_full_owner_refuses_its_part(tmp_path: Path) -> None:
    """A request whose runs lie with two workers is refused when one of them has no room, and may be sent again."""
    cluster = Cluster(tmp_path, 2, Limits(lateness=SECOND, idle=60 * SECOND, age=600 * SECOND, runs=1))
    runs: dict[int, list[str]] = {0: [], 1: []}
    for number in range(50):
        owner = cluster.workers[0].detector._exchange_of().share.owner("", f"run-{number}")
        runs[owner].append(f"run-{number}")
    assert cluster.send(traces([annotated(runs[1][0], 1)]), 0) == Accepted()
    both = traces([annotated(runs[0][0], 1), annotated(runs[1][1], 1)])
    for worker in (0, 1):
        assert cluster.send(both, worker) == Refused("overloaded", "no room for another run: the limit is 1 runs", 30.0)
    cluster.wait(70)
    assert cluster.send(both, 0) == Accepted()
    assert [len(one.runtime.roster) for one in cluster.workers] == [1, 1]
    cluster.close()


@pytest.mark.parametrize("worker", [0, 1])
def test_nothing_is_taken_in_while_a_worker_is_missing(tmp_path: Path, worker: int) -> None:
    """The others say at once that it is worth trying again in a second."""
    cluster = Cluster(tmp_path, 2, LIMITS)
    cluster.workers[worker].detector.hear(1 - worker, 1, None)
    cluster.settle()
    answer = cluster.send(traces([annotated("run", 1)]), worker)
    assert answer == Refused("unavailable", "a part of the detector is starting again", 1.0)
    cluster.close()


@pytest.mark.parametrize(
    "crashes", [[{0}], [{1}], [{0, 1}], [{1}, {0, 1}]], ids=["source", "owner", "both", "owner, then both"]
)
def test_a_call_that_is_handed_over_survives(tmp_path: Path, crashes: list[set[int]]) -> None:
    """Every second somebody crashes in the middle of what is sent: calls still come to the run that a span names."""
    cluster = Cluster(tmp_path, 2, LIMITS)
    share = cluster.workers[0].detector._exchange_of().share
    talk = next(name for name in map("talk-{}".format, range(50)) if share.owner("", name) == 1)
    trace = next(name for name in map("trace-{}".format, range(50)) if share.owner("", digits(name, 32)) == 0)
    others = [next(name for name in map("run-{}".format, range(50)) if share.owner("", name) == one) for one in (0, 1)]
    cluster.deliver(traces([*unnamed(trace, 3), around(trace, talk)]), 0)
    for second, crashing in zip(range(1, 24), cycle(crashes), strict=False):
        cluster.deliver(traces([annotated(other, second, key=str(second)) for other in others]), 0)
        cluster.wait(1, crashing)
    cluster.wait(40)
    assert {finding[:2] for one in cluster.workers for finding in one.findings()} == {(talk, "identical")}
    cluster.close()
