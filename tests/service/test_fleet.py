"""The demo's second half: what it shows is so."""

from __future__ import annotations

from pathlib import Path

from demo.fleet import watch


def test_three_processes_share_a_run(tmp_path: Path) -> None:
    """None of them sees a loop, the detector sees it over all."""
    fleet = watch(tmp_path)
    assert (fleet.calls, fleet.alone) == (6, 0)
    told = [(found["loopguard.finding.kind"], found["loopguard.finding.action"]) for found in fleet.findings]
    assert told[:2] == [("identical", "nudge"), ("identical", "stop")]
