"""A policy from its text, with where every value came from.

Not the file's keys (`policy_grammar`) nor their rules: this is the door to both. It gets text, never a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from otel_loopguard.core.policy import Policy
from otel_loopguard.errors import PolicyError

from .document import Path, Place, read_document
from .fold import Folded, fold
from .grammar import POLICY, WrittenPolicy
from .rules import contradictions
from .shape import Reading

__all__ = ["PolicyReading", "parse_policy", "read_policy"]


@dataclass(frozen=True, slots=True)
class PolicyReading:
    """A policy text, read: what it says, what holds, and what is wrong with it."""

    written: WrittenPolicy
    folded: Folded | None
    """None where there are problems."""
    problems: tuple[PolicyError, ...]
    """In the order in which they were found."""
    places: Mapping[Path, Place]
    """Line and column of every setting in the text."""

    def sound(self) -> Folded:
        """What holds; raises the first problem where there is one."""
        if self.folded is None:
            raise self.problems[0]
        return self.folded


def parse_policy(text: str) -> Policy:
    """The policy that a YAML (or JSON) text describes.

    Raises `PolicyError` for the first thing that is wrong, naming path, line, column and the way out.
    """
    return read_policy(text).sound().policy


def read_policy(text: str) -> PolicyReading:
    """Everything that a policy text says, all its problems included. Never raises."""
    reading = Reading()
    written: WrittenPolicy = {}
    folded: Folded | None = None
    try:
        written = cast("WrittenPolicy", POLICY.read(read_document(text), (), reading))
    except PolicyError as problem:
        reading.problems.append(problem)
    if not reading.problems:
        folded = fold(written)
        reading.problems.extend(contradictions(written, folded, reading))
    problems = tuple(reading.problems)
    return PolicyReading(written, None if problems else folded, problems, reading.places)
