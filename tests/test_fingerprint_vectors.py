"""The published fingerprint vectors, recomputed with the standard library alone, as an implementer elsewhere would.

Nothing of ours is used to recompute: `Canon` is a second, independent reading of the rules.
"""

from __future__ import annotations

import hmac
import json
import re
import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

FILE: Final = Path(__file__).resolve().parent / "vectors" / "fingerprint.json"
DOCUMENT: Final[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
VECTORS: Final[list[dict[str, Any]]] = DOCUMENT["vectors"]

VOLATILE: Final = {"request_id", "trace_id", "span_id", "timestamp", "now", "nonce", "idempotency_key"}
BLANKS: Final = " \t\n\v\f\r"


class Members(list[tuple[str, Any]]):
    """An object as its members in order."""


class Literal(str):
    """A number as it is spelled."""

    __slots__ = ()


class Canon:
    """Canonical text under one profile."""

    def __init__(self, profile: str) -> None:
        self.standard = profile != "strict"
        self.lenient = profile == "lenient"

    def of(self, text: str) -> str:
        """The canonical text of arguments given as JSON text."""
        try:
            data = json.loads(text, object_pairs_hook=Members, parse_int=Literal, parse_float=Literal)
        except ValueError:
            data = text
        return self.write(data, top=True)

    def write(self, data: Any, *, top: bool = False) -> str:  # noqa: ANN401 - whatever JSON says
        """Canonical text of one value."""
        if data is None or isinstance(data, bool):
            return json.dumps(data)
        if isinstance(data, Literal):
            return self.number(data)
        if isinstance(data, str):
            return self.string(self.adjusted(data))
        if not isinstance(data, Members):
            return "[" + ",".join(self.write(item) for item in data) + "]"
        members = [(unicodedata.normalize("NFC", key), value) for key, value in data]
        names = [key for key, _ in members]
        if self.standard:
            members = [(key, value) for key, value in members if not (value is None and names.count(key) == 1)]
            members = [(key, value) for key, value in members if not (top and key in VOLATILE)]
        names = [key for key, _ in members]
        if len(set(names)) == len(names):
            members.sort(key=lambda member: member[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(self.string(key) + ":" + self.write(value) for key, value in members) + "}"

    def adjusted(self, text: str) -> str:
        """A text under the profile."""
        text = unicodedata.normalize("NFC", text)
        if self.standard and text.strip(BLANKS):
            text = text.strip(BLANKS)
            if self.lenient:
                text = text if "\n" in text else re.sub("[ \t]+", " ", text)
        return unicodedata.normalize("NFC", text.casefold()) if self.lenient else text

    @staticmethod
    def string(text: str) -> str:
        """RFC 8785 section 3.2.2.2."""
        short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
        return '"' + "".join(short.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text) + '"'

    def number(self, literal: str) -> str:
        """A number: exact where it is an integer in the text, else the double that every parser makes of it."""
        sign = "-" if literal[0] == "-" else ""
        mantissa, _, power = literal.lstrip("-").lower().partition("e")
        whole, _, fraction = mantissa.partition(".")
        if power or fraction or "." in mantissa:
            double = float(literal)
            if double not in (float("inf"), float("-inf")):
                if self.lenient:
                    double = float(round(Decimal(repr(double)), 2))
                if not double.is_integer():
                    return self.ecmascript(double)
                spelled = Decimal(repr(double)).normalize()
                few = len(spelled.as_tuple().digits) <= 12
                return str(int(spelled if abs(double) >= 2**53 and few else double))
        digits = (whole + fraction).lstrip("0")
        exponent = int(power or 0) - len(fraction)
        short = digits.rstrip("0")
        exponent += len(digits) - len(short)
        if not short:
            return "0"
        plain = len(short) + exponent <= 400
        return sign + (short + "0" * exponent if plain else f"{short}e{exponent}")

    @staticmethod
    def ecmascript(double: float) -> str:
        """Number::toString of ECMAScript for a double that is not integral, so below 2^53."""
        sign, digits, exponent = Decimal(repr(double)).normalize().as_tuple()
        text = "".join(map(str, digits))
        point = len(text) + int(exponent)
        if point > 0:
            shown = f"{text[:point]}.{text[point:]}"
        elif point > -6:
            shown = "0." + "0" * -point + text
        else:
            shown = (text[0] + ("." + text[1:] if text[1:] else "")) + f"e{point - 1}"
        return ("-" if sign else "") + shown


def derived(secret: bytes, info: str) -> bytes:
    """HKDF-SHA256 of RFC 5869 without a salt: one block of 32 bytes."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, info.encode() + b"\x01", "sha256")


def name_of(vector: dict[str, Any]) -> str:
    """A short name for a vector."""
    return f"{vector['profile']} {vector['json'][:40]}".encode("ascii", "backslashreplace").decode()


@pytest.mark.parametrize("vector", VECTORS, ids=name_of)
def test_vector(vector: dict[str, Any]) -> None:
    """Canonical text and fingerprint follow from the input alone."""
    canonical = Canon(vector["profile"]).of(vector["json"]).encode("utf-8", "surrogatepass")
    if "canonical" in vector:
        assert canonical == vector["canonical"].encode()
    else:
        assert canonical.hex() == vector["canonical_hex"]
    secret = bytes.fromhex(DOCUMENT["keys"][vector["key"]]["hex"])
    purpose = {"arguments": "arguments", "result": "results", "state": "state"}[vector["purpose"]]
    key = derived(secret, f"otel-loopguard/1/{purpose}/{vector['scope']}/{vector['scope_value']}")
    message = canonical
    if "tool" in vector:
        parts = [Canon.string(unicodedata.normalize("NFC", vector["tool"])).encode(), canonical]
        parts += [vector["attributes"].encode()] if "attributes" in vector else []
        message = b"[" + b",".join(parts) + b"]"
    assert hmac.digest(key, message, "sha256").hex()[:32] == vector["fingerprint"]


@pytest.mark.parametrize("name", sorted(DOCUMENT["keys"]))
def test_key_id(name: str) -> None:
    """A derived key id is the first four bytes of the key for purpose `id`."""
    key = DOCUMENT["keys"][name]
    assert derived(bytes.fromhex(key["hex"]), "otel-loopguard/1/id//")[:4].hex() == key["id"]


def test_the_file_is_what_the_product_computes() -> None:
    """The file stands as published: a change of the form must show as a change of the file."""
    from tests.support.make_fingerprint_vectors import document

    assert document() == DOCUMENT


def test_the_file_is_worth_publishing() -> None:
    """Enough vectors, every profile and scope, no two of them alike, and distinct inputs that are one call."""
    assert len(VECTORS) >= 60
    assert {vector["profile"] for vector in VECTORS} == {"strict", "standard", "lenient"}
    assert {vector["scope"] for vector in VECTORS} == {"environment", "service", "run"}
    keys = ("json", "profile", "purpose", "key", "scope", "scope_value", "tool", "attributes")
    assert len({tuple(vector.get(key) for key in keys) for vector in VECTORS}) == len(VECTORS)
