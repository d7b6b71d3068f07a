"""One recorded call, as a history keeps it: small, keyed, without content.

Not the call itself: fingerprints are cut to tags here, and what names a call to the outside is the host's to know.
"""

from __future__ import annotations

import msgspec

from otel_loopguard.core.call import Category, OutcomeKind
from otel_loopguard.core.policy import ToolKind
from otel_loopguard.core.tag import print_of
from otel_loopguard.core.words import near

__all__ = ["Entry"]


class Entry(msgspec.Struct, gc=False, eq=False):
    """One recorded call: what it was, what came back, and what that meant when it came."""

    place: int
    """Of the call in its history, from 1."""
    turn: int
    """Number of the turn in its history, from 1."""
    tool: int
    """Tag of the tool's name."""
    kind: ToolKind
    key: int | None
    """64 bits; None where the arguments are not known."""
    salt: int
    """Of the fingerprint's key."""
    group: int | None
    """32 bits of the call without cursor and idempotency key."""
    outcome: OutcomeKind
    category: Category
    answer: int | None
    """What came back as 64 bits: equal for equal results; None where no result is known."""
    error: int | None
    """32 bits of the error's message key."""
    shape: int | None
    """32 bits of the shape of the error message, or of what says that a search had no hit."""
    words: tuple[int, ...]
    """Sketch of the arguments' words; dropped when newer calls have come."""
    word_count: int
    payload: bool
    thought: bool
    refusal: bool
    informative: bool
    stated: bool
    """The application's own state came with the call: it alone tells whether the turn brought anything."""
    handoff: bool
    advanced: bool = False
    """A declared value moved beyond its best, or the application's own state was never seen before."""
    news: bool = False
    """A first-time read with a result never seen before."""
    resets: bool = False
    """The call may have changed the world."""
    counts: bool = True
    """False for passing failures and missing results: transparent for repeats."""
    linked: bool = False
    """The call continues the streak of equal calls before it."""
    waits: bool = False
    """A declared poll within its budget."""
    fresh: bool = False
    """A result, or a state where one came along, that was never seen before."""
    approval: bool = False
    """The answer says that all is well, which is another answer for each thing that it approves; beside a refusal: it
    counts what is well and what is not."""
    stale: bool = False
    """The answer is that of the equal call just before, or tells nearly the same in other words."""
    goes_on: bool = False
    """The answer goes on from that of the equal call just before: it counts further, or is another page."""
    moved: bool = False
    """What the tool polls for, pages through or declares went on. Only of the newest call, as the next."""
    gist: int | None = None
    """32 bits of the answer without what it repeats of the call, where that leaves much of it."""
    times: int = 0
    """How often the run saw this call with this answer, this one included."""

    @property
    def succeeded(self) -> bool:
        """The call ran and something came back that is no error."""
        return self.outcome in ("ok", "empty", "noop")

    @property
    def teaches(self) -> bool:
        """A result never seen before, of a call that changes nothing: first made, or made again and moved on since."""
        return self.news or (
            self.fresh
            and self.succeeded
            and self.kind in ("read", "unknown")
            and self.answer is not None
            and not (self.linked or self.handoff or self.thought)
        )

    @property
    def moves(self) -> bool:
        """The run goes on with it: something new, or what may be a change, unless it shows what was seen before."""
        is_shown = self.informative and self.kind != "write" and not (self.approval or self.payload)
        return self.fresh or self.waits or (self.resets and not is_shown)

    @property
    def renewed(self) -> bool:
        """The application's own state came with the call, and was never seen before."""
        return self.stated and self.advanced and self.fresh

    @property
    def print(self) -> str | None:
        """The first 64 bits of the fingerprint, in hex."""
        return None if self.key is None else print_of(self.key, self.salt)

    def says_as(self, other: Entry) -> bool:
        """The same came back, but for what each answer repeats of its call."""
        return self.answer == other.answer or (self.gist is not None and self.gist == other.gist)

    def rewords(self, other: Entry) -> bool:
        """Another wording of the same call that brought the same answer: no news."""
        return (
            self.answer is not None
            and self.says_as(other)
            and self.tool == other.tool
            and self.kind != "write"
            and near(self.words, self.word_count, other.words, other.word_count)
        )
