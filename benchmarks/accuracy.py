"""How often the rules are right on recorded runs, beside plain rules and beside themselves with one part off.

Not a proof: the runs read here are those that the rules were made with, so what is found on others decides. How each
source of labels came about, and what it is worth, stands below the table; what was read and what is still wrong is in
`ACCURACY.md`.

    python benchmarks/accuracy.py [FOLDER ...] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from _accuracy_table import show
from _corpora import SOURCES, corpora
from _harness import machine
from _results import Results
from _rulesets import ABLATIONS, KEYS, PLAIN, Ours
from _scores import ONE_SIDED, Judged, by_kind, found, score

SHARED = Path(os.environ.get("LOOPGUARD_SHARED") or Path(__file__).resolve().parent.parent.parent / "shared")
WEAK = "intercode"
"""The corpus of weak models: there, a call made three times with one result is a loop."""
LIMITS = {
    "wrong": 0.03,
    "missed": 0.10,
    "solved_stopped": 0.0,
    "solved_nudged": 0.01,
    "equal_missed": 0.02,
    "clean_stopped": 0.0,
}
"""Highest shares that are good enough: of flagged runs that do not loop, of loops not flagged, of solved runs stopped
or flagged at all, of weak models' runs with three equal calls and results not flagged, of clean runs stopped."""


def measure(folders: Iterable[Path]) -> Results:
    """Judge all runs by all rules; calls are read once for all that see the same."""
    results = Results()
    ours = Ours()
    others = [Ours(keys=keys) for keys in KEYS[1:]]
    ablations = {name: make() for name, make in ABLATIONS.items()}
    for corpus in corpora(folders):
        print(f"accuracy: {corpus.name}", file=sys.stderr)
        results.corpora.append(corpus)
        steps = {run.id: ours.read(run) for run in corpus.runs}
        results.ours[corpus.name] = [Judged(run, ours.judge(steps[run.id])) for run in corpus.runs]
        verdicts = [[one.is_flagged for one in results.ours[corpus.name]]]
        verdicts += [[one.judge(one.read(run)).first is not None for run in corpus.runs] for one in others]
        results.chance[corpus.name] = sum(len(set(flags)) > 1 for flags in zip(*verdicts, strict=True))
        for name, rule in PLAIN.items():
            results.plain.setdefault(name, {})[corpus.name] = [Judged(run, rule(run)) for run in corpus.runs]
        for name, variant in ablations.items():
            same = variant.policy == ours.policy
            results.ablated.setdefault(name, {})[corpus.name] = [
                Judged(run, variant.judge(steps[run.id] if same else variant.read(run))) for run in corpus.runs
            ]
    return results


def ratios(results: Results) -> dict[str, float]:
    """What the limits are about, as far as there are labels for it."""
    judged = results.of_all(results.ours)
    total = score(judged)
    flagged, stopped, solved = found(judged, "solved", label=False)
    equal, _, repeating = found(results.ours.get(WEAK, []), "equal", label=True)
    shares = {
        "wrong": (total.false, total.hits + total.false),
        "missed": (total.loops - total.hits, total.loops),
        "solved_stopped": (stopped, solved),
        "solved_nudged": (flagged, solved),
        "equal_missed": (repeating - equal, repeating),
        "clean_stopped": (total.false_stops, total.clean),
    }
    return {name: round(part / whole, 4) for name, (part, whole) in shares.items() if whole}


def figures(results: Results) -> dict[str, object]:
    """Everything in numbers."""
    rules: dict[str, Mapping[str, list[Judged]]] = {"ours": results.ours, **results.plain}
    rules |= {f"without {name}": judged for name, judged in results.ablated.items()}
    return {
        "sources": SOURCES,
        "corpora": {one.name: {"runs": len(one.runs), "calls": one.calls} for one in results.corpora},
        "rules": {name: _of_rules(results, judged) for name, judged in rules.items()},
        "chance": results.chance,
        "kinds": {kind: by_kind(results.of_all(results.ours), kind).as_object() for kind in results.kinds},
    }


def _of_rules(results: Results, judged: Mapping[str, list[Judged]]) -> dict[str, object]:
    everything = results.of_all(judged)
    sources: dict[str, object] = {}
    for name, (source, label, grouped) in ONE_SIDED.items():
        flagged, stopped, whole = found(everything, source, label=label, grouped=grouped)
        sources[name] = {"flagged": flagged, "stopped": stopped, "of": whole}
    return {
        "all": score(everything).as_object(),
        "corpora": {name: score(runs).as_object() for name, runs in judged.items()},
        "sources": sources,
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a share is over its limit."""
    parser = argparse.ArgumentParser(description="Precision and recall on recorded runs.")
    parser.add_argument("folder", nargs="*", type=Path, help="folders of corpora (default: the shared ones)")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    options = parser.parse_args(argv)
    folders: list[Path] = options.folder or [SHARED / "corpus"]
    missing = [str(one) for one in folders if not one.is_dir()]
    if missing:
        parser.error(f"no folder `{missing[0]}`; give one, or set LOOPGUARD_SHARED to the folder that holds `corpus`")
    started = time.process_time()
    results = measure(folders)
    if not results.corpora:
        parser.error(f"no corpus in `{folders[0]}`: files are `NAME.jsonl` or `NAME.jsonl.gz`, one call a line")
    shares = ratios(results)
    over = [name for name, share in shares.items() if share > LIMITS[name]]
    if options.json:
        limits = {name: LIMITS[name] for name in shares}
        told = figures(results) | {"seconds": round(time.process_time() - started, 1)}
        print(json.dumps({"name": "accuracy", "ratios": shares, "limits": limits, "figures": told,
                          "machine": machine()}))  # fmt: skip
    else:
        show(results, shares, LIMITS)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
