"""Keys of streams: those computed in blocks equal NumPy's, seed by seed."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from rdmacc.interface.chance import stream_key


@given(st.integers(0, 2**15) | st.integers(0, 2**64), st.integers(0, 12))
@example(2**14 - 1, 7)
@example(2**14, 7)
@example(63, 8)
def test_a_key_equals_seed_sequences(seed, purpose):
    words = np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)
    assert stream_key(seed, purpose) == int(words[0]) >> 1
