"""Sets of packets: plain and compiled, against Python's own sets."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdmacc import Component
from rdmacc.bits import clear_bit, find_clear, find_set, has_bit, make_bits, set_bit
from rdmacc.engine.compiled.kernel.rules import words_of
from rdmacc.engine.compiled.machine_code.units import UNIT
from rdmacc.errors import ConfigError
from rdmacc.records import Bits, Record

PLAIN = (set_bit, clear_bit, has_bit, find_set, find_clear)
COMPILED = (
    numba.njit(**UNIT)(lambda bits, psn: set_bit(bits, psn)),
    numba.njit(**UNIT)(lambda bits, psn: clear_bit(bits, psn)),
    numba.njit(**UNIT)(lambda bits, psn: has_bit(bits, psn)),
    numba.njit(**UNIT)(lambda bits, start, end: find_set(bits, start, end)),
    numba.njit(**UNIT)(lambda bits, start, end: find_clear(bits, start, end)),
)


def empty(packets, is_compiled):
    """Return an empty set for a message, its address if compiled code uses it, and its memory to keep alive."""
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
def test_they_behave_as_sets(is_compiled, packets, steps):
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
            """A queue pair has no number of packets."""

            seen = Bits()

    with pytest.raises(ConfigError, match="a Transfer record"):
        Wrong.check_interface()
