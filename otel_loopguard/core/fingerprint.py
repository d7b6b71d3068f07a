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
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final, Literal, NoReturn, Protocol

from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from .form.jcs import write
from .form.uniform import composed
from .words import NUMBERED

__all__ = ["EPHEMERAL", "MIN_SECRET", "Fingerprinter", "KeyScope", "Keyring", "SecretKey", "fingerprinter"]

KeyScope = Literal["environment", "service", "run"]

EPHEMERAL: Final = "ephemeral"
"""Id of a key that lives as long as its process."""

MIN_SECRET: Final = 32
"""Bytes: the strength of the hash."""


def _derive(secret: bytes, purpose: str, scope: str = "", value: str = "") -> bytes:
    """The key for one purpose and scope: 32 bytes."""
    info = f"otel-loopguard/1/{purpose}/{scope}/{value}".encode("utf-8", "surrogatepass")
    return HKDF(algorithm=SHA256(), length=32, salt=None, info=info).derive(secret)


class _Hash(Protocol):
    """A hash under way, as `hashlib` makes it."""

    def copy(self) -> _Hash: ...
    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...


class _Sealed:
    """What holds a secret: never pickled, and a copy is the thing itself."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is not pickled, it holds a secret: make it where it is needed")

    def __getstate__(self) -> NoReturn:
        self.__reduce_ex__(None)

    def __copy__(self) -> _Sealed:
        return self

    def __deepcopy__(self, memo: object) -> _Sealed:
        return self


class SecretKey(_Sealed):
    """One secret with its public id; nothing that prints, copies or pickles it shows the secret."""

    __slots__ = ("_secret", "id")

    def __init__(self, secret: bytes, name: str | None = None) -> None:
        """``name`` becomes the id; else the id is derived from the secret, one way.

        Raises `ValueError` for fewer than 32 bytes.
        """
        self.id = name or ""  # first, because a traceback with local variables prints what is half made
        if len(secret) < MIN_SECRET:
            del secret  # a traceback with local variables must not show it
            raise ValueError(f"a secret needs at least {MIN_SECRET} bytes")
        self._secret = secret
        self.id = name or _derive(secret, "id")[:4].hex()

    def derive(self, purpose: str, scope: str, value: str) -> bytes:
        """The key for one purpose and scope: 32 bytes."""
        return _derive(self._secret, purpose, scope, value)

    def __repr__(self) -> str:
        return f"SecretKey({self.id!r})"


class Keyring(_Sealed):
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


class Fingerprinter(_Sealed):
    """Makes the fingerprints of one key and scope."""

    __slots__ = (
        "_arguments",
        "_arguments_outer",
        "_encryptors",
        "_known",
        "_results",
        "_state",
        "_tools",
        "_words",
        "key_id",
    )

    def __init__(self, key: SecretKey, scope: KeyScope = "environment", value: str = "") -> None:
        self.key_id = key.id
        self._arguments = _Keyed(key.derive("arguments", scope, value))
        self._results = _Keyed(key.derive("results", scope, value))
        self._state = _Keyed(key.derive("state", scope, value))
        # Every block is another value and its ciphertext a tag: a pseudo-random function, nothing is hidden by it.
        self._words = Cipher(algorithms.AES(key.derive("words", scope, value)), modes.ECB())  # noqa: S305
        self._encryptors: list[CipherContext] = []
        """Used one at a time, however many threads there are; between whole blocks they hold no state."""
        self._arguments_outer = self._arguments.outer
        self._tools: dict[str, _Hash] = {}
        self._known: dict[int, int] = {}
        """Tags of words seen lately, by the hash that Python itself gives a text in this process: no word is kept."""

    def arguments(self, tool: str, canonical: bytes, scope: bytes | None = None) -> str:
        """Fingerprint of a call: tool name, canonical arguments, canonical object of scope values."""
        begun = self._tools.get(tool)
        inner = self._begin(tool) if begun is None else begun.copy()
        inner.update(canonical + b"]" if scope is None else b"%b,%b]" % (canonical, scope))
        outer = self._arguments_outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()[:32]

    def _begin(self, tool: str) -> _Hash:
        """The hash of a call's message up to the arguments, kept for the next call of the tool."""
        begun = self._arguments.inner.copy()
        begun.update(b"[%b," % write(composed(tool)))
        if len(self._tools) >= _MOST_TOOLS:
            self._tools.clear()
        self._tools[tool] = begun
        return begun.copy()

    def result(self, canonical: bytes) -> str:
        """Fingerprint of a result."""
        return self._results.sign(canonical)

    def error(self, text: bytes) -> str:
        """Fingerprint of an error's message key."""
        return self._results.sign(b"error\x00" + text)

    def shape(self, text: bytes) -> str:
        """Fingerprint of an error message's shape."""
        return self._results.sign(b"shape\x00" + text)

    def state(self, canonical: bytes) -> str:
        """Fingerprint of the application's own state."""
        return self._state.sign(canonical)

    def tags(self, values: list[bytes]) -> tuple[int, ...]:
        """A keyed 32-bit number for each value, in order, equal for equal values.

        AES of one block each: a byte of length and up to fifteen bytes, of a longer value those of its SHA-256.
        """
        count = len(values)
        if not count:
            return ()
        for value in values:
            if len(value) > _SHORT:
                values = [one if len(one) <= _SHORT else hashlib.sha256(one).digest()[:_SHORT] for one in values]
                break
        into, out_of = _blocks(count)
        try:  # one that nobody uses right now: making one costs as much as a hundred blocks
            encryptor = self._encryptors.pop()
        except IndexError:
            encryptor = self._words.encryptor()
        tags = out_of.unpack(encryptor.update(into.pack(*values)))
        self._encryptors.append(encryptor)
        return tags

    def word_tags(self, words: Sequence[str]) -> list[int]:
        """`tags` of words in UTF-8, in any order; the lowest bit says whether the word has a digit.

        An agent's calls say the same words again, so most are looked up.
        """
        if len(words) > _FEW_WORDS:
            return self._made(words)
        known = self._known
        found: list[int] = []
        new: list[str] = []
        for word in words:
            tag = known.get(hash(word))
            if tag is None:
                new.append(word)
            else:
                found.append(tag)
        if new:
            made = self._made(new)
            if len(known) > _MOST_WORDS:
                known.clear()
            for place, word in enumerate(new):  # `zip` takes longer than one word
                known[hash(word)] = made[place]
            found += made
        return found

    def _made(self, words: Sequence[str]) -> list[int]:
        tags = self.tags([word.encode("utf-8", "surrogatepass") for word in words])
        made: list[int] = []
        for place, word in enumerate(words):
            made.append(tags[place] & ~NUMBERED if word.isalpha() else tags[place] | NUMBERED)
        return made

    def __repr__(self) -> str:
        return f"Fingerprinter(key_id={self.key_id!r})"


_SHORT: Final = 15
"""Longest value that fits a cipher block beside its length."""

_MOST_TOOLS: Final = 256
_MOST_WORDS: Final = 4096
_FEW_WORDS: Final = 32
"""Beyond that the cipher is faster than as many look-ups."""


@lru_cache(maxsize=512)
def _blocks(count: int) -> tuple[struct.Struct, struct.Struct]:
    """How ``count`` values become blocks, and blocks become tags."""
    return struct.Struct("16p" * count), struct.Struct(">" + "I12x" * count)


class _Keyed:
    """HMAC-SHA256 under one key; the hashes of the padded key are made once."""

    __slots__ = ("inner", "outer")

    def __init__(self, key: bytes) -> None:
        block = key.ljust(64, b"\x00")
        self.inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self.outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def sign(self, message: bytes) -> str:
        """The first 128 bits, in hex."""
        inner = self.inner.copy()
        inner.update(message)
        outer = self.outer.copy()
        outer.update(inner.digest())
        return outer.hexdigest()[:32]


def fingerprinter(ring: Keyring, scope: KeyScope, value: str = "", key_id: str | None = None) -> Fingerprinter:
    """The fingerprinter of a ring's active key, or of the one named, for a scope. A caller that needs many keeps them:
    each derives four keys.

    Raises `KeyError` for a ``key_id`` that the ring does not hold.
    """
    key = ring.active if key_id is None else ring.keys[key_id]
    return Fingerprinter(key, scope, "" if scope == "environment" else value)
