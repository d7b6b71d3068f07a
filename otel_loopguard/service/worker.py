"""One worker process of several: a server that hears from its parent when to begin, to close and to end.

Not the parent (`supervisor`). The parent gives it two sockets: one for messages, one for the ends of wires to the
other workers. Signals are the parent's affair; a worker whose parent is gone ends like one that is told to.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
from typing import Final

from otel_loopguard.config import Settings
from otel_loopguard.errors import LoopguardError
from otel_loopguard.service.channel import Channel
from otel_loopguard.service.crew import Crew
from otel_loopguard.service.partition import Share
from otel_loopguard.service.server import Server
from otel_loopguard.service.settings import settings_from

__all__ = ["DIED", "GC", "UNUSABLE", "main"]

DIED: Final = 70
"""Exit code (EX_SOFTWARE) of a server that ends by a mistake of its own: whoever watches over it starts it again."""
UNUSABLE: Final = 2
"""Exit code of a worker that cannot work as it is set up."""
GC: Final = (50_000, 20, 100)
"""Runs are many small objects that live long and hold no cycles: looking for garbage among them costs more than all
that is ever found."""


def main(channel: int, wires: int) -> None:
    """Serve, with two inherited sockets, and end the process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    gc.set_threshold(*GC)
    sys.exit(asyncio.run(_run(socket.socket(fileno=channel), socket.socket(fileno=wires))))


async def _run(end: socket.socket, wires: socket.socket) -> int:
    channel = await Channel.over(end)
    begin = await channel.receive()
    if begin is None:
        return 0
    return await _Worker(channel, wires).serve(*begin[1])


class _Worker:
    def __init__(self, channel: Channel, wires: socket.socket) -> None:
        self._channel = channel
        self._wires = wires
        self._finish = asyncio.Event()
        self._number = 0
        self._is_open = False

    async def serve(self, worker: int, workers: int, texts: dict[str, str], spare_key: bytes) -> int:
        """From the beginning to the end; the exit code."""
        self._number = worker
        crew = Crew(Share(worker, workers), self._wires, spare_key, self._closed)
        listening: asyncio.Task[None] | None = None
        try:
            agent = Settings.read_strict(os.environ)
            server = Server(settings_from(texts, {}, {}), agent, self._tell, crew)
            listening = asyncio.get_running_loop().create_task(self._listen(server))
            await server.run(self._started, signals=())
        except (LoopguardError, OSError) as error:
            self._channel.send("unusable", _words(error))
            return UNUSABLE
        finally:
            if listening is not None:
                listening.cancel()
            self._channel.close()
        return DIED if server.dead else 0

    async def _listen(self, server: Server) -> None:
        while (message := await self._channel.receive()) is not None:
            name, _ = message
            if name == "close":
                server.stop()
            elif name == "finish":
                self._finish.set()
            elif name == "numbers":
                gauges = server.gauges()
                reason = server.not_ready() or ("" if self._is_open else "a part of the detector is starting")
                self._channel.send("numbers", (reason, server.numbers.totals(), gauges))
        self._finish.set()
        server.stop()

    def _started(self, _: Server) -> None:
        self._is_open = True

    async def _closed(self) -> None:
        self._channel.send("closed")
        await self._finish.wait()

    def _tell(self, sentence: str) -> None:
        """One sentence for people; what all workers have to say of their settings is said by the first."""
        if self._number and not self._is_open:
            return
        sys.stderr.write(f"loopguard: worker {self._number + 1}: {sentence}\n")
        sys.stderr.flush()


def _words(error: LoopguardError | OSError) -> str:
    """What a command would say."""
    if isinstance(error, LoopguardError) or error.filename is None:
        return str(error)
    return f"{os.fsdecode(error.filename)}: {error.strerror}"
