"""Tags: fingerprints and names cut to numbers of 32 or 64 bits, which is enough to tell the calls of one run apart.

Not fingerprints: they are never emitted, and never compared across runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

__all__ = [
    "FAILED", "MASK", "kept_name", "key_of", "name_tag", "number_of", "print_of",
    "print_of_fingerprint", "salt_of", "short",
    "symbol_of", "symbol_of_key", "tag_of", "tag_of_two",
]  # fmt: skip

MASK: Final = (1 << 64) - 1
FAILED: Final = 1
"""Set in the 32-bit tags of answers that are errors, and in no others."""
_ODD: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: spreads sums of keys (Knuth, volume 3, section 6.4)."""
_CACHED_NAME: Final = 128
"""Characters of a name that is worth a place in the cache: nothing longer is a tool's name."""
_NAMES: Final = 1024
_names: Final[dict[str, int]] = {}
"""Hashes of names, which come again with every call; plain dicts, which compiled code asks in a third of the time."""
_SYMBOLS: Final = 4096
_symbols: Final[dict[int, int]] = {}


def number_of(fingerprint: str) -> int:
    """The first 64 bits of a fingerprint; of a text that is none, which only another program can have made, a hash."""
    try:
        return int(fingerprint[:16], 16) & MASK
    except ValueError:
        return _hash(fingerprint)


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def _name(name: str) -> int:
    """64 bits for a name."""
    known = _names.get(name)
    if known is not None:
        return known
    made = _hash(name)
    if len(name) <= _CACHED_NAME:
        if len(_names) >= _NAMES:
            _names.clear()
        _names[name] = made
    return made


def name_tag(name: str) -> int:
    """32 bits for a name."""
    return _name(name) >> 32


def kept_name(name: str, longest: int) -> str:
    """A name as a history keeps it: its first characters, and of halves of surrogate pairs a question mark."""
    name = name[:longest]
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def salt_of(key_id: str) -> int:
    """What binds a fingerprint to its key: fingerprints under different key ids are never equal."""
    return _name(key_id)


def key_of(fingerprint: str | None, key_id: str) -> int | None:
    """64 bits for a call, bound to the key of its fingerprint."""
    return None if fingerprint is None else number_of(fingerprint) ^ salt_of(key_id)


def print_of(key: int, salt: int) -> str:
    """The first 64 bits of the fingerprint that a key was made of: 16 hex digits, as evidence shows them."""
    return f"{key ^ salt:016x}"


def print_of_fingerprint(fingerprint: str) -> str:
    """What `print_of` gives for its key: the one spelling of evidence."""
    return f"{number_of(fingerprint):016x}"


def short(number: int | None) -> int | None:
    """The upper half of a 64-bit tag."""
    return None if number is None else number >> 32


def tag_of(*numbers: int) -> int:
    """32 bits for some numbers in order."""
    mixed = 0
    for number in numbers:
        mixed = ((mixed ^ number) * _ODD) & MASK
    return mixed >> 32


def tag_of_two(one: int, other: int) -> int:
    """What `tag_of` gives for two numbers, without making a tuple of them."""
    return ((((one * _ODD) & MASK) ^ other) * _ODD & MASK) >> 32


def symbol_of_key(key: int) -> int:
    """What `symbol_of` gives for one key alone, as of most turns: asked several times of each."""
    known = _symbols.get(key)
    if known is not None:
        return known
    made = (((key ^ (key >> 29)) * _ODD) & MASK) >> 32
    if len(_symbols) >= _SYMBOLS:
        _symbols.clear()
    _symbols[key] = made
    return made


def symbol_of(keys: Iterable[int | None]) -> int | None:
    """32 bits for a set of keys, whatever their order; None where one is unknown: such a set equals no other."""
    total = 0
    for key in keys:
        if key is None:
            return None
        total += (key ^ (key >> 29)) * _ODD
    return (total & MASK) >> 32
