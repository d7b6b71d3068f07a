"""The frame of every benchmark: ours against the obvious way, side by side in one run, and a limit for the ratio.

Not a profiler: absolute times depend on the machine and are only shown; the ratio decides. Both sides run in turn
within each round, so that whatever else the machine does hits both, and the median over the rounds counts.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from _package import FLAG, package

__all__ = ["Case", "Measured", "machine", "main", "measure"]

LEAST_ROUNDS = 5
_SAMPLE_NS = 20_000_000
"""CPU time of one sample: a thousand times the resolution of the clock on a slow machine."""


@dataclass(frozen=True)
class Case:
    """One comparison: ``ours`` and ``base`` are each called with nothing, the ratio is ours to base."""

    name: str
    ours: Callable[[], object]
    base: Callable[[], object]
    limit: float | None = None
    """The highest ratio that is good enough; None: only shown."""
    repeat: int | None = None
    """Calls of each side in one sample; None: as many as take about 20 ms."""


@dataclass(frozen=True)
class Measured:
    """Medians over the rounds."""

    ratio: float
    ours_us: float
    base_us: float
    spread: tuple[float, float] = field(default=(0.0, 0.0))
    """The quarter points of the ratio."""


def measure(case: Case, rounds: int) -> Measured:
    """Run both sides of ``case`` in turn, ``rounds`` times."""
    rounds = max(rounds, LEAST_ROUNDS)
    repeat = case.repeat or _calibrate(case.base)
    _sample(case.ours, repeat)
    samples: list[tuple[float, float]] = []
    for number in range(rounds):
        gc.collect()
        if number % 2:  # whoever comes second finds a warmer machine: take turns
            base = _sample(case.base, repeat)
            ours = _sample(case.ours, repeat)
        else:
            ours = _sample(case.ours, repeat)
            base = _sample(case.base, repeat)
        samples.append((ours, base))
    ratios = sorted(ours / base for ours, base in samples)
    return Measured(
        ratio=median(ratios),
        ours_us=median(ours for ours, _ in samples) / 1000,
        base_us=median(base for _, base in samples) / 1000,
        spread=(ratios[rounds // 4], ratios[-1 - rounds // 4]),
    )


def _calibrate(action: Callable[[], object]) -> int:
    repeat = 1
    while True:
        taken = _sample(action, repeat) * repeat
        if taken >= _SAMPLE_NS / 4:
            return max(1, round(repeat * _SAMPLE_NS / taken))
        repeat *= 4


def _sample(action: Callable[[], object], repeat: int) -> float:
    """CPU nanoseconds of one call."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        started = time.process_time_ns()
        for _ in range(repeat):
            action()
        return max(1, time.process_time_ns() - started) / repeat
    finally:
        if collecting:
            gc.enable()


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "package": package(),
    }


def main(  # noqa: PLR0913 - what a benchmark can say of itself
    name: str,
    cases: Sequence[Case],
    *,
    rounds: int = 15,
    figures: Callable[[], Mapping[str, object]] | None = None,
    most: Mapping[str, float] | None = None,
    argv: Sequence[str] | None = None,
) -> int:
    """Measure, print, and give the exit code: 1 where a ratio is over its limit.

    ``figures`` are further numbers to show; ``most`` has limits of some of them.
    """
    parser = argparse.ArgumentParser(description=f"{name}: CPU time of ours divided by that of the obvious way.")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"at least {LEAST_ROUNDS} (default: %(default)s)")
    parser.add_argument(FLAG, action="store_true", help="measure the Python sources, not what is compiled of them")
    options = parser.parse_args(argv)
    found: dict[str, Measured] = {}
    for case in cases:
        print(f"{name}: {case.name}", file=sys.stderr)
        found[case.name] = measure(case, options.rounds)
    limits = {case.name: case.limit for case in cases if case.limit is not None}
    shown: dict[str, object] = {
        case: {
            "ours_us": round(one.ours_us, 3),
            "base_us": round(one.base_us, 3),
            "quarters": [round(q, 3) for q in one.spread],
        }
        for case, one in found.items()
    }
    if figures is not None:
        shown.update(figures())
    over = [case for case, limit in limits.items() if found[case].ratio > limit]
    over += [name for name, limit in (most or {}).items() if float(str(shown[name])) > limit]
    if options.json:
        ratios = {case: round(one.ratio, 4) for case, one in found.items()}
        print(json.dumps({"name": name, "ratios": ratios, "limits": limits, "figures": shown, "machine": machine()}))
    else:
        _print_table(found, limits, shown)
        print(f"over the limit: {', '.join(over)}" if over else "all within their limits")
    return 1 if over else 0


def _print_table(found: Mapping[str, Measured], limits: Mapping[str, float], shown: Mapping[str, object]) -> None:
    width = max(len(case) for case in found) + 2
    print(f"the {package()} package, Python {platform.python_version()}")
    print(f"{'':{width}}{'ratio':>8}{'limit':>8}{'ours':>14}{'obvious way':>16}")
    for case, one in found.items():
        limit = f"{limits[case]:.2f}" if case in limits else ""
        print(f"{case:{width}}{one.ratio:8.3f}{limit:>8}{one.ours_us:11.2f} us{one.base_us:13.2f} us")
    for key, value in shown.items():
        if key not in found:
            print(f"{key}: {value}")
