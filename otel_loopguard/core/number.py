"""Numbers as canonical text: equal numbers have equal texts, however they were written or typed.

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
from typing import Final

from .unknown import MAX_DIGITS, UnreadableError

__all__ = ["number_text", "round_half_even"]

_EXACT: Final = 2**53
"""From here on not every integer is a double."""

_SPELLED: Final = 12
"""Significant digits up to which a large double means the integer that they spell."""

_PLAIN_DIGITS: Final = 400
_PLAIN: Final = 10**_PLAIN_DIGITS

_MAX_BITS: Final = MAX_DIGITS * 3322 // 1000
"""log2(10) is 3.3219."""


def number_text(number: int | float | Decimal) -> str:
    """Canonical text of a number that is no truth value.

    Raises `UnreadableError` for an integer of more than `MAX_DIGITS` digits.
    """
    if isinstance(number, int):
        return _integer_text(number)
    if isinstance(number, float):
        return _float_text(number)
    return _decimal_text(number)


def _integer_text(number: int) -> str:
    if -_PLAIN < number < _PLAIN:
        return str(number)
    if number.bit_length() > _MAX_BITS:
        raise UnreadableError("too_large")
    return _scientific(Decimal(number))


def _float_text(number: float) -> str:
    if number.is_integer():
        return str(_integer_of(number))
    text = repr(number)
    if "e" not in text:
        return text if number == number and number not in (_INFINITY, -_INFINITY) else _NOT_FINITE[text]  # noqa: PLR0124 - NaN
    # Not integral, so below 2^53: the exponent that Python writes is negative, below -4.
    mantissa, _, exponent = text.partition("e-")
    places = int(exponent)
    if places > 6:  # ECMAScript writes 0.000001 in full and 1e-7 with an exponent
        return f"{mantissa}e-{places}"
    sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
    return f"{sign}0.{'0' * (places - 1)}{digits.replace('.', '')}"


_INFINITY: Final = float("inf")
_NOT_FINITE: Final = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _integer_of(number: float) -> int:
    if -_EXACT < number < _EXACT:
        return int(number)
    spelled = Decimal(repr(number))
    return int(spelled if len(_significant(spelled)[1]) <= _SPELLED else number)


def _decimal_text(number: Decimal) -> str:
    if not number.is_finite():
        return "NaN" if number.is_nan() else "Infinity" if number > 0 else "-Infinity"
    _, digits, exponent = _significant(number)
    if exponent >= 0:
        return _integer_text(int(number)) if len(digits) + exponent <= _PLAIN_DIGITS else _scientific(number)
    nearest = float(number)
    if nearest in (_INFINITY, -_INFINITY):  # beyond a double, so its fraction is below anything that could matter
        return _scientific(number)
    return _float_text(nearest)


def _significant(number: Decimal) -> tuple[str, str, int]:
    """Sign, digits without trailing noughts (none for nought), exponent of the last of them."""
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    short = text.rstrip("0")
    assert isinstance(exponent, int)  # finite, as every caller has made sure
    return "-" if sign and short else "", short, exponent + len(text) - len(short) if short else 0


def _scientific(number: Decimal) -> str:
    sign, digits, exponent = _significant(number)
    if len(digits) > MAX_DIGITS:
        raise UnreadableError("too_large")
    return f"{sign}{digits}e{exponent}"


def round_half_even(number: int | float | Decimal, places: int) -> int | float | Decimal:
    """``number`` rounded half to even, on the decimal as it is written (``2.675`` is exactly that, whatever a double
    makes of it); infinities, NaN and numbers too large to have a fraction stay."""
    exact = number if isinstance(number, Decimal) else Decimal(repr(number) if isinstance(number, float) else number)
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
    return exact.quantize(Decimal((0, (1,), -places)), ROUND_HALF_EVEN, _ROUNDING)


_ROUNDING: Final = Context(prec=MAX_DIGITS + 1, Emin=MIN_EMIN, Emax=MAX_EMAX)
