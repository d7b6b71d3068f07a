"""Word sketches: what near-equal means."""

from __future__ import annotations

import pytest

from otel_loopguard.core.words import near


@pytest.mark.parametrize(
    ("mine", "my_count", "other", "other_count"),
    [((), 40, (1, 2, 3, 4), 4), ((1, 2, 3, 4), 4, (), 40), ((), 40, (), 40), ((), 4, (), 4)],
)
def test_a_dropped_sketch_is_near_nothing(
    mine: tuple[int, ...], my_count: int, other: tuple[int, ...], other_count: int
) -> None:
    """Histories drop the sketches of older calls and keep their word counts: nothing is known of their words."""
    assert not near(mine, my_count, other, other_count)
