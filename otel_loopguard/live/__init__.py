"""The runs of this process; see `live` for the object that holds them."""

from .context import Given, given_in, run, speak
from .edge import Edge
from .guarded import Guarded, guarded_in, inside
from .live import Live
from .outlet import LOGS_SUPPORTED, Outlet
from .rules import KeySource, PolicySource, Sources
from .shared import TERMINATION_REASONS, Tell, enlist, finish, shared, user_message
from .sighting import Sighting
from .surroundings import surroundings_of
from .taken import Found, Taken

__all__ = [
    "LOGS_SUPPORTED",
    "TERMINATION_REASONS",
    "Edge",
    "Found",
    "Given",
    "Guarded",
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
    "guarded_in",
    "inside",
    "run",
    "shared",
    "speak",
    "surroundings_of",
    "user_message",
]
