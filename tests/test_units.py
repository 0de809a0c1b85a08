"""Quantities: a number needs a unit, tera is 10^12, GB is not GiB, and text and value convert without loss."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specsim import units
from specsim.units import format_exact, parse

DIMENSIONS = {
    "bytes": units.BYTES,
    "bandwidth": units.BANDWIDTH,
    "compute": units.COMPUTE,
    "time": units.TIME,
    "rate": units.RATE,
}
dimensions = st.sampled_from(sorted(DIMENSIONS)).map(DIMENSIONS.__getitem__)


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("3.35 TB/s", units.BANDWIDTH, 3.35e12),
        ("2.039 TB/s", units.BANDWIDTH, 2.039e12),
        ("989 TFLOP/s", units.COMPUTE, 989e12),
        ("1.979 PFLOP/s", units.COMPUTE, 1979e12),
        ("80 GB", units.BYTES, 80e9),
        ("80 GiB", units.BYTES, 80 * 2**30),
        ("81559 MiB", units.BYTES, 81559 * 2**20),
        ("1 TiB", units.BYTES, 2**40),
        ("4.2 us", units.TIME, 4.2e-6),
        ("4.2 µs", units.TIME, 4.2e-6),
        ("500 ms", units.TIME, 0.5),
        ("1.5 h", units.TIME, 5400.0),
        ("4 requests/s", units.RATE, 4.0),
        ("  1e2   kB ", units.BYTES, 1e5),
        (".5GB", units.BYTES, 5e8),
        ("0 ms", units.TIME, 0.0),
    ],
)
def test_a_quantity_is_the_float_nearest_to_what_was_written(text, dimension, value):
    assert parse(text, dimension) == value


def test_tera_is_decimal_and_gib_is_not_gb():
    assert parse("1 TFLOP/s", units.COMPUTE) == 1e12
    assert parse("1 TB", units.BYTES) == 1e12
    assert parse("1 GiB", units.BYTES) / parse("1 GB", units.BYTES) == 1.073741824


@pytest.mark.parametrize("bare", [80, 3.35e12, "80", "3.35e12", " 7 ", None, True, ["80 GB"], "", "GB"])
def test_a_number_without_a_unit_is_refused_with_an_example(bare):
    with pytest.raises(ValueError, match=r"unit.*\bGiB\b"):
        parse(bare, units.BYTES)


@pytest.mark.parametrize("text", ["80 Gb", "80 gib", "3.35 TB/s", "80 GB s", "80 G B", "1_000 B", "1,5 GB"])
def test_an_unknown_unit_is_named_together_with_the_known_ones(text):
    unit = re.sub(r"^[\d.]+\s*", "", text)
    with pytest.raises(ValueError, match=re.escape(f"unknown unit {unit!r}; write one of B, kB, MB, GB")):
        parse(text, units.BYTES)


@pytest.mark.parametrize(
    "text", ["-1 GB", "-1e-300 B", "nan GB", "inf GB", "-inf GB", "1e400 GB", "1e300 PB", "1e9999999 GB"]
)
def test_negative_and_non_finite_numbers_are_refused(text):
    with pytest.raises(ValueError, match=r"not a number|must be finite and not negative"):
        parse(text, units.BYTES)


@given(st.floats(0, 1e300), dimensions)
def test_every_value_survives_being_written_and_read(value, dimension):
    assert parse(format_exact(value, dimension), dimension) == value


@given(st.integers(0, 10**6), st.sampled_from(sorted(units.BYTES)))
def test_reading_a_whole_number_of_units_is_exact(number, unit):
    assert parse(f"{number} {unit}", units.BYTES) == number * units.BYTES[unit]


@given(st.floats(1e-290, 1e290), dimensions, st.data())
def test_a_parsed_quantity_is_rounded_once(number, dimension, data):
    unit = data.draw(st.sampled_from(sorted(dimension)))
    exact = Fraction(repr(number)) * Fraction(repr(dimension[unit]))
    assert parse(f"{number!r} {unit}", dimension) == float(exact)


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (80 * 2.0**30, units.BYTES, "80 GiB"),
        (989e12, units.COMPUTE, "989 TFLOP/s"),
        (0.0, units.TIME, "0 s"),
        (1e300, units.TIME, "1e+300 s"),
    ],
)
def test_a_value_is_written_with_a_unit_that_keeps_it_short(value, dimension, text):
    assert format_exact(value, dimension) == text
