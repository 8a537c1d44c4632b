"""Sets of packets, plain and compiled, against Python's sets.

Clock ticks: any whole fraction of a second that is shorter than a packet, the same on both engines.
"""

from fractions import Fraction

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.engine.compiled.kernel.rules import words_of
from rdmacc.errors import ConfigError
from rdmacc.interface import Bits, Component, Record, clear_bit, find_clear, find_set, has_bit, make_bits, set_bit
from rdmacc.units import cut_ps, transmission_ps
from tests.support import refused

PLAIN = (set_bit, clear_bit, has_bit, find_set, find_clear)
COMPILED = (
    numba.njit(error_model="numpy")(lambda bits, psn: set_bit(bits, psn)),
    numba.njit(error_model="numpy")(lambda bits, psn: clear_bit(bits, psn)),
    numba.njit(error_model="numpy")(lambda bits, psn: has_bit(bits, psn)),
    numba.njit(error_model="numpy")(lambda bits, start, end: find_set(bits, start, end)),
    numba.njit(error_model="numpy")(lambda bits, start, end: find_clear(bits, start, end)),
)


def empty(packets, is_compiled):
    """Return an empty set for a message (its address, for compiled code), and the memory to keep alive."""
    if not is_compiled:
        return make_bits(packets), None
    words = np.zeros(int(words_of(np.array([packets]))[0]), np.int64)
    return words.ctypes.data, words


@pytest.mark.parametrize("is_compiled", [False, True])
@settings(max_examples=150, deadline=None)
@given(
    packets=st.integers(1, 200),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 2**30), st.integers(0, 2**30)), max_size=120),
)
def test_they_behave_like_sets(is_compiled, packets, steps):
    add, remove, has, first_in, first_out = COMPILED if is_compiled else PLAIN
    bits, keep = empty(packets, is_compiled)
    model = set()
    for is_add, number, start in steps:
        psn, start = number % packets, start % (packets + 1)
        (add if is_add else remove)(bits, psn)
        (model.add if is_add else model.discard)(psn)
        assert has(bits, psn) == is_add
        assert not has(bits, packets)
        assert first_in(bits, start, packets) == min((i for i in model if i >= start), default=packets)
        assert first_out(bits, start, packets) == min(set(range(start, packets + 1)) - model)
        assert first_in(bits, start, start) == first_out(bits, start, start) == start
    del keep


def test_only_messages_have_them():
    class Wrong(Component):
        class Sender(Record):
            seen = Bits()

    refused(lambda: Wrong.check_interface(), "a Transfer record")


_SECOND_PS = 10**12


def random_ticks(count: int, seed: int) -> list[int]:
    """Return whole fractions of a second, 2 ps to 50 ns."""
    divisors = [2**twos * 5**fives for twos in range(13) for fives in range(13) if 1 < 2**twos * 5**fives <= 50_000]
    return np.random.default_rng(seed).choice(sorted(divisors), count).tolist()


def test_times_are_truncated_in_fixed_point() -> None:
    """The double of the seconds, cut to 64 fractional bits, times the ticks per second, cut to whole ticks."""
    rng = np.random.default_rng(1)
    for tick_ps in [2, 5, *random_ticks(300, seed=2)]:
        wire_bytes, rate_bps = int(rng.integers(1, 2**20)), float(10 ** rng.uniform(7.8, 12))
        seconds = Fraction(int(Fraction(wire_bytes * 8.0 / rate_bps) * 2**64), 2**64)
        assert cut_ps(wire_bytes, rate_bps, tick_ps) == int(seconds * (_SECOND_PS // tick_ps)) * tick_ps
    assert cut_ps(9064, 100e9, 1) == transmission_ps(9064, 100e9) == 725_120  # nothing to truncate


@pytest.mark.parametrize("tick_ps", [3, 7, 1_500, 83_840, 10**12 + 1])
def test_a_tick_that_does_not_divide_a_second_is_refused(tick_ps: int) -> None:
    with pytest.raises(ConfigError, match=rf"^tick_ps = {tick_ps}: must be 0, or a whole fraction of a second"):
        rdmacc.scheme("dcqcn").replace(tick_ps=tick_ps)


def test_a_tick_longer_than_a_packet_is_refused() -> None:
    net, work, scheme = rdmacc.star(3), rdmacc.messages([("h0", "h1", "20kB")]), rdmacc.scheme("go-back-n")
    wire = scheme.wire_bytes
    with pytest.raises(ConfigError, match=rf"^tick_ps = 100000: must be shorter .*: {wire} B take \d+\.\d+ ns on h0"):
        rdmacc.simulate(net, work, scheme.replace(tick_ps="100ns"))
