"""Bearer tokens and the tenants that they stand for.

Not users and not rights: whoever has a tenant's token may send that tenant's spans, and nobody can ask anything.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

from otel_loopguard.errors import SettingError

__all__ = ["NO_TENANT", "Tokens", "parse_tokens"]

NO_TENANT: Final = ""
"""The one tenant of a server without tokens."""
_SHORTEST: Final = 16
"""Characters of a token: what is shorter can be guessed."""
_TENANT: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/=-]+")
_BEARER: Final = "bearer "


class Tokens:
    """The tokens in force, as digests: no page and no traceback can show one."""

    __slots__ = ("_tenants",)

    def __init__(self, tenants: Mapping[bytes, str]) -> None:
        self._tenants = dict(tenants)

    def tenant(self, authorization: str | None) -> str | None:
        """The tenant of an `authorization` header; None for a token that is not known.

        All tokens are compared, each in constant time, so that how long it takes tells nothing.
        """
        header = authorization or ""
        token = header[len(_BEARER) :] if header[: len(_BEARER)].lower() == _BEARER else ""
        given = _digest(token.strip())
        found = None
        for digest, tenant in self._tenants.items():
            if hmac.compare_digest(given, digest):
                found = tenant
        return found

    def __len__(self) -> int:
        return len(self._tenants)

    def __repr__(self) -> str:
        return f"Tokens({len(self)})"


def parse_tokens(text: str) -> Tokens:
    """The tokens of a file: a line each, `TENANT TOKEN` or `TOKEN` alone; `#` begins a comment.

    Tokens with one tenant's name share its runs; a token without a name is a tenant of its own. Raises `SettingError`
    with the line, never with the token.
    """
    tenants: dict[bytes, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#", 1)[0].split()
        if not words:
            continue
        token = words[-1]
        digest = _digest(token)
        tenant = words[0] if len(words) > 1 else digest.hex()[:16]
        if len(words) > 2 or not _TENANT.fullmatch(tenant):  # noqa: PLR2004 - a name and a token
            raise SettingError(
                f"line {number} of the tokens is neither `TENANT TOKEN` nor `TOKEN`; a tenant's name has letters, "
                "digits, `.`, `_` and `-`",
                name="tokens",
            )
        if len(token) < _SHORTEST or not _TOKEN.fullmatch(token):
            raise SettingError(
                f"the token in line {number} is no bearer token of at least {_SHORTEST} characters, `openssl rand "
                "-hex 32` makes a good one",
                name="tokens",
            )
        tenants[digest] = tenant
    if not tenants:
        raise SettingError("the token file holds no token, one a line is expected", name="tokens")
    return Tokens(tenants)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
