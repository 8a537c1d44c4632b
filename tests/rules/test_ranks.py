"""Ranks of simultaneous events: with a tick by order, then class, then number, and back to what they are without."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdmacc.rules.ranks import LAST_ORDER, PROBE, RANK_SHIFT, START, class_and_number, rank_in, rank_without_order

WITHOUT, WITH = SimpleNamespace(tick_ps=0), SimpleNamespace(tick_ps=1000)
EVENTS = st.tuples(
    st.integers(0, LAST_ORDER), st.integers(START >> RANK_SHIFT, PROBE >> RANK_SHIFT), st.integers(0, 2**28 - 1)
)
LAST = LAST_ORDER, PROBE >> RANK_SHIFT, 2**28 - 1


def rank_of(event, ticks):
    order, number_of_class, number = event
    return rank_in(ticks, (number_of_class << RANK_SHIFT) + number, order)


@example(LAST, (1, 1, 1))
@given(EVENTS, EVENTS)
def test_with_a_tick_the_order_counts_first_and_nothing_is_lost(one, other):
    assert (rank_of(one, WITH) < rank_of(other, WITH)) == (one < other)
    assert rank_without_order(WITH, rank_of(one, WITH)) == rank_of(one, WITHOUT)
    assert 0 < rank_of(one, WITH) < 2**63


@given(EVENTS, EVENTS)
def test_without_one_the_class_counts_first(one, other):
    assert (rank_of(one, WITHOUT) < rank_of(other, WITHOUT)) == (one[1:] < other[1:])


@pytest.mark.parametrize("ticks", [WITHOUT, WITH])
def test_a_rank_tells_what_it_is_of(ticks):
    assert class_and_number(ticks, rank_in(ticks, START + 7, LAST_ORDER)) == ("start", 7)
    assert class_and_number(ticks, rank_in(ticks, PROBE + 2**28 - 1, 3)) == ("probe", 2**28 - 1)
