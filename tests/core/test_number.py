"""Numbers: which are one, and how that one is written."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from otel_loopguard.core.form.number import number_text, rounded, uniform_number
from otel_loopguard.core.form.unknown import MAX_DIGITS, UnreadableError


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (-1.0, "-1"),
        (1e15, "1000000000000000"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (1e-5, "0.00001"),
        (1.5e-6, "0.0000015"),
        (-1e-6, "-0.000001"),
        (1e-7, "1e-7"),
        (-1.25e-9, "-1.25e-9"),
        (5e-324, "5e-324"),
        (1e16, "10000000000000000"),
        (1e21, "1" + "0" * 21),
        (1e23, "1" + "0" * 23),
        (6.02214076e23, "602214076" + "0" * 15),
        (2.0**53, "9007199254740992"),
        (2.0**60, "1152921504606846976"),
        (1.152921504606847e18, "1152921504606846976"),
        (1.7976931348623157e308, str(int(1.7976931348623157e308))),
        (2**53 + 1, "9007199254740993"),
        (10**399, "1" + "0" * 399),
        (10**400, "1e400"),
        (123 * 10**500, "123e500"),
        (-(10**400) - 1, "-1" + "0" * 399 + "1e0"),
        (Decimal("1.50"), "1.5"),
        (Decimal("-0"), "0"),
        (Decimal("1E+3"), "1000"),
        (Decimal("1e999999999"), "1e999999999"),
        (Decimal("1e-999999999"), "0"),
        (Decimal("0.1000000000000000000001"), "0.1"),
        (Decimal("9007199254740993.5"), "9007199254740994"),
        (Decimal("NaN"), "NaN"),
        (Decimal("sNaN"), "NaN"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_texts(number: float | Decimal, expected: str) -> None:
    """The canonical text of a number of every kind."""
    assert number_text(number) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
@example(9.5e-7)
@example(123e-20)
def test_doubles_below_two_to_the_53rd_are_written_as_the_standard_does(number: float) -> None:
    """RFC 8785 and we write the same wherever integers are exact."""
    if abs(number) < 2**53:
        assert number_text(number).encode() == rfc8785.dumps(number)


@given(st.integers(min_value=-(2**53), max_value=2**53) | st.integers(0, 1023).map(lambda power: 2**power))
def test_a_double_is_the_integer_that_it_equals(number: int) -> None:
    """Typed as float or as int, an integer that a double holds is one number."""
    held = float(number)
    if len(repr(held).partition("e")[0].replace(".", "").strip("-0")) > 12 or abs(number) < 2**53:
        assert number_text(held) == number_text(number)


@given(st.integers(-(10**12) + 1, 10**12 - 1), st.integers(0, 280))
def test_few_digits_with_an_exponent_are_the_integer_that_they_spell(digits: int, exponent: int) -> None:
    """Up to twelve digits and an exponent, parsed to a double, are the integer written in full."""
    assert number_text(float(f"{digits}e{exponent}")) == number_text(digits * 10**exponent)


@given(st.floats() | st.integers() | st.decimals())
def test_the_uniform_number_has_the_same_text(number: float | Decimal) -> None:
    """Making a number uniform does not change which number it is, and doing it twice does nothing more."""
    uniform = uniform_number(number)
    assert number_text(uniform) == number_text(number)
    assert repr(uniform_number(uniform)) == repr(uniform)
    assert not isinstance(uniform, float) or not uniform.is_integer()


@pytest.mark.parametrize(
    "number",
    [10 ** (MAX_DIGITS + 5) + 1, Decimal("7" * (MAX_DIGITS + 1)), Decimal("0." + "7" * (MAX_DIGITS + 1))],
    ids=["int", "integral", "fraction"],
)
def test_too_many_digits_are_refused(number: int | Decimal) -> None:
    """Significant digits are bounded, because converting them costs the square of their number."""
    with pytest.raises(UnreadableError):
        number_text(number)


@pytest.mark.parametrize(
    ("number", "places", "expected"),
    [
        (2.675, 2, "2.68"),
        (2.665, 2, "2.66"),
        (2.5, 0, "2"),
        (3.5, 0, "4"),
        (-2.5, 0, "-2"),
        (0.5, 0, "0"),
        (0.05, 1, "0"),
        (0.15, 1, "0.2"),
        (19.999, 2, "20"),
        (7, 2, "7"),
        (1250, -2, "1200"),
        (1350, -2, "1400"),
        (49, -2, "0"),
        (1e-300, 2, "0"),
        (Decimal("1e-999999999"), 3, "0"),
        (Decimal("1e999999999"), 3, "1e999999999"),
        (math.inf, 2, "Infinity"),
        (0, 2, "0"),
        (123456789.123456789, 3, "123456789.123"),
        (9.999, 2, "10"),
        (-0.001, 2, "0"),
    ],
)
def test_rounding_is_half_to_even_on_the_decimal_as_written(
    number: float | Decimal, places: int, expected: str
) -> None:
    """The decimal that people see is rounded, not the binary fraction beneath it."""
    assert number_text(rounded(number, places)) == expected


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=5), st.integers(0, 6)
)
def test_rounding_agrees_with_exact_fractions(number: Decimal, places: int) -> None:
    """The same as rounding the exact fraction, which Python does half to even."""
    assert Fraction(number_text(rounded(number, places))) == round(Fraction(number), places)
