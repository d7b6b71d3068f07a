"""Which worker has what: runs by tenant and run id, traces by tenant and trace id, one state file a worker.

Not the workers. A run that only its trace names lies where its trace lies, because both have one name.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

from otel_loopguard.runtimes import Arrival
from otel_loopguard.runtimes.seat import Key
from otel_loopguard.stream.trace import Span

__all__ = ["Share", "state_path"]


@dataclass(frozen=True, slots=True)
class Share:
    """What one of several workers has."""

    worker: int = 0
    workers: int = 1

    def owner(self, tenant: str, name: str) -> int:
        """The worker that has a run or a trace of a tenant."""
        return crc32(f"{tenant}\0{name}".encode("utf-8", "surrogatepass")) % self.workers

    def owns(self, key: Key) -> bool:
        """Whether a run is this worker's."""
        return self.owner(*key) == self.worker

    def owner_of(self, arrival: Arrival) -> int:
        """The worker that takes something in: a call that knows its run goes there, any other span to its trace.

        As `Window.add` places a call: at once, or with the spans of its trace. A call that is not in a trace may
        have another run than is guessed here, and is handed on.
        """
        tenant, item = arrival.tenant, arrival.item
        if not isinstance(item, Span):
            return self.owner(tenant, item.run_id)
        call, hints = item.call, item.hints
        if call is not None and hints is not None:
            if not item.trace_id:
                return self.owner(tenant, hints.run_id or hints.agent_call_id or hints.conversation_id or "")
            if call.sequence is not None and hints.run_id:
                return self.owner(tenant, hints.run_id)
        return self.owner(tenant, item.trace_id)


def state_path(path: str, worker: int) -> str:
    """The state file of a worker: the first has the name as given."""
    return f"{path}.{worker}" if worker else path
