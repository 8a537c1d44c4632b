"""`rdmacc.chance` for compiled code: the same numbers, bit for bit."""

from __future__ import annotations

import numpy as np
from numba.extending import overload

from rdmacc import chance
from rdmacc.engine.compiled.address import jit
from rdmacc.engine.compiled.machine_code import OVERLOAD

_GOLDEN = np.uint64(chance.GOLDEN)
_MIX1 = np.uint64(chance.MIX1)
_MIX2 = np.uint64(chance.MIX2)


@jit
def _mix(key, count):
    z = np.uint64(key) + (np.uint64(count) + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@jit
def hash63(key, count):
    """As `rdmacc.chance.hash63`."""
    return np.int64(_mix(key, count) >> np.uint64(1))


@jit
def uniform(key, count):
    """As `rdmacc.chance.uniform`."""
    return np.float64(_mix(key, count) >> np.uint64(11)) * 1.1102230246251565e-16


@overload(chance.hash63, jit_options=OVERLOAD)
def _hash63(key, count):
    return lambda key, count: hash63(key, count)


@overload(chance.uniform, jit_options=OVERLOAD)
def _uniform(key, count):
    return lambda key, count: uniform(key, count)
