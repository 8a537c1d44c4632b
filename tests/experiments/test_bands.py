"""Bands: they hold or fail correctly next to each bound, however composed; texts and margins agree."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

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
from tests.support import refused

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
    st.builds(Some, ONE, count=st.integers(1, 2)),
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
        assert abs(band.margin(number)) < 1e-5 or (band.low == band.high and holds)


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
def test_noise_keeps_or_withdraws_a_verdict_but_never_reverses_it(band, value, factor):
    value = inside(band, value)
    assert band.surely(value, [value, value]) is True
    noisy = [{name: one * by + by - 1 for name, one in value.items()} for by in (1 - 1e-3 * factor, 1 + 1e-3 * factor)]
    assert band.surely(value, noisy) is not False
    failed = outside(band, value)
    assume(not band.holds(failed))  # what one part of an `AnyOf` rejects, another may accept
    assert band.surely(failed, [failed]) is False


def test_noise_counts_where_the_edge_is():
    value = {"a": 2.0, "b": 0.5}
    far = [{**value, "a": one} for one in (1.0, 3.0)]
    assert Each(AtLeast(1)).surely(value, far) is False  # b is below, regardless of a
    assert Some(AtLeast(1)).surely(value, far) is None
    assert Some(AtLeast(0)).surely(value, far) is True
    assert AnyOf(Each(LessThan(1)), Lowest("b")).surely(value, far) is None
    assert All({"a": AtLeast(1), "b": AtMost(1)}).surely(value, far) is None
    assert Highest("a").surely(value, far) is None
    assert Falls().surely(value, [value, value]) is True
    assert Between(0.5, 0.68).surely(0.56, [0.53, 0.6392]) is None  # equally close to both edges


@pytest.mark.parametrize("band", [*bands_of_one(1.0, 1.0), Each(AtLeast(1)), Rises(), Falls(0.1), Lowest("a"),
                                  All({"a": AtMost(1)}), Some(AtLeast(0))])  # fmt: skip
def test_no_band_holds_for_nan(band):
    value = math.nan if band in bands_of_one(1.0, 1.0) else dict.fromkeys("ab", math.nan)
    assert not band.holds(value)


def test_invalid_bands_are_errors():
    refused(lambda: Within(1.0), "one of by, share, factor")
    refused(lambda: Ordered("~"), "sign")
    refused(lambda: All(), "at least one band")
