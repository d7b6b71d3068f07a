"""Names and ids as they are kept: as they came, or in a short form where they are longer than any real one.

Not a secret and not content: whoever knows the whole text can make the short form, on every host the same.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final

__all__ = ["LONGEST", "bounded"]

LONGEST: Final = 256
"""Characters of a name or id that is kept as it came: semantic conventions give no limit, and no known one is longer.
What is counted in memory is thereby counted in bytes too."""
_BEGINNING: Final = 64
"""Characters of a longer one that stay readable."""
_DIGITS: Final = 32
"""Hex digits of the hash of the whole: 128 bits, so that no two are ever taken for one."""


def bounded(name: object) -> str:
    """A name or id of any length as one of at most `LONGEST` characters; equal texts, and only those, stay equal.

    What is no text, whatever hosts take for an id, is spelled out first; an enumeration's text is its value.

    A longer text is its beginning, an ellipsis, and hex digits of the SHA-256 of the whole. The form of a form is
    itself.
    """
    text = name if type(name) is str else str.__str__(name) if isinstance(name, str) else str(name)
    if len(text) <= LONGEST:
        return text
    return f"{text[:_BEGINNING]}…{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:_DIGITS]}"
