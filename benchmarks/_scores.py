"""How what rules said compares with what is known of the runs.

Not a verdict on a source of labels: each is counted by itself, and what it is worth is said beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple

from _corpora import Run
from _rulesets import Heard

__all__ = ["ONE_SIDED", "Judged", "Score", "by_kind", "found", "score"]

ONE_SIDED: Final = {
    "seen: loop": ("seen", True, False),
    "seen: none": ("seen", False, False),
    "solved": ("solved", False, False),
    "equal thrice": ("equal", True, False),
    "noted": ("noted", True, True),
    "not noted": ("noted", False, True),
    "opinion: loop": ("opinion", True, False),
    "opinion: none": ("opinion", False, False),
}
"""Labels that tell one side, or little: source, label, and whether it is one of a whole trace with all its runs."""


class Judged(NamedTuple):
    """A run and what was said about it."""

    run: Run
    heard: Heard

    @property
    def is_flagged(self) -> bool:
        """Whether anything was said."""
        return self.heard.first is not None


@dataclass(frozen=True)
class Score:
    """Counts over some runs, and what follows from those of them that have a full label (a loop, or none)."""

    runs: int
    flagged: int
    stopped: int
    loops: int
    """Labelled so."""
    clean: int
    hits: int
    """Loops that were flagged."""
    false: int
    """Clean runs that were flagged."""
    false_stops: int
    calls: float | None
    """Median number of calls until a loop was found."""

    @property
    def precision(self) -> float | None:
        """Share of loops among the labelled runs that were flagged."""
        return self.hits / (self.hits + self.false) if self.hits + self.false else None

    @property
    def recall(self) -> float | None:
        """Share of the labelled loops that were flagged."""
        return self.hits / self.loops if self.loops else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of both."""
        return 2 * self.hits / (self.loops + self.hits + self.false) if self.loops else None

    def as_object(self) -> dict[str, object]:
        """For JSON, shares with four places."""
        shares = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {
            "runs": self.runs, "flagged": self.flagged, "stopped": self.stopped, "loops": self.loops,
            "clean": self.clean, "hits": self.hits, "false": self.false, "false_stops": self.false_stops,
            "calls_to_detection": self.calls,
            **{name: None if share is None else round(share, 4) for name, share in shares.items()},
        }  # fmt: skip


def score(judged: Iterable[Judged]) -> Score:
    """The score over runs that are labelled by reading, or by a label file, or not at all."""
    all_of_them = list(judged)
    full = [(one, _label(one.run)) for one in all_of_them]
    loops = [one for one, label in full if label is True]
    clean = [one for one, label in full if label is False]
    hits = [one.heard.first for one in loops if one.heard.first is not None]
    return Score(
        runs=len(all_of_them),
        flagged=sum(one.is_flagged for one in all_of_them),
        stopped=sum(one.heard.stop is not None for one in all_of_them),
        loops=len(loops),
        clean=len(clean),
        hits=len(hits),
        false=sum(one.is_flagged for one in clean),
        false_stops=sum(one.heard.stop is not None for one in clean),
        calls=median(hits) if hits else None,
    )


def _label(run: Run) -> bool | None:
    return run.labels.get("given", run.labels.get("read"))


def by_kind(judged: Sequence[Judged], kind: str) -> Score:
    """The score of the findings of one kind alone."""
    return score(Judged(one.run, one.heard if kind in one.heard.kinds else Heard()) for one in judged)


def found(judged: Iterable[Judged], source: str, *, label: bool, grouped: bool = False) -> tuple[int, int, int]:
    """Of the runs, or traces that they are parts of, to which a source gives this label: flagged, stopped, all."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        if one.run.labels.get(source) is label:
            groups.setdefault(one.run.group if grouped else one.run.id, []).append(one)
    flagged = sum(any(one.is_flagged for one in group) for group in groups.values())
    stopped = sum(any(one.heard.stop is not None for one in group) for group in groups.values())
    return flagged, stopped, len(groups)
