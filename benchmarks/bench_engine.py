"""What the engine takes for a call, against one `json.dumps(sort_keys=True)` of its arguments and result together.

Every detector is on, with the built-in policy. Reading (fingerprints) is apart, in a case of its own, since a detector
behind the Collector gets calls that are read already. Then: whether a long run costs more than a short one, what an
idle run takes as bytes, and what three published packages that do part of this take for the same calls, in an
environment that is made for them (``--no-packages`` leaves them out).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Sequence
from itertools import cycle
from pathlib import Path

import _compiled  # noqa: F401 - first: the package is to come from where it says
from _harness import Case, main

from otel_loopguard.core.call import Outcome, ToolCall
from otel_loopguard.core.engine import Engine
from otel_loopguard.core.fingerprint import Keyring, SecretKey, fingerprinter
from otel_loopguard.core.history import History
from otel_loopguard.core.policy import Policy
from otel_loopguard.core.reader import CallReader
from otel_loopguard.stream.codec import pack_history, pack_memory

ENGINE = Engine(Policy())
READER = CallReader(Policy(), fingerprinter(Keyring(SecretKey(bytes(range(32)))), "environment"))
LIMIT = 6.0
"""Times the plain encoding, for a typical call."""
FLAT = 1.25
"""How much dearer a call of a run of 100,000 may be than one of a run of 1,000."""
CALLS = 1000
"""Of one sample: more than a history remembers, so that calls that come round again are new to it."""
FEWER = 60
"""Calls for the published packages, some of which compare each call's text with many and take milliseconds."""
PACKAGES = ("agent-budget-guard-py==0.4.0", "agent-loop-guard==0.1.1", "agent-watchdog==0.1.5")

Content = tuple[str, dict[str, object], dict[str, object]]
Read = tuple[ToolCall, Outcome]


def search(number: int, matches: int = 5) -> Content:
    """A search in code: five arguments, a structured result."""
    arguments = {
        "path": f"src/app/module_{number}.py",
        "query": f"find the handler number {number}",
        "limit": 20,
        "case": False,
        "context": 3,
    }
    found = [
        {
            "file": f"src/app/views_{number}.py",
            "line": number + 7 * place,
            "text": f"def handler_{number}(request): pass",
        }
        for place in range(matches)
    ]
    return "search_code", arguments, {"matches": found, "total": matches, "took_ms": 12}


def working(number: int) -> Content:
    """A coding agent at work: read a page, edit, run the tests, whose report moves now and then."""
    kind = number % 3
    if kind == 0:
        lines = [f"    return render(request, 'page_{number}.html', line={line})" for line in range(20)]
        where = {"path": f"src/app/views_{number}.py", "start": 1, "end": 20}
        return "read_file", where, {"text": "\n".join(lines)}
    if kind == 1:
        edit = {"path": f"src/app/views_{number}.py", "old_str": f"return {number}", "new_str": f"return {number + 1}"}
        return "edit_file", edit, {"changed": 1, "path": f"src/app/views_{number}.py"}
    failed = number // 15 % 7
    report = [f"FAILED tests/test_views.py::test_page_{place}" for place in range(failed)]
    report.append(f"{failed} failed, 212 passed in 3.{number % 10} s")
    return "run_tests", {"path": "tests/", "verbose": False}, {"exit": 1, "report": "\n".join(report)}


def read(contents: Sequence[Content]) -> list[Read]:
    """The calls and outcomes of contents, each in a turn of its own."""
    found = []
    for turn, (tool, arguments, result) in enumerate(contents):
        call = READER.call(tool, arguments, turn=turn)
        found.append((call, READER.outcome(call, arguments, result)))
    return found


def plain(contents: Sequence[Content]) -> Callable[[], object]:
    """The plain encoding of all arguments and results."""

    def encode() -> None:
        for _, arguments, result in contents:
            json.dumps([arguments, result], sort_keys=True)

    return encode


def judged(calls: Sequence[Read], history: History, *, ask: bool = True) -> Callable[[], object]:
    """All calls, asked about and recorded, in a history that goes on from sample to sample."""
    decide, record = ENGINE.decide, ENGINE.record

    def judge() -> None:
        for call, outcome in calls:
            if ask:
                decide(history, call)
            record(history, call, outcome)

    return judge


def read_and_judged(contents: Sequence[Content]) -> Callable[[], object]:
    """All calls from their content on, as the span processor does it."""
    history = History()

    def judge() -> None:
        for turn, (tool, arguments, result) in enumerate(contents):
            call = READER.call(tool, arguments, turn=turn)
            ENGINE.record(history, call, READER.outcome(call, arguments, result))

    return judge


def after(length: int, calls: Sequence[Read]) -> History:
    """A history with so many calls behind it."""
    history = History()
    for _, (call, outcome) in zip(range(length), cycle(calls), strict=False):
        ENGINE.record(history, call, outcome)
    return history


def case(name: str, contents: Sequence[Content], limit: float | None = None, *, ask: bool = True) -> Case:
    """Asking and recording against the plain encoding."""
    return Case(name, judged(read(contents), History(), ask=ask), plain(contents), limit, repeat=1)


def cases() -> list[Case]:
    """All comparisons."""
    fresh = [search(number) for number in range(CALLS)]
    calls = read(fresh)
    long = [
        Case(
            f"a run of {length:,} calls, to one of 1,000",
            judged(calls, after(length, calls)),
            judged(calls, after(1_000, calls)),
            FLAT,
            repeat=1,
        )
        for length in (10_000, 100_000)
    ]
    return [
        case("decide + record, a call never made", fresh, LIMIT),
        case("decide + record, the same with a short result", [search(number, 1) for number in range(CALLS)]),
        case("decide + record, an agent at work", [working(number) for number in range(CALLS)], LIMIT),
        case("record alone, a call never made", fresh, LIMIT, ask=False),
        case("the same call again and again", [search(1)] * CALLS),
        case("four calls in turn", [search(number % 4) for number in range(CALLS)]),
        Case("read + record, from content to verdict", read_and_judged(fresh), plain(fresh), repeat=1),
        *long,
    ]


def figures() -> dict[str, object]:
    """Bytes of idle runs by their length, for a search that never repeats."""
    calls = read([search(number) for number in range(CALLS)])
    sizes = {}
    for length in (1, 10, 32, 100, 1_000, 100_000):
        history = after(length, calls)
        sizes[f"{length} calls"] = len(pack_history(history)) + len(pack_memory(history.memory))
    return {"bytes of an idle run": sizes}


def packages() -> dict[str, object]:
    """What the published packages take for the same calls, measured in an environment of their own."""
    folder = Path(tempfile.gettempdir()) / "otel-loopguard-published"
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            print("engine: installing published packages", file=sys.stderr)
            venv.create(folder, with_pip=True, clear=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True, stdout=sys.stderr)
        lines = "\n".join(json.dumps(search(number)) for number in range(FEWER))
        script = Path(__file__).with_name("_published.py")
        ran = subprocess.run([python, script], input=lines, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return {"published packages": f"not measured: {error}"}
    return {"published packages": json.loads(ran.stdout)}


if __name__ == "__main__":
    arguments = [one for one in sys.argv[1:] if one != "--no-packages"]
    shown = figures if len(arguments) < len(sys.argv) - 1 else lambda: figures() | packages()
    sys.exit(main("engine", cases(), figures=shown, argv=arguments))
