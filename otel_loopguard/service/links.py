"""The wires between workers: one stream socket for each pair, frames in both directions, no name in any file system.

Not what the frames mean (`exchange`). The parent makes the sockets and hands each worker its ends; when a worker died
the others get new ones.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["Links", "pass_link", "take_link"]

_LENGTH: Final = struct.Struct(">I")


class Links:
    """The ends that one worker has."""

    def __init__(self, heard: Callable[[int, int, bytes | None], None]) -> None:
        """``heard`` gets a peer, the number of the wire and a frame, None at its end; from threads of their own."""
        self._heard = heard
        self._wires: dict[int, tuple[int, socket.socket]] = {}
        self._lock = threading.Lock()
        self._count = 0

    def attach(self, peer: int, wire: socket.socket, greeting: bytes) -> None:
        """Use a wire to a peer from now on, with a frame to begin with."""
        with self._lock:
            self._count += 1
            number = self._count
            old = self._wires.get(peer)
            self._wires[peer] = number, wire
        if old is not None:
            _end(old[1])
        threading.Thread(
            target=self._read, args=(peer, number, wire), name=f"loopguard-link-{peer}", daemon=True
        ).start()
        self.send(peer, number, greeting)

    def send(self, peer: int, number: int, frame: bytes) -> None:
        """Send a frame over a wire; one that is gone is told of by its reader. The other end always reads."""
        with self._lock:
            current = self._wires.get(peer)
        if current is None or current[0] != number:
            return
        try:
            current[1].sendall(_LENGTH.pack(len(frame)) + frame)
        except OSError:
            _end(current[1])

    def _read(self, peer: int, number: int, wire: socket.socket) -> None:
        try:
            with wire.makefile("rb") as stream:
                while head := stream.read(_LENGTH.size):
                    (length,) = _LENGTH.unpack(head)
                    frame = stream.read(length)
                    if len(frame) < length:
                        break
                    self._heard(peer, number, frame)
        except (OSError, struct.error):
            pass  # the peer died in the middle of a frame
        finally:
            wire.close()
            self._heard(peer, number, None)


def _end(wire: socket.socket) -> None:
    with suppress(OSError):  # it may have ended already
        wire.shutdown(socket.SHUT_RDWR)


def pass_link(channel: socket.socket, peer: int, wire: socket.socket) -> None:
    """Hand a worker its end of a wire to a peer, as a parent; one that died just now is wired up when it is back."""
    with suppress(OSError):
        socket.send_fds(channel, [bytes([peer])], [wire.fileno()])


def take_link(channel: socket.socket) -> tuple[int, socket.socket] | None:
    """The next end of a wire, as a worker; None when the parent is gone."""
    try:
        data, descriptors, _, _ = socket.recv_fds(channel, 1, 1)
    except OSError:
        return None
    if not data or not descriptors:
        return None
    return data[0], socket.socket(fileno=descriptors[0])
