"""Keyed fingerprints of canonical bytes: equal for equal calls, meaningless without the key.

Not a cipher: nothing can be read back. The message forms and the derivation are fixed, so that an agent in another
language computes the same (``tests/vectors/fingerprint.json``):

- key of a purpose = HKDF-SHA256 (RFC 5869) of the secret, no salt, 32 bytes, info = the UTF-8 text
  ``otel-loopguard/1/<purpose>/<scope>/<value>``; purposes `arguments`, `results`, `words`, `state`; scopes
  `environment` (value empty), `service` (value: the service's name), `run` (value: the run's id)
- fingerprint = the first 128 bits of HMAC-SHA256 (RFC 2104), 32 lowercase hex digits
- messages: of a call, the canonical JSON array of tool name and arguments, with a policy scope of tool name,
  arguments and the object of scope values; of a result or a state its canonical bytes; of an error
  ``error``, a nought byte and the text; of an error's shape ``shape``, a nought byte and the text
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NoReturn

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .jcs import write
from .uniform import composed

__all__ = ["EPHEMERAL", "Fingerprinter", "KeyScope", "Keyring", "SecretKey", "fingerprinter"]

KeyScope = Literal["environment", "service", "run"]

EPHEMERAL: Final = "ephemeral"
"""Id of a key that lives as long as its process."""

MIN_SECRET: Final = 32
"""Bytes: the strength of the hash."""


def derive(secret: bytes, purpose: str, scope: str = "", value: str = "") -> bytes:
    """The key for one purpose and scope: 32 bytes."""
    info = f"otel-loopguard/1/{purpose}/{scope}/{value}".encode("utf-8", "surrogatepass")
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


class SecretKey:
    """One secret with its public id; nothing that prints, copies or pickles it shows the secret."""

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes, id: str | None = None) -> None:  # noqa: A002 - the key's id is its name
        if len(secret) < MIN_SECRET:
            raise ValueError(f"a secret needs at least {MIN_SECRET} bytes")
        self._secret = secret
        self.id = id if id is not None else derive(secret, "id")[:4].hex()

    def derive(self, purpose: str, scope: str, value: str) -> bytes:
        """The key for one purpose and scope: 32 bytes."""
        return derive(self._secret, purpose, scope, value)

    def __repr__(self) -> str:
        return f"SecretKey({self.id!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret key is not pickled: read it from the settings where it is needed")

    def __copy__(self) -> SecretKey:
        return self

    def __deepcopy__(self, memo: object) -> SecretKey:
        return self


class Keyring:
    """The keys of a process: one makes fingerprints, all are known by id."""

    __slots__ = ("_keys", "active")

    def __init__(self, active: SecretKey, others: Iterable[SecretKey] = ()) -> None:
        self.active = active
        self._keys: dict[str, SecretKey] = {key.id: key for key in (*others, active)}

    @property
    def keys(self) -> Mapping[str, SecretKey]:
        """All keys by id."""
        return dict(self._keys)

    def __repr__(self) -> str:
        return f"Keyring(active={self.active.id!r}, keys={sorted(self._keys)})"


class Fingerprinter:
    """Makes the fingerprints of one key and scope."""

    __slots__ = ("_arguments", "_prefixes", "_results", "_state", "_words", "key_id")

    def __init__(self, key: SecretKey, scope: KeyScope = "environment", value: str = "") -> None:
        self.key_id = key.id
        self._arguments = _Keyed(key.derive("arguments", scope, value))
        self._results = _Keyed(key.derive("results", scope, value))
        self._state = _Keyed(key.derive("state", scope, value))
        self._words = Cipher(algorithms.AES(key.derive("words", scope, value)), modes.ECB())  # noqa: S305
        self._prefixes: dict[str, bytes] = {}

    def arguments(self, tool: str, canonical: bytes, scope: bytes | None = None) -> str:
        """Fingerprint of a call: tool name, canonical arguments, canonical object of scope values."""
        prefix = self._prefixes.get(tool)
        if prefix is None:
            if len(self._prefixes) >= _MOST_TOOLS:
                self._prefixes.clear()
            prefix = self._prefixes[tool] = b"[" + write(composed(tool)) + b","
        message = prefix + canonical + (b"]" if scope is None else b"," + scope + b"]")
        return self._arguments.hex(message)

    def result(self, canonical: bytes) -> str:
        """Fingerprint of a result."""
        return self._results.hex(canonical)

    def error(self, text: bytes) -> str:
        """Fingerprint of an error's message key."""
        return self._results.hex(b"error\x00" + text)

    def shape(self, text: bytes) -> str:
        """Fingerprint of an error message's shape."""
        return self._results.hex(b"shape\x00" + text)

    def state(self, canonical: bytes) -> str:
        """Fingerprint of the application's own state."""
        return self._state.hex(canonical)

    def tags(self, values: list[bytes]) -> tuple[int, ...]:
        """A keyed 32-bit number for each value, in order, equal for equal values."""
        if not values:
            return ()
        short = [value if len(value) <= _SHORT else hashlib.sha256(value).digest()[:_SHORT] for value in values]
        blocks = struct.pack("16p" * len(short), *short)
        sealed = self._words.encryptor().update(blocks)
        return struct.unpack(">" + "I12x" * len(short), sealed)

    def __repr__(self) -> str:
        return f"Fingerprinter(key_id={self.key_id!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a fingerprinter is not pickled: it holds a secret")

    def __copy__(self) -> Fingerprinter:
        return self

    def __deepcopy__(self, memo: object) -> Fingerprinter:
        return self


_SHORT: Final = 15
"""Longest value that fits a cipher block beside its length."""

_MOST_TOOLS: Final = 256


class _Keyed:
    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        block = key.ljust(64, b"\x00")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def hex(self, message: bytes) -> str:
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()[:32]


def fingerprinter(ring: Keyring, scope: KeyScope, value: str = "") -> Fingerprinter:
    """The fingerprinter of the active key for a scope."""
    return Fingerprinter(ring.active, scope, "" if scope == "environment" else value)
