"""Hosts of runs: where decisions of a stream are made."""

from ._base import Arrival, Handover, Limits, Runtime, Said, arrivals_of
from .local import LocalRuntime

__all__ = ["Arrival", "Handover", "Limits", "LocalRuntime", "Runtime", "Said", "arrivals_of"]
