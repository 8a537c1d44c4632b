"""Units: exact parsing, clear errors, formatting that reads back."""

import pickle
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdmacc import units
from tests.support import refused

BAD_NUMBERS = [True, np.True_, float("nan"), float("inf"), -1, -0.5, None, [1], 1j, Decimal("NaN")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, 1_000_000) for text in ("1us", "1 us", "1 µs")),
        ("0.1us", 100_000),
        ("1e-3 s", 1_000_000_000),
        (" 5ps ", 5),
        (".5ns", 500),
        ("0.3333333us", 333_333),
        ("0.0015ns", 2),
        ("0", 0),
        (0, 0),
        (units.us(3), 3_000_000),
    ],
)
def test_time_is_exact(text, expected):
    assert units.time_ps(text) == expected
    assert type(units.time_ps(text)) is int


@pytest.mark.parametrize(
    "number", [7, 7.0, np.int32(7), np.float64(7), Decimal(7), Fraction(7)], ids=lambda number: type(number).__name__
)
def test_a_bare_time_needs_a_field_in_picoseconds(number):
    assert units.time_ps(number, field="delay_ps", bare_ps=True) == 7
    assert type(units.time_ps(number, bare_ps=True)) is int
    error = refused(lambda: units.time_ps(number, field="until"))
    assert (error.field, error.allowed) == ("until", "must carry a unit, such as '5us'")


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        (units.us(2) + units.ns(5), 2_005_000),
        (units.us(2) - 7, 1_999_993),
        (3 * units.us(2), 6_000_000),
        (units.us(2) // 2, 1_000_000),
        (sum([units.us(2), units.us(1)]), 3_000_000),
        (units.ps(12), 12),
    ],
)
def test_sums_and_multiples_of_times_carry_their_unit(time, expected):
    assert type(time) is units.Picoseconds
    assert units.time_ps(time, field="until") == expected
    assert repr(time) == str(expected)


def test_other_arithmetic_with_times_gives_plain_numbers():
    assert units.us(1) + 0.5 == 1_000_000.5
    assert type(units.us(1) * 2.0) is float
    assert type(units.us(1) / units.ns(1)) is float
    assert type(units.us(1) % 7) is int
    copy = pickle.loads(pickle.dumps(units.us(1)))
    assert type(copy) is units.Picoseconds
    assert copy == units.us(1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("100Gbps", 1e11), ("100 Gb/s", 1e11), ("40mbps", 4e7), ("8bps", 8.0), ("0.1 kb/s", 100.0), (1e9, 1e9), (1, 1.0)],
)
def test_rate(text, expected):
    assert units.rate_bps(text) == expected
    assert type(units.rate_bps(text)) is float


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, 225_000) for text in ("225KB", "225kB")),
        ("64 KiB", 65_536),
        ("32MiB", 33_554_432),
        ("1 GiB", 2**30),
        ("12B", 12),
        (np.int64(9), 9),
    ],
)
def test_size(text, expected):
    assert units.size_bytes(text) == expected
    assert type(units.size_bytes(text)) is int


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        (units.time_ps, "100Gbps", "'Gbps' is not a known unit"),
        (units.time_ps, "100", "the unit is missing"),
        (units.time_ps, "-1us", "at least 0"),
        (units.time_ps, "0.1ps", "a whole number of picoseconds"),
        (partial(units.time_ps, bare_ps=True), 0.5, "a whole number of picoseconds"),
        (units.time_ps, "1e999999999s", "too large or too small"),
        (partial(units.time_ps, bare_ps=True), 2**63, "less than 2**63"),
        (units.time_ps, "us", "a time, such as"),
        (units.time_ps, "", "a time, such as"),
        (units.rate_bps, "1us", "'us' is not a known unit"),
        (units.rate_bps, "1e400bps", "and finite"),
        (units.rate_bps, "nan bps", "a rate, such as"),
        (units.size_bytes, "64kb", "'kb' is not a known unit"),
        (units.size_bytes, "1.5B", "a whole number of bytes"),
        (units.size_bytes, 1.5, "a whole number of bytes"),
    ],
)
def test_refused_strings(parse, text, says):
    error = refused(lambda: parse(text, field="thing"))
    assert str(error).startswith(f"thing = {text!r}: must be a ")
    assert (error.field, error.value) == ("thing", text)
    assert says in error.allowed


@pytest.mark.parametrize("bad", BAD_NUMBERS, ids=repr)
@pytest.mark.parametrize(
    "convert",
    [units.time_ps, units.rate_bps, units.size_bytes, units.us, units.gbps, units.kB],
    ids=lambda function: function.__name__,
)
def test_refused_numbers(convert, bad):
    refused(lambda: convert(bad), "must be a")


def test_converters():
    times = [units.ps(1), units.ns(1), units.us(1), units.ms(1), units.s(1)]
    assert times == [1, 10**3, 10**6, 10**9, 10**12]
    assert [units.bps(2), units.kbps(2), units.mbps(2), units.gbps(2)] == [2.0, 2e3, 2e6, 2e9]
    sizes = [units.B(3), units.kB(3), units.KiB(3), units.MB(3), units.MiB(3), units.GB(3)]
    assert sizes == [3, 3_000, 3_072, 3_000_000, 3_145_728, 3_000_000_000]
    assert units.us(0.1) == 100_000
    assert units.ps(0.5) == 1
    assert units.ps(0.4) == 0
    assert type(units.B(np.int8(3))) is int
    assert all(type(value) is units.Picoseconds for value in (units.ns(np.float32(2)), units.s(1.0)))


@pytest.mark.parametrize(("name", "byte_ps"), [("10Gbps", 800), ("100Gbps", 80), ("400Gbps", 20)])
def test_transmission_time(name, byte_ps):
    assert units.transmission_ps(1, units.rate_bps(name)) == byte_ps
    assert units.transmission_ps(3, 16e12) == 2


@given(st.integers(1, 10**6), st.integers(10**6, 10**15))
@example(7, 40 * 10**12)  # 1.4 ps
def test_transmission_takes_the_nearest_picosecond(size, rate):
    nearest = Fraction(size * 8 * 10**12, rate)
    assert abs(units.transmission_ps(size, float(rate)) - nearest) <= Fraction(1, 2) + nearest / 10**15


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (units.format_time(1_250_000), "1.25 us"),
        (units.format_time(0), "0 ps"),
        (units.format_time(999), "999 ps"),
        (units.format_time(999_960), "1 us"),
        (units.format_time(10**15), "1000 s"),
        (units.format_time(1e9 / 3), "333.3 us"),
        (units.format_time(-1500), "-1.5 ns"),
        (units.format_time(float("nan")), "nan ps"),
        (units.format_rate(43e9), "43 Gb/s"),
        (units.format_rate(np.float64(2.5e12)), "2.5 Tb/s"),
        *((units.format_rate(2.5 * 1000**n), f"2.5 {prefix}b/s") for n, prefix in enumerate("kMGT", start=1)),
        *((units.format_size(2.5 * 1000**n), f"2.5 {prefix}B") for n, prefix in enumerate("kMGT", start=1)),
        (units.format_size(np.int64(33_554_432)), "33.55 MB"),
        (units.format_size(33_554_432, digits=None), "33.554432 MB"),
    ],
)
def test_format(text, expected):
    assert text == expected


@given(st.integers(0, 2**63 - 1))
def test_exact_format_reads_back(value):
    assert units.time_ps(units.format_time(value, digits=None)) == value
    assert units.size_bytes(units.format_size(value, digits=None)) == value


@given(st.floats(0, 1e15))
def test_exact_rate_format_reads_back(value):
    assert units.rate_bps(units.format_rate(value, digits=None)) == value


@given(st.integers(1, 2**60), st.integers(1, 12))
def test_short_format_is_close(value, digits):
    assert abs(units.time_ps(units.format_time(value, digits)) - value) <= value * 10.0 ** (1 - digits)


@given(st.decimals(0, 10**6, places=6), st.sampled_from(["ns", "us", "ms", "s"]))
def test_parsing_is_decimal(number, unit):
    factor = {"ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}[unit]
    exact = Fraction(number) * factor
    if exact and exact < Fraction(1, 2):
        refused(lambda: units.time_ps(f"{number}{unit}"), "whole number of picoseconds")
    else:
        assert units.time_ps(f"{number}{unit}") == int(exact + Fraction(1, 2))
