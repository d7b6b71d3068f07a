"""What every set of rules said about every corpus.

Not a score: right and wrong are told from labels, by `_scores`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from _corpora import Corpus
from _scores import Judged

__all__ = ["Results"]


@dataclass
class Results:
    """What every set of rules said about every corpus."""

    corpora: list[Corpus] = field(default_factory=list)
    ours: dict[str, list[Judged]] = field(default_factory=dict)
    """By corpus."""
    plain: dict[str, dict[str, list[Judged]]] = field(default_factory=dict)
    """By rule and corpus."""
    ablated: dict[str, dict[str, list[Judged]]] = field(default_factory=dict)
    """By the part that is off and corpus."""

    chance: dict[str, int] = field(default_factory=dict)
    """By corpus: runs that are flagged under one key and not under another."""

    def of_all(self, judged: Mapping[str, list[Judged]]) -> list[Judged]:
        """One set of rules over all corpora."""
        return [one for name in judged for one in judged[name]]

    @property
    def kinds(self) -> list[str]:
        """The kinds that were found, most often first."""
        seen = [kind for one in self.of_all(self.ours) for kind in one.heard.kinds]
        return sorted(dict.fromkeys(seen), key=lambda kind: (-seen.count(kind), kind))
