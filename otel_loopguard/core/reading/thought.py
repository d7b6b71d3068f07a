"""Whether a call is a thought: nothing that it says reaches anybody, so nothing comes of it.

Not a kind of tool: some agents have one tool for everything, and think in it.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_thought"]

_THOUGHTS: Final = frozenset(["thought", "thinking", "reasoning"])
_THINKING: Final = re.compile(r"\s*(?:think|thought)\s*[:\[(]", re.IGNORECASE)
"""How an action begins that is a thought, where an agent has one tool for everything: of ReAct's text worlds."""
_SAYING: Final = re.compile(r"\s*(?:echo|printf)\b[^|;&<>`$*?~{}\[\]!\n]*\n*\Z")
"""A shell's command that says something to nobody: "echo done"."""


def is_thought(data: object) -> bool:
    """Whether the only argument is a thought, by its name or because it says so, or a command that only speaks."""
    if isinstance(data, dict):
        command = data.get("command") or data.get("cmd")
        if isinstance(command, str) and _SAYING.match(command) is not None:
            return True
        if len(data) != 1:
            return False
        if not _THOUGHTS.isdisjoint(data):
            return True
        (data,) = data.values()
    return isinstance(data, str) and data[:1] in "tT \n" and _THINKING.match(data) is not None
