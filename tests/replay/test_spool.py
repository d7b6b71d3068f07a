"""Items wait in groups, in memory and beyond it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_loopguard.replay.spool import Spool


@given(
    st.lists(st.tuples(st.sampled_from("abcde"), st.binary(max_size=40)), max_size=60),
    st.sampled_from([1, 100, 1000, 1 << 20]),
)
def test_every_group_comes_back_whole_and_in_order(items: list[tuple[str, bytes]], limit: int) -> None:
    """Groups come in the order in which they first came, items in the order in which they were added."""
    spool = Spool(limit)
    wanted: dict[str, list[bytes]] = {}
    for group, item in items:
        spool.add(group, item)
        wanted.setdefault(group, []).append(item)
    assert {group: spool.take(group) for group in spool.groups()} == wanted
    assert list(wanted) == list(dict.fromkeys(group for group, _ in items))
    assert len(spool) == 0
    spool.close()


@pytest.mark.parametrize(("limit", "spilled"), [(10_000, True), (100_000, False)])
def test_memory_is_bounded(limit: int, spilled: bool) -> None:  # noqa: FBT001
    """Beyond the limit a temporary file takes what waits, below it none is made."""
    spool = Spool(limit)
    for number in range(500):
        spool.add(f"group {number % 7}", bytes(100))
    assert spool.spilled == spilled
    assert sum(len(spool.take(group)) for group in spool.groups()) == 500
    spool.close()


def test_a_group_may_be_filled_while_others_are_taken() -> None:
    """Taking one group does not disturb what is added to another spool or group."""
    spool = Spool(100)
    for number in range(20):
        spool.add("a" if number % 2 else "b", bytes([number]) * 30)
    assert [item[0] for item in spool.take("b")] == list(range(0, 20, 2))
    spool.add("a", b"last")
    assert [item[:1] for item in spool.take("a")] == [bytes([n]) for n in range(1, 20, 2)] + [b"l"]
    spool.close()
