"""The detectors, in the order in which they speak at equal strength."""

from ._base import LASTING, After, Before, Detector, Judged, Moment, TurnOver
from .ask_again import AskAgain
from .cycle import Cycle
from .drift import Drift
from .handoff import Handoff
from .identical import Identical
from .no_progress import NoProgress
from .page import Page
from .parallel_duplicate import ParallelDuplicate
from .poll import Poll
from .same_error import SameError
from .unknown_tool import UnknownTool
from .write import Write

__all__ = ["DETECTORS", "LASTING", "After", "Before", "Detector", "Judged", "Moment", "TurnOver"]

DETECTORS: tuple[Detector, ...] = (
    Write(), Poll(), Page(), UnknownTool(), AskAgain(), Handoff(), Identical(), Cycle(), SameError(), Drift(),
    NoProgress(), ParallelDuplicate(),
)  # fmt: skip
"""The narrower a rule, the earlier it speaks: a declared budget says more than a repetition."""
