"""Bands: next to each bound they hold or do not, however they are composed; words and margins follow."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.band import show, show_all
from rdmacc.experiments.framework.bands import (
    All,
    AnyOf,
    AtLeast,
    AtMost,
    Between,
    Each,
    Exactly,
    Falls,
    Highest,
    LessThan,
    Lowest,
    MoreThan,
    Ordered,
    Part,
    Rises,
    Size,
    Some,
    Within,
)
from tests.experiments.edges import edges, inside, outside

NUMBER = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-3)
NUMBERS = st.lists(NUMBER, min_size=2, max_size=5).map(lambda values: dict(zip("abcde", values)))


def bands_of_one(bound, width):
    return [
        AtLeast(bound), AtMost(bound), MoreThan(bound), LessThan(bound), Exactly(bound), Between(bound, bound + width),
        Within(bound, by=width), AtLeast(bound, slack=0.1), AtMost(bound, slack=0.1), Size(abs(bound)),
        Part(abs(bound) / 1e6),
    ]  # fmt: skip


ONE = st.builds(bands_of_one, NUMBER, st.floats(0.1, 1e3)).flatmap(st.sampled_from)
SLACK = st.sampled_from([0.0, 0.05])
MANY = st.one_of(
    ONE.map(Each),
    st.builds(Some, ONE, st.integers(1, 2)),
    st.builds(Some, ONE, share=st.sampled_from([0.5, 1.0])),
    st.builds(Rises, SLACK), st.builds(Falls, SLACK), st.builds(Ordered, st.sampled_from(["<=", ">="]), SLACK),
    st.builds(Lowest, st.just("a"), SLACK), st.builds(Highest, st.just("b"), SLACK),
)  # fmt: skip
NAMED = st.builds(lambda one, two: All({"a": one, "b": two}), ONE, ONE)
EITHER = st.builds(AnyOf, MANY, NAMED)


@given(ONE, NUMBER)
def test_a_band_of_one_number_ends_at_its_bounds(band, value):
    assert band.holds(inside(band, value))
    assert not band.holds(outside(band, value))
    beside = list(edges(band, value))
    assert {holds for _, holds in beside} >= {False}
    for number, holds in beside:
        assert band.holds(number) == holds
        assert abs(band.margin(number)) < 1e-5 or (isinstance(band, Exactly) and holds)


@given(st.one_of(MANY, NAMED, EITHER), NUMBERS)
def test_bands_of_several_numbers_end_at_the_bounds_of_each(band, value):
    held = inside(band, value)
    assert held.keys() == value.keys()
    assert band.holds(held)
    assert not band.holds(outside(band, value))
    beside = list(edges(band, value))
    for numbers, holds in beside:
        assert numbers.keys() == value.keys()
        assert band.holds(numbers) == holds, numbers
    if not isinstance(band, AnyOf):
        assert beside


@given(st.one_of(MANY, NAMED), NUMBERS)
def test_the_margin_has_the_verdicts_sign(band, value):
    margin = band.margin(value)
    assert (margin > 1e-9) <= band.holds(value)
    assert (margin < -1e-9) <= (not band.holds(value))


@given(st.one_of(MANY, NAMED, EITHER), NUMBERS, st.floats(1.0, 1e3))
def test_noise_leaves_a_verdict_or_takes_it_but_never_turns_it(band, value, factor):
    value = inside(band, value)
    assert band.surely(value, [value, value]) is True
    noisy = [{name: one * by + by - 1 for name, one in value.items()} for by in (1 - 1e-3 * factor, 1 + 1e-3 * factor)]
    assert band.surely(value, noisy) is not False
    failed = outside(band, value)
    assert band.surely(failed, [failed]) is False


def test_noise_counts_where_the_edge_is():
    value = {"a": 2.0, "b": 0.5}
    far = [{**value, "a": one} for one in (1.0, 3.0)]
    assert Each(AtLeast(1)).surely(value, far) is False  # b is below, whatever a is
    assert Some(AtLeast(1)).surely(value, far) is None
    assert Some(AtLeast(0)).surely(value, far) is True
    assert AnyOf(Each(LessThan(1)), Lowest("b")).surely(value, far) is None
    assert All({"a": AtLeast(1), "b": AtMost(1)}).surely(value, far) is None
    assert Highest("a").surely(value, far) is None
    assert Falls().surely(value, [value, value]) is True


@pytest.mark.parametrize("band", [*bands_of_one(1.0, 1.0), Each(AtLeast(1)), Rises(), Falls(0.1), Lowest("a"),
                                  All({"a": AtMost(1)}), Some(AtLeast(0))])  # fmt: skip
def test_nothing_holds_of_no_number(band):
    value = math.nan if band in bands_of_one(1.0, 1.0) else dict.fromkeys("ab", math.nan)
    assert not band.holds(value)


@pytest.mark.parametrize(
    ("band", "unit", "words"),
    [
        (AtLeast(0.15), "%", "at least 15%"),
        (AtMost(1.0, slack=0.05), "x", "at most 1x (5% slack)"),
        (Within(0.45, by=0.1), "%", "35% to 55%"),
        (Within(0.84, factor=2), "%", "within a factor of 2 of 84%"),
        (Within(5e9, share=0.03), "Gb/s", "within 3% of 5 Gb/s"),
        (Size(60), "RTT", "40 RTT to 80 RTT"),
        (Size(2.5, 3.3), "x", "1.667x to 4.4x"),
        (Size(1.73), "%", "115.3% to 230.7%"),
        (Part(0.3), "%", "20% to 40%"),
        (Part(0.82), "%", "76% to 88%"),
        (Part(0.79, 0.89), "%", "72% to 92.67%"),
        (Part(0.04), "%", "2% to 6%"),
        (Part(0.018), "%", "0% to 3.8%"),
        (Part(97, whole=100), "", "95 to 99"),
        (Each(Between(12e6, 40e6), of="load"), "us", "12 us to 40 us for every load"),
        (Some(MoreThan(0), share=0.5, of="the loads"), "%", "more than 0% for at least 50% of the loads"),
        (All({"n": Exactly(2), "rate": AtLeast(9e9, "Gb/s")}), "", "n: exactly 2; rate: at least 9 Gb/s"),
        (AnyOf(LessThan(1), MoreThan(2)), "", "less than 1, or more than 2"),
        (Rises(), "", "rises at every step"),
        (Ordered(">", slack=0.01), "", "falling in this order (1% slack)"),
        (Lowest("REN", slack=0.05), "", "REN lowest (5% slack)"),
    ],
)
def test_words(band, unit, words):
    assert band.words(unit) == words


def test_numbers_in_words():
    assert show(0.972, "%") == "97.2%"
    assert show(13.2e6, "us") == "13.2 us"
    assert show(39.8, "degrees") == "39.8 degrees"
    assert show_all({"a": 1, "b": {"c": 0.5}}) == "a 1; b: c 0.5"
    assert show_all({str(n): n for n in range(20)}) == "0 (0) to 19 (19), 20 numbers"


def test_each_number_is_shown_in_the_unit_of_its_band():
    band = All({"rate": AtLeast(1e9, "Gb/s"), "n": Exactly(2), "waits": Each(AtMost(1e6, "us"))})
    assert band.shown({"rate": 2e9, "n": 2, "waits": {"a": 5e5}, "beside": 7}) == (
        "rate 2 Gb/s; n 2; waits: a 0.5 us; beside 7"
    )
    assert All({"rate": AtLeast(1e9, "Gb/s"), "n": Exactly(2)}).shown({"rate": 2e9, "n": 2}) == "rate 2 Gb/s, n 2"


def test_bad_bands_are_errors():
    with pytest.raises(ConfigError, match="one of by, share, factor"):
        Within(1.0)
    with pytest.raises(ConfigError, match="sign"):
        Ordered("~")
    with pytest.raises(ConfigError, match="at least one band"):
        All()
