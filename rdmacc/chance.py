"""Counter-based random numbers: functions of (key, count), not of the order of events.

Both engines and every rerun get the same number in the same place, whatever else happens in the network.
The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_MASK = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
MIX1 = 0xBF58476D1CE4E5B9
MIX2 = 0x94D049BB133111EB


def _mix(key: int, count: int) -> int:
    z = (key + (count + 1) * GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * MIX1) & _MASK
    z = ((z ^ (z >> 27)) * MIX2) & _MASK
    return z ^ (z >> 31)


def hash63(key: int, count: int) -> int:
    """Return a well-mixed integer in [0, 2**63) from two integers (a hash for ECMP)."""
    return _mix(key, count) >> 1


def hash63_of(key: npt.NDArray[np.int64] | int, count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return `hash63` of keys and numbers, elementwise."""
    z = count.astype(np.uint64)
    z += np.uint64(1)
    z *= GOLDEN
    z += np.asarray(key).astype(np.uint64)
    for shift, factor in ((30, MIX1), (27, MIX2)):
        z ^= z >> shift
        z *= factor
    z ^= z >> 31
    z >>= 1
    return z.view(np.int64)


def uniform(key: int, count: int) -> float:
    """Return the `count`-th number, uniform in [0, 1), of the stream named by `key`."""
    return (_mix(key, count) >> 11) * 1.1102230246251565e-16


@lru_cache(4096)  # half of what a small plan spends on keys
def stream_key(seed: int, purpose: int) -> int:
    """Return the 63-bit key of the stream for one purpose, from the scenario's seed."""
    words = np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)
    return int(words[0]) >> 1
