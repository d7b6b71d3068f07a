"""A secret key as people write it: hex or base64.

Not a password: nothing is stretched, so anything shorter than the hash is refused. No message repeats what was
written, and no error keeps it in a frame.
"""

from __future__ import annotations

import base64
import re
import secrets
from typing import Final

from otel_loopguard.core.fingerprint import MIN_SECRET
from otel_loopguard.errors import KeySettingError

__all__ = ["decode_secret", "new_secret"]

_FEWEST: Final = 8
"""Different bytes of a key: of 32 random bytes fewer than 8 differ once in 10^36 keys, in a repeated word always."""
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2})+")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


def new_secret() -> str:
    """A new key from the operating system's randomness, in base64."""
    return base64.b64encode(secrets.token_bytes(MIN_SECRET)).decode("ascii")


def decode_secret(text: str, name: str) -> bytes:
    """The bytes of a key written in hex or base64 (either alphabet, padded or not); hex digits alone are hex.

    ``name`` says where it was written. Raises `KeySettingError` for anything else, for fewer than 32 bytes, and for
    bytes that repeat so much that they were not drawn at random.
    """
    secret = _decoded("".join(text.split()))
    if secret is not None and len(secret) >= MIN_SECRET and len(set(secret)) >= _FEWEST:
        return secret
    size = None if secret is None else len(secret)
    del text, secret  # a traceback with local variables must not show them
    if size is None:
        message = (
            f"`{name}` is neither hex nor base64, write at least {MIN_SECRET} random bytes in one of them, as "
            "`loopguard key new` prints a key"
        )
    elif size >= MIN_SECRET:
        message = f"`{name}` repeats a few bytes and can be guessed: `loopguard key new` makes a random key"
    else:
        message = (
            f"`{name}` has {size} bytes, a key needs at least {MIN_SECRET}, in hex or base64: "
            "`loopguard key new` makes one"
        )
    raise KeySettingError(message, name=name)


def _decoded(text: str) -> bytes | None:
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    body = text.rstrip("=").translate(_STANDARD)
    if not _BASE64.fullmatch(text) or len(body) % 4 == 1:
        return None
    return base64.b64decode(body + "=" * (-len(body) % 4))


_STANDARD: Final = str.maketrans("-_", "+/")
