"""Guards: they refuse a pointless tool call before it is dispatched. One file for each agent framework.

Importing this package imports no framework; each adapter is imported by its own name.
"""

from ._answer import Allow, Call, Nudge, Refuse, with_words
from ._checkpoint import BLOCKED_KINDS, REPORT_BLOCKED_SCHEMA, REPORT_BLOCKED_WORDS
from ._guard import Guard, ResultLimits, Words

__all__ = [
    "BLOCKED_KINDS",
    "REPORT_BLOCKED_SCHEMA",
    "REPORT_BLOCKED_WORDS",
    "Allow",
    "Call",
    "Guard",
    "Nudge",
    "Refuse",
    "ResultLimits",
    "Words",
    "with_words",
]
