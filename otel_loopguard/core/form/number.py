"""Numbers: which of them are one, and how that one is written. Equal numbers have equal texts, however they were
written or typed.

Not arithmetic: nothing here is computed from a number whose digits could be astronomically many.

- An integer is its decimal digits, exactly. One of more than 400 digits is its significant digits and an exponent
  (``1e999999999``), so that an exponent of a billion costs nothing.
- A double that is not integral is written as ECMAScript writes it (RFC 8785 section 3.2.2.3).
- An integral double below 2^53 is that integer; ``-0.0`` is ``0``. At 2^53 and beyond doubles have gaps: one that at
  most twelve significant digits spell is the integer which those digits spell (``1e23`` is ten to the 23rd), any
  other the integer that it holds (``2.0**60`` is two to the sixtieth). People and models write few digits;
  arithmetic and ids have sixteen.
- A decimal number that is not integral is the nearest double, as for every JSON parser.
- NaN and the infinities, which JSON lacks, are the bare words `NaN`, `Infinity` and `-Infinity`.
"""

from __future__ import annotations

from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal
from math import isfinite
from typing import Final

from .unknown import MAX_DIGITS, UnreadableError

__all__ = ["number_text", "rounded", "uniform_number"]

Number = int | float | Decimal

_GAPS: Final = 2**53
"""From here on not every integer is a double."""

_SPELLED: Final = 12
"""Significant digits up to which a large double means the integer that they spell."""

_PLAIN_DIGITS: Final = 400
_PLAIN: Final = 10**_PLAIN_DIGITS

_MAX_BITS: Final = MAX_DIGITS * 3321 // 1000
"""log2(10) is 3.3219."""

_NATIVE: Final = 0.00001
"""The least double that the native JSON encoder writes as ECMAScript does; below it both use an exponent, from
different points on."""


def uniform_number(number: Number) -> Number:
    """``number`` by the one of its types that equal numbers share: int where it is integral and has at most 400
    digits, else float where the native encoder writes that as ECMAScript does, else `Decimal`.

    Raises `UnreadableError` for more than `MAX_DIGITS` significant digits.
    """
    if isinstance(number, int):
        if -_PLAIN < number < _PLAIN:
            return number
        if number.bit_length() > _MAX_BITS:
            raise UnreadableError("too_large")
        return Decimal(number)
    if isinstance(number, float):
        return _uniform_float(number)
    return _uniform_decimal(number) if number.is_finite() else number


def _uniform_decimal(number: Decimal) -> Number:
    _, digits, exponent = _significant(number)
    if len(digits) > MAX_DIGITS:
        raise UnreadableError("too_large")
    if exponent >= 0:
        return int(number) if len(digits) + exponent <= _PLAIN_DIGITS else number
    nearest = float(number)
    if not isfinite(nearest) or Decimal(repr(nearest)) != number:
        return number  # kept for `rounded`, and written as the nearest double
    return _uniform_float(nearest)


def _uniform_float(number: float) -> Number:
    if not isfinite(number):
        return Decimal(number)
    if not number.is_integer():
        return number if number >= _NATIVE or number <= -_NATIVE else Decimal(repr(number))
    if -_GAPS < number < _GAPS:
        return int(number)
    spelled = Decimal(repr(number))
    return int(spelled if len(_significant(spelled)[1]) <= _SPELLED else number)


def number_text(number: Number) -> str:
    """Canonical text of a number.

    Raises `UnreadableError` for more than `MAX_DIGITS` significant digits.
    """
    number = uniform_number(number)
    if isinstance(number, int):
        return str(number)  # at most 400 digits, which every limit of the interpreter allows
    if isinstance(number, float):
        return _double_text(number)
    if not number.is_finite():
        return "NaN" if number.is_nan() else "Infinity" if number > 0 else "-Infinity"
    sign, digits, exponent = _significant(number)
    nearest = float(number) if exponent < 0 else _BEYOND
    if not isfinite(nearest):
        return f"{sign}{digits}e{exponent}"
    return str(_uniform_float(nearest)) if nearest.is_integer() else _double_text(nearest)


_BEYOND: Final = float("inf")


def _double_text(number: float) -> str:
    text = repr(number)
    mantissa, _, exponent = text.partition("e-")
    if not exponent:
        return text
    places = int(exponent)
    if places > _ECMASCRIPT_PLACES:
        return f"{mantissa}e-{places}"
    sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    return f"{sign}0.{'0' * (places - 1)}{digits.replace('.', '')}"


_ECMASCRIPT_PLACES: Final = 6
"""ECMAScript writes 0.000001 in full and 1e-7 with an exponent."""


def rounded(number: Number, places: int) -> Number:
    """``number`` rounded half to even, on the decimal as it is written: ``2.675`` is exactly that, whatever a double
    makes of it. Infinities, NaN and numbers too large to have such a place stay.
    """
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite():
        return number
    _, digits, exponent = _significant(exact)
    excess = -exponent - places
    if excess <= 0 or not digits:
        return number
    if excess > len(digits):  # below half of the last place, however far the exponent reaches
        return 0
    if len(digits) > MAX_DIGITS:
        raise UnreadableError("too_large")
    return uniform_number(exact.quantize(Decimal((0, (1,), -places)), ROUND_HALF_EVEN, _ROUNDING))


_ROUNDING: Final = Context(prec=MAX_DIGITS + 1, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _significant(number: Decimal) -> tuple[str, str, int]:
    """Sign, digits without noughts at either end (none for nought), exponent of the last of them."""
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    if not short or not isinstance(exponent, int):  # a text stands for NaN or an infinity, which have no digits here
        return "", "", 0
    return "-" if sign else "", short, exponent + len(text) - len(short)
