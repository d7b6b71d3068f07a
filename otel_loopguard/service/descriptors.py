"""Room for as many open files as the settings allow connections.

Not the bounding of connections (the servers do): many systems let a process have 1024 files at first, and more when it
asks. Without room a flood of connections would take the descriptors that the state file needs.
"""

from __future__ import annotations

import sys
from typing import Final

from otel_loopguard.service.http_server import BACKLOG
from otel_loopguard.service.settings import ServeSettings

__all__ = ["make_room", "needed"]

_OTHERS: Final = 128
"""Of the program itself: libraries, the state file, sinks, wires between workers."""
_PAGES: Final = 64


def needed(settings: ServeSettings) -> int:
    """Open files that one process may come to have: connections, and those that are being sent away."""
    receivers = (settings.grpc_address is not None) + (settings.http_address is not None)
    return receivers * (settings.max_connections + 2 * BACKLOG) + _PAGES + _OTHERS


def make_room(settings: ServeSettings) -> str:
    """Raise this process's own limit where it is too low; a sentence where the system does not let us, else ""."""
    if sys.platform == "win32":
        return ""
    import resource  # noqa: PLC0415 - not on every system

    wanted = needed(settings)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return ""
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most >= wanted:
        return ""
    return (
        f"this process may open {most} files, `max_connections` {settings.max_connections} may need {wanted}: raise "
        "the limit (`ulimit -n`, LimitNOFILE=) or lower `max_connections`"
    )
