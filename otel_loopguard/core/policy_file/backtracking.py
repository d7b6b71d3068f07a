r"""Whether a search for a regular expression can take very long: it would hold up the agent whose results it reads.

Rule: the pattern becomes the graph of its characters, with an edge for each way in which one can follow another, behind
a loop of any characters for the place at which a search begins. Where a text can lead from one place back to the same
place in two ways, each further copy of it doubles the work of a search that fails: ``(a+)+``, ``(\w+\s?)*``. Where
it keeps a search in one loop, moves it from there to another and keeps it in that one as well, the work grows with one
power more of the text's length: ``a.*b`` may take the square, ``.*a.*b`` the cube, which is too much (Weber and Seidl,
1991, on the degree of ambiguity).

Not an exact bound: repeats of more than a few times count as endless, and what stands in a look-around is judged by
itself.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined]  # the compiler checks with the running Python's rules
else:
    import sre_parse as parser

__all__ = ["slowness"]

_MOST_STEPS: Final = 50_000
"""Pairs of places that are looked at; a pattern that needs more is taken for a slow one."""
_MOVES_AT_MOST: Final = 1
_FEW: Final = 16
_MANY: Final = 4
"""Ways that are counted: more than one is too many already."""
_OTHERS: Final = "\u00e9\u00df\u0130\u0661\u00b7\u2028\u4e2d\U0001f4a1"
"""Characters beyond ASCII that stand for their kinds: letters, digits, signs, blanks."""
_AT_BEGINNING: Final = ("AT_BEGINNING", "AT_BEGINNING_STRING")
_KINDS: Final[dict[str, Callable[[str], bool]]] = {
    "DIGIT": str.isdecimal, "SPACE": str.isspace, "WORD": lambda letter: letter.isalnum() or letter == "_",
    "LINEBREAK": lambda letter: letter == "\n",
}  # fmt: skip


_Pairs = dict[tuple[int, int], list[tuple[int, int]]]


@dataclass(slots=True)
class _Part:
    """A piece of a pattern: the places at which it can begin and end, and in how many ways it can be empty."""

    first: Counter[int] = field(default_factory=Counter)
    """How many ways there are to each."""
    last: Counter[int] = field(default_factory=Counter)
    empty: int = 1


def _times(ways: Counter[int], by: int) -> Counter[int]:
    return Counter({place: min(_MANY, count * by) for place, count in ways.items()}) if by else Counter()


class _TooMuchError(Exception):
    """The pattern has more ways than anyone looks at."""


class _Graph:
    """The characters of a pattern by place, and how they follow each other."""

    def __init__(self, letters: Iterable[str], flags: int) -> None:
        self._letters = sorted(letters)
        self._flags = flags
        self.held: list[frozenset[str]] = []
        """Of each place, the characters that fit."""
        self.follow: list[Counter[int]] = []
        self._depth = self._repeats = 0
        self._steps = 0
        self.apart: list[object] = []
        """Pieces in look-arounds, to be judged by themselves."""

    def search(self, pattern: list[tuple[Any, Any]]) -> None:
        """Add a whole pattern, with what a search passes over before it."""
        before = _Part()
        if not pattern or str(pattern[0][1]) not in _AT_BEGINNING or self._flags & re.MULTILINE:
            before = self._again(self._place(frozenset(self._letters)), optional=True, often=True)
        self._then(before, self._part(pattern))

    def spend(self, steps: int) -> None:
        """Count what is looked at; raises where that is too much."""
        self._steps += steps
        if self._steps > _MOST_STEPS:
            raise _TooMuchError

    def meets(self) -> list[set[int]]:
        """Of each place, the places that a character of its own can lead to as well."""
        places = range(len(self.held))
        return [{other for other in places if not self.held[place].isdisjoint(self.held[other])} for place in places]

    def _part(self, pattern: Iterable[tuple[Any, Any]]) -> _Part:
        whole = _Part()
        for op, value in pattern:
            whole = self._then(whole, self._one(str(op), value))
        return whole

    def _one(self, op: str, value: Any) -> _Part:  # noqa: ANN401 - whatever the parser of `re` makes
        if op in ("LITERAL", "NOT_LITERAL", "ANY", "IN", "RANGE", "CATEGORY"):
            return self._place(frozenset(letter for letter in self._letters if self._fits(op, value, letter)))
        if op == "BRANCH":
            return self._either([self._part(branch) for branch in value[1]])
        if op == "SUBPATTERN":
            return self._part(value[3])
        if op == "ATOMIC_GROUP":
            return self._part(value)
        if op in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            low, high, inner = value
            return self._repeat(inner, optional=low == 0, high=high)
        if op in ("ASSERT", "ASSERT_NOT"):
            self.apart.append(value[1])
        elif op == "GROUPREF_EXISTS":
            return self._either([self._part(branch) if branch is not None else _Part() for branch in value[1:]])
        elif op == "GROUPREF":
            return self._place(frozenset(self._letters))
        return _Part()

    def _repeat(self, inner: Iterable[tuple[Any, Any]], *, optional: bool, high: int) -> _Part:
        """A few times at most is as good as once, unless there are repeats in the repeat."""
        alone = not self._depth
        self._depth += 1
        before = self._repeats
        part = self._part(inner)
        self._depth -= 1
        alone = alone and self._repeats == before
        self._repeats += high > 1
        return self._again(part, optional=optional, often=high > (_FEW if alone else 1))

    def _place(self, held: frozenset[str]) -> _Part:
        self.held.append(held)
        self.follow.append(Counter())
        here = len(self.held) - 1
        return _Part(Counter([here]), Counter([here]), empty=0)

    def _then(self, one: _Part, other: _Part) -> _Part:
        self._link(one.last, other.first)
        first = one.first + _times(other.first, one.empty)
        last = other.last + _times(one.last, other.empty)
        return _Part(first, last, min(_MANY, one.empty * other.empty))

    def _either(self, parts: list[_Part]) -> _Part:
        first: Counter[int] = Counter()
        last: Counter[int] = Counter()
        for part in parts:
            first, last = first + part.first, last + part.last
        return _Part(first, last, min(_MANY, sum(part.empty for part in parts)))

    def _again(self, part: _Part, *, optional: bool, often: bool) -> _Part:
        if often:
            self._link(part.last, part.first)
        return _Part(part.first, part.last, min(_MANY, part.empty + optional))

    def _link(self, last: Counter[int], first: Counter[int]) -> None:
        for place, ways in last.items():
            for following, more in first.items():
                self.follow[place][following] += ways * more

    def _fits(self, op: str, value: Any, letter: str) -> bool:  # noqa: ANN401
        if op == "ANY":
            return letter != "\n" or bool(self._flags & re.DOTALL)
        if op == "IN":
            items = [(str(kind), held) for kind, held in value]
            negated = items[:1] == [("NEGATE", None)]
            return any(self._fits(kind, held, letter) for kind, held in items if kind != "NEGATE") is not negated
        if op == "CATEGORY":
            _, _, name = str(value).partition("CATEGORY_")
            kind = _KINDS[name.removeprefix("NOT_").removeprefix("UNI_")]
            return kind(letter) is not name.startswith("NOT_")
        cases = {letter, letter.lower(), letter.upper()} if self._flags & re.IGNORECASE else {letter}
        codes = [ord(one) for one in cases if len(one) == 1]
        if op == "RANGE":
            return any(value[0] <= code <= value[1] for code in codes)
        return (value in codes) is (op == "LITERAL")


def slowness(pattern: str) -> Literal["exponential", "cubic", "unknown"] | None:
    """How the time of a search may grow with the text, for a pattern that `re` can compile; None: slowly enough.

    ``unknown``: the pattern has more repeats and choices than anyone looks at.
    """
    parsed = parser.parse(pattern)
    waiting: list[Any] = [parsed]
    letters = {chr(code) for code in range(128)} | set(_OTHERS) | set(pattern)
    while waiting:
        graph = _Graph(letters, parsed.state.flags)
        graph.search(list(waiting.pop()))
        try:
            if _is_ambiguous(graph):
                return "exponential"
            if _moves(graph) > _MOVES_AT_MOST:
                return "cubic"
        except _TooMuchError:
            return "unknown"
        waiting.extend(graph.apart)
    return None


def _pairs(graph: _Graph) -> _Pairs:
    """The pairs of places that one text can lead to from one place, each with those that follow it."""
    meets = graph.meets()
    pairs: _Pairs = {}
    waiting = [(place, place) for place in range(len(graph.held)) if graph.held[place]]
    while waiting:
        pair = waiting.pop()
        if pair in pairs:
            continue
        following = pairs[pair] = []
        for one in graph.follow[pair[0]]:
            graph.spend(len(graph.follow[pair[1]]))
            following.extend((one, other) for other in graph.follow[pair[1]] if other in meets[one])
        waiting.extend(following)
    return pairs


def _is_ambiguous(graph: _Graph) -> bool:
    """Whether a text leads from a place back to itself in two ways."""
    pairs = _pairs(graph)
    for round_trip in _components(pairs):
        same = [place for place, other in round_trip if place == other]
        if same and len(same) < len(round_trip):
            return True
        for place in same:
            if any(graph.follow[place][other] > 1 for other in same if (other, other) in pairs[place, place]):
                return True
    return False


def _moves(graph: _Graph) -> int:
    """The most loops, less one, that one search may be kept in one after the other by texts of one kind."""
    loops = [place for place in range(len(graph.held)) if _reaches(graph, place, place)]
    moves = {one: [two for two in loops if two != one and _moves_on(graph, one, two)] for one in loops}

    def longest(place: int, left: int) -> int:
        return max((1 + longest(two, left - 1) for two in moves[place]), default=0) if left else 0

    return max((longest(place, _MOVES_AT_MOST + 1) for place in loops), default=0)


def _reaches(graph: _Graph, start: int, goal: int) -> bool:
    seen: set[int] = set()
    waiting = list(graph.follow[start])
    while waiting:
        place = waiting.pop()
        if place == goal:
            return True
        if place not in seen:
            graph.spend(1)
            seen.add(place)
            waiting.extend(graph.follow[place])
    return False


def _moves_on(graph: _Graph, one: int, two: int) -> bool:
    """Whether a text leads from ``one`` to itself, from ``one`` to ``two`` and from ``two`` to itself."""
    if not graph.held[one] & graph.held[two] or not _reaches(graph, one, two):
        return False
    seen: set[tuple[int, int, int]] = set()
    waiting = [(one, one, two)]
    while waiting:
        first, second, third = waiting.pop()
        for a in graph.follow[first]:
            for b in graph.follow[second]:
                common = graph.held[a] & graph.held[b]
                graph.spend(1 + (len(graph.follow[third]) if common else 0))
                for c in graph.follow[third] if common else ():
                    triple = (a, b, c)
                    if triple in seen or not common & graph.held[c]:
                        continue
                    if triple == (one, two, two):
                        return True
                    seen.add(triple)
                    waiting.append(triple)
    return False


def _components(pairs: _Pairs) -> Iterator[list[tuple[int, int]]]:
    """Pairs that lead to each other, told by searches forth and back (Kosaraju and Sharir)."""
    back: _Pairs = {pair: [] for pair in pairs}
    for pair, following in pairs.items():
        for one in following:
            back[one].append(pair)
    taken: set[tuple[int, int]] = set()
    for root in _last_left(pairs):
        component: list[tuple[int, int]] = []
        waiting = [root]
        while waiting:
            pair = waiting.pop()
            if pair not in taken:
                taken.add(pair)
                component.append(pair)
                waiting.extend(back[pair])
        if component:
            yield component


def _last_left(pairs: _Pairs) -> list[tuple[int, int]]:
    """The pairs in the order in which a depth-first search leaves them, the last one first."""
    order: list[tuple[int, int]] = []
    seen: set[tuple[int, int]] = set()
    for root in pairs:
        path = [] if root in seen else [(root, iter(pairs[root]))]
        seen.add(root)
        while path:
            pair, rest = path[-1]
            ahead = next((one for one in rest if one not in seen), None)
            if ahead is None:
                order.append(pair)
                path.pop()
            else:
                seen.add(ahead)
                path.append((ahead, iter(pairs[ahead])))
    return order[::-1]
