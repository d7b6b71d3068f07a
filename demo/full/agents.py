"""One round of agents: one stuck by itself, one over three processes, one healthy, as `make demo` has them."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

from demo.__main__ import environment, start
from demo.fleet import PROCESSES, WORKER
from demo.full.process import ProcessError
from demo.scripts import STEPS

__all__ = ["CALLS", "Round"]

FLEET_CALLS: Final = 1
"""Of each process: the policy calls the tool a read, whose second equal call is a nudge."""
CALLS: Final = 2 * STEPS + PROCESSES * FLEET_CALLS
"""Tool calls of a round."""
TIMEOUT: Final = 90
"""Seconds for an agent, far more than it needs."""


class Round(NamedTuple):
    """What was new in it."""

    fleet_run: str
    customer: str
    """Stands in every argument and result of all agents; must not arrive anywhere."""

    @classmethod
    def play(cls, endpoint: str, key: str) -> Round:
        """Run all agents to their ends, side by side. Raises `ProcessError`."""
        told = cls(f"incident-{secrets.token_hex(4)}", f"customer-{secrets.token_hex(8)}")
        agents = {
            name: start(name, told.customer, environment(name, endpoint, key)) for name in ("stuck", "healthy")
        } | {f"fleet {number}": told._one_of_the_fleet(endpoint, key) for number in range(PROCESSES)}
        try:
            for name, agent in agents.items():
                _, errors = agent.communicate(timeout=TIMEOUT)
                if agent.returncode:
                    raise ProcessError(f"the agent `{name}` ended with {agent.returncode}\n{errors.strip()}")
        except subprocess.TimeoutExpired as error:
            raise ProcessError(f"an agent did not end within {TIMEOUT} s: {error.cmd}") from None
        finally:
            for agent in agents.values():
                if agent.poll() is None:
                    agent.kill()
                    agent.communicate()
        return told

    def _one_of_the_fleet(self, endpoint: str, key: str) -> subprocess.Popen[str]:
        instrument = Path(sys.executable).with_name("opentelemetry-instrument")
        arguments = [self.fleet_run, str(FLEET_CALLS), self.customer]
        command = [sys.executable, str(instrument), sys.executable, "-c", WORKER, *arguments]
        environ = environment("fleet", endpoint, key)
        return subprocess.Popen(command, env=environ, text=True, stderr=subprocess.PIPE)
