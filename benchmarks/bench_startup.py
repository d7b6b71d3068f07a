"""What the start-up hook costs: its line run as `site` runs it, against a line that only imports what is loaded.

The absolute time is the answer here: a process that is not watched must not pay 100 microseconds, where the start of an
interpreter takes some ten thousand. The figures are whole processes, with the hook on and off.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median

from _harness import Case, main

HOOK = (Path(__file__).resolve().parent.parent / "otel_loopguard.pth").read_text(encoding="utf-8").rstrip()
ROUNDS = 11


def line(text: str) -> Callable[[], None]:
    """A line of a path file as `site` runs it: compiled anew."""
    return lambda: exec(text)  # noqa: S102 - this is what `site` does


def cases() -> list[Case]:
    """The line alone, with the variable unset."""
    os.environ.pop("LOOPGUARD_ENABLED", None)
    return [Case("hook, switched off", line(HOOK), line("import os"))]


def figures() -> Mapping[str, object]:
    """Milliseconds of a process that does nothing, switched off and on in turn."""
    taken: dict[str, list[float]] = {"": [], "true": []}
    for _ in range(ROUNDS):
        for word, times in taken.items():
            started = time.perf_counter_ns()
            subprocess.run([sys.executable, "-c", "pass"], env={**os.environ, "LOOPGUARD_ENABLED": word}, check=True)
            times.append((time.perf_counter_ns() - started) / 1e6)
    return {f"process, {word or 'off'}, ms": round(median(times), 1) for word, times in taken.items()}


if __name__ == "__main__":
    sys.exit(main("startup", cases(), figures=figures))
