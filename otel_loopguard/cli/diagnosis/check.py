"""One thing that was looked at, and what it means for finding loops. Not the looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Check", "Level"]

Level = Literal["ok", "info", "warning", "error"]
"""`error` prevents detection or loses it on its way out; `warning` narrows it."""


@dataclass(frozen=True, slots=True)
class Check:
    """A finding about the environment; no secrets and no header values, wherever they were found."""

    subject: str
    level: Level
    text: str
    way_out: str = ""
    """What to set or do; empty where nothing is to be done."""
