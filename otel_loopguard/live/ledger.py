"""The runs of one process: found, made, forgotten.

Not locked and not a judge: `Live` calls it with its lock held.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from typing import Final

from .lane import Lane
from .run_state import RunState

__all__ = ["MAX_RUNS", "Ledger"]

MAX_RUNS: Final = 1000
"""Runs remembered; the least recently active one is dropped. About 10 kB each, so some ten megabytes."""

_TRACES_PER_RUN: Final = 4
"""A run given by name goes on over traces; its last few tell which run a span without its name belongs to."""


def _new_id() -> str:
    return secrets.token_hex(8)


class Ledger:
    """All runs that this process knows, the least recently active first."""

    def __init__(self, max_runs: int = MAX_RUNS) -> None:
        self._max_runs = max_runs
        self._runs: OrderedDict[str, RunState] = OrderedDict()
        self._traces: OrderedDict[str, str] = OrderedDict()
        self._process_id = _new_id()
        self._has_dropped = False
        self.surplus: list[tuple[RunState, Lane]] = []
        """Dropped lanes with their runs, for the holder to close and take away."""
        self._dropped_runs = 0
        self._dropped_agents = 0

    def run(self, run_id: str, ticket: int) -> RunState:
        """A run, now the most recently active one; made where it is not known."""
        run = self._runs.get(run_id)
        if run is not None:
            self._runs.move_to_end(run_id)
            return run
        # Numbers of a run that was dropped and returns would start anew under the old process id.
        process_id = _new_id() if self._has_dropped else self._process_id
        run = self._runs[run_id] = RunState(run_id, process_id, ticket)
        if len(self._runs) > self._max_runs:
            _, dropped = self._runs.popitem(last=False)
            self._has_dropped = True
            self._dropped_runs += 1
            self.surplus += [(dropped, lane) for lane in dropped.lanes()]
        return run

    def lane(self, run: RunState, agent: str, scope: str, branch: str = "") -> Lane:
        """The lane of an agent and scope in a run; ``branch`` tells a sub-agent from others of its name."""
        lane = run.lane(agent, scope, branch, _new_id)
        surplus = run.surplus()
        if surplus is not None:
            run.process_id = run.process_id if surplus.branch else _new_id()
            self._dropped_agents += 1
            self.surplus.append((run, surplus))
        return lane

    def dropped(self) -> tuple[int, int]:
        """Runs, and agents of runs that stay, dropped since this was last asked."""
        counts = self._dropped_runs, self._dropped_agents
        self._dropped_runs = self._dropped_agents = 0
        return counts

    def saw(self, trace_id: str, run_id: str) -> None:
        """A trace holds calls of a run."""
        if self._traces.get(trace_id) != run_id:
            self._traces[trace_id] = run_id
            self._traces.move_to_end(trace_id)
            if len(self._traces) > _TRACES_PER_RUN * self._max_runs:
                self._traces.popitem(last=False)

    def find(self, run_id: str, trace_id: str) -> RunState | None:
        """The run of an id, else the run last seen in a trace."""
        return self._runs.get(run_id or self._traces.get(trace_id, trace_id))
