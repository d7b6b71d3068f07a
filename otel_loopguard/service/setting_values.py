"""How the values of settings are written: addresses, times, sizes, counts.

Not the settings. Every reader raises a `ValueError` that says what is expected.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Final, NamedTuple

__all__ = [
    "Address", "read_address", "read_choice", "read_count", "read_duration", "read_flag", "read_size", "read_text",
    "read_workers",
]  # fmt: skip

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_SECONDS: Final = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
_SHIFTS: Final = {"": 0, "k": 10, "m": 20, "g": 30}
_LAST_PORT: Final = 65535
_MOST_WORKERS: Final = 64


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_text(text: str) -> str:
    """Any text."""
    return text


def read_address(text: str) -> Address | None:
    """``127.0.0.1:4317``, ``[::1]:4317``, ``localhost:4317``; None for ``off``."""
    if text.lower() in {"off", "false"}:
        return None
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > _LAST_PORT:
        raise ValueError(f"expected `HOST:PORT` or `off`, found `{text}`")
    return Address(host, int(port))


def read_duration(text: str) -> int:
    """``500ms``, ``10s``, ``5m``, ``24h``, ``7d`` in nanoseconds."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"expected a time such as `500ms`, `10s`, `5m` or `24h`, found `{text}`")
    return int(float(found[1]) * _SECONDS[found[2]] * 1_000_000_000)


def read_size(text: str) -> int:
    """``4MiB``, ``64M``, ``1G`` in bytes."""
    found = _SIZE.fullmatch(text.strip())
    size = int(found[1]) << _SHIFTS[found[2].lower()] if found else 0
    if size <= 0:
        raise ValueError(f"expected a size such as `4MiB` or `1G`, found `{text}`")
    return size


def read_count(text: str) -> int:
    """A whole number from 1."""
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ValueError(f"expected a whole number from 1, found `{text}`")
    return int(text)


def read_workers(text: str) -> int:
    """A whole number from 1 to 64."""
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= _MOST_WORKERS:
        raise ValueError(f"expected a whole number from 1 to {_MOST_WORKERS}, found `{text}`")
    return int(text)


def read_flag(text: str) -> bool:
    """``true`` or ``false``."""
    if text.lower() not in {"true", "false", "1", "0"}:
        raise ValueError(f"expected `true` or `false`, found `{text}`")
    return text.lower() in {"true", "1"}


def read_choice(*words: str) -> Callable[[str], str]:
    """One of some words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected {' or '.join(f'`{word}`' for word in words)}, found `{text}`")
        return text

    return read
