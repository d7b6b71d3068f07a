"""How instrumentations write tool calls: one file for each family, one way to read them all."""

from ._record import ABSENT, Absent, ContentKeys, Convention, Event, Marks, RawCall, Record, Role
from .reading import CONTENT, CONVENTIONS, MARKERS, NAMES, NOT_TOOLS, WATCHED, read, role

__all__ = [
    "ABSENT",
    "CONTENT",
    "CONVENTIONS",
    "MARKERS",
    "NAMES",
    "NOT_TOOLS",
    "WATCHED",
    "Absent",
    "ContentKeys",
    "Convention",
    "Event",
    "Marks",
    "RawCall",
    "Record",
    "Role",
    "read",
    "role",
]
