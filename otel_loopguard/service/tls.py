"""Certificates of the server, read again when their files change.

Not a certificate authority: files in PEM, as every one makes them. A new connection gets the files in force; one that
is open keeps what it began with.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from otel_loopguard.errors import SettingError

__all__ = ["Certificates", "Pem"]

_CHECK_EVERY_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, repr=False)
class Pem:
    """The contents of the files."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None


class Certificates:
    """A certificate with its key, and the authority whose clients alone may come in, where one is given."""

    def __init__(
        self, certificate: str, key: str, client_ca: str | None, tell: Callable[[str], None], now_ns: Callable[[], int]
    ) -> None:
        """Raises `SettingError` for files that are missing or are no certificate."""
        self._paths = (certificate, key, *((client_ca,) if client_ca is not None else ()))
        self._tell = tell
        self._now_ns = now_ns
        self._checked = now_ns()
        self._signature = self._sign()
        self.context, self.pem = self._load()

    @property
    def wants_clients(self) -> bool:
        """Whether clients must show a certificate."""
        return self.pem.client_ca is not None

    def refresh(self) -> bool:
        """Read the files again where they changed; whether they did. Wrong files leave what was read in force."""
        now = self._now_ns()
        if now - self._checked < _CHECK_EVERY_NS:
            return False
        self._checked = now
        signature = self._sign()
        if signature == self._signature:
            return False
        self._signature = signature
        try:
            self.context, self.pem = self._load()
        except SettingError as error:
            self._tell(f"{error}; the certificates that were read before stay in force")
            return False
        self._tell("the certificates have changed and were read again")
        return True

    def _sign(self) -> tuple[tuple[int, ...], ...]:
        return tuple(_signature(path) for path in self._paths)

    def _load(self) -> tuple[ssl.SSLContext, Pem]:
        certificate, key, *authority = self._paths
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(certificate, key)
            pem = Pem(
                Path(certificate).read_bytes(),
                Path(key).read_bytes(),
                Path(authority[0]).read_bytes() if authority else None,
            )
            if authority:
                context.load_verify_locations(authority[0])
                context.verify_mode = ssl.CERT_REQUIRED
        except OSError as error:  # an ssl.SSLError is one
            which = f"`{error.filename}`" if error.filename else " and ".join(f"`{path}`" for path in self._paths)
            raise SettingError(
                f"{which} cannot be used for TLS: {error.strerror or error}; files in PEM are expected, the key "
                "belonging to the certificate",
                name="tls",
            ) from None
        return context, pem


def _signature(path: str) -> tuple[int, ...]:
    """What changes when a file does; nothing where it cannot be seen."""
    try:
        found = os.stat(path)  # noqa: PTH116 - a path object for every check is of no use
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino
