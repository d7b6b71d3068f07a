"""Counters are plain numbers with bounded attribute sets."""

from __future__ import annotations

import threading

from otel_loopguard import names
from otel_loopguard.emit import BUCKETS, COUNTERS, Counters

SERVER = ("loopguard.server.", "loopguard.queue.", "loopguard.last.")
"""Beginnings of the names that only the detector's server counts by."""
FORBIDDEN = {names.RUN_ID, names.FINGERPRINT, names.RESULT_FINGERPRINT, names.PROCESS_ID, names.FINDING_ID}


def test_counting() -> None:
    """A counter sums by its attributes, and a value that is not known is no attribute."""
    counters = Counters()
    counters.add(names.TOOL_CALLS, ("search", "researcher"))
    counters.add(names.TOOL_CALLS, ("search", "researcher"), 2)
    counters.add(names.TOOL_CALLS, ("search", ""))
    assert counters.read(names.TOOL_CALLS) == [
        (3, {"gen_ai.tool.name": "search", "gen_ai.agent.name": "researcher"}),
        (1, {"gen_ai.tool.name": "search"}),
    ]
    assert counters.total(names.TOOL_CALLS) == 4
    assert counters.read(names.ERRORS) == []


def test_attribute_sets_are_bounded() -> None:
    """Beyond the limit everything new counts under the specification's overflow attribute; known sets go on."""
    counters = Counters(limit=2)
    for tool in ("a", "b", "c", "d", "a"):
        counters.add(names.TOOL_CALLS, (tool, ""))
    assert counters.read(names.TOOL_CALLS) == [
        (2, {"gen_ai.tool.name": "a"}),
        (1, {"gen_ai.tool.name": "b"}),
        (2, {"otel.metric.overflow": True}),
    ]


def test_every_metric_of_the_registry_is_here() -> None:
    """Each counter and histogram but the server's has its attributes or buckets, none of them of high cardinality."""
    own = [name for name in names.METRICS if not name.name.startswith(SERVER)]
    assert set(COUNTERS) == {name.name for name in own if name.kind == "counter"}
    assert set(BUCKETS) == {name.name for name in own if name.kind == "histogram"}
    for keys in COUNTERS.values():
        assert FORBIDDEN.isdisjoint(keys)
    for bounds in BUCKETS.values():
        assert list(bounds) == sorted(set(bounds))


def test_threads_lose_no_count() -> None:
    """Counting from many threads loses nothing."""
    counters = Counters()

    def count() -> None:
        for _ in range(2000):
            counters.add(names.ERRORS, ("ValueError",))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters.total(names.ERRORS) == 8000


def test_reset_starts_at_nought() -> None:
    """A forked child counts its own."""
    counters = Counters()
    counters.add(names.ERRORS, ("ValueError",))
    counters.reset()
    assert counters.read(names.ERRORS) == []
