"""Counter-based random numbers: functions of (key, count), not of the order of events.

Both engines and every rerun draw the same number at the same point, whatever else happens in the network.
The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
"""

from functools import lru_cache
from typing import Any

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
    """Return `hash63` of keys and counts, elementwise."""
    return hash63_after(steps_to(count) + np.asarray(key).astype(np.uint64))


def steps_to(count: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """Return the term that each count adds to its key."""
    return (count.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)


def hash63_after(z: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return `hash63` of sums of keys and steps, overwriting the sums."""
    for shift, factor in ((30, MIX1), (27, MIX2)):
        z ^= z >> shift
        z *= factor
    z ^= z >> 31
    z >>= 1
    return z.view(np.int64)


def uniform(key: int, count: int) -> float:
    """Return the `count`-th number, uniform in [0, 1), of the stream named by `key`."""
    return (_mix(key, count) >> 11) * 1.1102230246251565e-16


_BLOCK, _PURPOSES, _SMALL = 64, 8, 2**14
"""For seeds below `_SMALL`, as in a study, the keys of a block of seeds and purposes are computed together. That takes
a tenth of the time."""


@lru_cache(4096)
def stream_key(seed: int, purpose: int) -> int:
    """Return the 63-bit key of one purpose's random stream, derived from the scenario's seed."""
    if seed < _SMALL and purpose < _PURPOSES:
        return int(_keys_from(seed // _BLOCK * _BLOCK)[seed % _BLOCK, purpose])
    words = np.random.SeedSequence([seed, purpose]).generate_state(1, np.uint64)
    return int(words[0]) >> 1


@lru_cache(64)
def _keys_from(seed: int) -> npt.NDArray[np.uint64]:
    """Return the keys of a block of seeds, one per seed and purpose, exactly as NumPy's `SeedSequence` derives them."""
    factor = 0x43B0D7E5

    def mixed(words: Any, growth: int = 0x931E8875) -> Any:
        nonlocal factor
        words = words ^ np.uint32(factor)
        factor = factor * growth & 0xFFFFFFFF
        words = words * np.uint32(factor)
        return words ^ words >> np.uint32(16)

    seeds, purposes = np.ogrid[seed : seed + _BLOCK, :_PURPOSES]
    pool = [mixed(words.astype(np.uint32)) for words in (*np.broadcast_arrays(seeds, purposes), *2 * [0 * seeds])]
    for source in range(4):
        for target in (one for one in range(4) if one != source):
            words = pool[target] * np.uint32(0xCA01F9DD) - mixed(pool[source]) * np.uint32(0x4973F715)
            pool[target] = words ^ words >> np.uint32(16)
    factor = 0x8B51F9DD
    low, high = (mixed(words, 0x58F38DED).astype(np.uint64) for words in pool[:2])
    return (low | high << np.uint64(32)) >> np.uint64(1)
