"""The runs of this process; see `live` for the object that holds them."""

from .context import Given, given_in, run
from .edge import Edge
from .live import Live
from .outlet import LOGS_SUPPORTED, Outlet
from .rules import KeySource, PolicySource, Sources
from .shared import TERMINATION_REASONS, Tell, enlist, finish, shared, user_message
from .sighting import Sighting
from .taken import Found, Taken

__all__ = [
    "LOGS_SUPPORTED",
    "TERMINATION_REASONS",
    "Edge",
    "Found",
    "Given",
    "KeySource",
    "Live",
    "Outlet",
    "PolicySource",
    "Sighting",
    "Sources",
    "Taken",
    "Tell",
    "enlist",
    "finish",
    "given_in",
    "run",
    "shared",
    "user_message",
]
