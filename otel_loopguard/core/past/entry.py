"""One recorded call, as a history keeps it: small, keyed, without content.

Not the call itself: fingerprints are cut to tags here, and what names a call to the outside is the host's to know. It
is a plain class and no struct, as all that the rules look at in loops: compiled code reads its fields ten times faster.
"""

from __future__ import annotations

from otel_loopguard.core.call import Category, OutcomeKind
from otel_loopguard.core.compiled import mypyc_attr
from otel_loopguard.core.policy import ToolKind
from otel_loopguard.core.tag import print_of
from otel_loopguard.core.words import near

__all__ = ["Entry"]


@mypyc_attr(acyclic=True)
class Entry:
    """One recorded call: what it was, what came back, and what that meant when it came."""

    __slots__ = (
        "advanced", "answer", "approval", "category", "counts", "error", "fresh", "gist", "goes_on", "group",
        "handoff", "informative", "key", "kind", "linked", "moved", "news", "outcome", "payload", "place",
        "refusal", "resets", "salt", "shape", "stale", "stated", "thought", "times", "tool", "turn", "waits",
        "word_count", "words",
    )  # fmt: skip

    def __init__(
        self,
        place: int,
        turn: int,
        tool: int,
        kind: ToolKind,
        key: int | None,
        salt: int,
        group: int | None,
        outcome: OutcomeKind,
        category: Category,
        answer: int | None,
        error: int | None,
        shape: int | None,
        words: tuple[int, ...],
        word_count: int,
        payload: bool,
        thought: bool,
        refusal: bool,
        informative: bool,
        stated: bool,
        handoff: bool,
        advanced: bool = False,
        news: bool = False,
        resets: bool = False,
        counts: bool = True,
        linked: bool = False,
        waits: bool = False,
        fresh: bool = False,
        approval: bool = False,
        stale: bool = False,
        goes_on: bool = False,
        moved: bool = False,
        gist: int | None = None,
        times: int = 0,
    ) -> None:
        self.place = place
        """Of the call in its history, from 1."""
        self.turn = turn
        """Number of the turn in its history, from 1."""
        self.tool = tool
        """Tag of the tool's name."""
        self.kind = kind
        self.key = key
        """64 bits; None where the arguments are not known."""
        self.salt = salt
        """Of the fingerprint's key."""
        self.group = group
        """32 bits of the call without cursor and idempotency key."""
        self.outcome = outcome
        self.category = category
        self.answer = answer
        """What came back as 64 bits: equal for equal results; None where no result is known."""
        self.error = error
        """32 bits of the error's message key."""
        self.shape = shape
        """32 bits of the shape of the error message, or of what says that a search had no hit."""
        self.words = words
        """Sketch of the arguments' words; dropped when newer calls have come."""
        self.word_count = word_count
        self.payload = payload
        self.thought = thought
        self.refusal = refusal
        self.informative = informative
        self.stated = stated
        """The application's own state came with the call: it alone tells whether the turn brought anything."""
        self.handoff = handoff
        self.advanced = advanced
        """A declared value moved beyond its best, or the application's own state was never seen before."""
        self.news = news
        """A first-time read with a result never seen before."""
        self.resets = resets
        """The call may have changed the world."""
        self.counts = counts
        """False for passing failures and missing results: transparent for repeats."""
        self.linked = linked
        """The call continues the streak of equal calls before it."""
        self.waits = waits
        """A declared poll within its budget."""
        self.fresh = fresh
        """A result, or a state where one came along, that was never seen before."""
        self.approval = approval
        """The answer says that all is well, which is another answer for each thing that it approves; beside a refusal:
        it counts what is well and what is not."""
        self.stale = stale
        """The answer is that of the equal call just before, or tells nearly the same in other words."""
        self.goes_on = goes_on
        """The answer goes on from that of the equal call just before: it counts further, or is another page."""
        self.moved = moved
        """What the tool polls for, pages through or declares went on. Only of the newest call, as the next."""
        self.gist = gist
        """32 bits of the answer without what it repeats of the call, where that leaves much of it."""
        self.times = times
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
