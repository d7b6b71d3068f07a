"""Hosts of runs: where decisions of a stream are made."""

from ._base import Arrival, Limits, Runtime, Said
from .local import LocalRuntime

__all__ = ["Arrival", "Limits", "LocalRuntime", "Runtime", "Said"]
