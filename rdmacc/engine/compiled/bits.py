"""`rdmacc.bits` for compiled code: a set of packets is the address of its 64-bit words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from rdmacc import bits
from rdmacc.engine.compiled.address import jit, load_i8, store_i8
from rdmacc.engine.compiled.machine_code import OVERLOAD


def words_of(packets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the words of a set of `n_packets` packets; the place after the last one has a bit too."""
    return packets // 64 + 1


@jit
def has_bit(address, psn):
    """Return whether a packet is in the set."""
    return (load_i8(address + (psn >> 6) * 8) >> (psn & 63)) & 1 == 1


@jit
def set_bit(address, psn):
    """Put a packet into the set."""
    at = address + (psn >> 6) * 8
    store_i8(at, load_i8(at) | (1 << (psn & 63)))


@jit
def clear_bit(address, psn):
    """Take a packet out of the set."""
    at = address + (psn >> 6) * 8
    store_i8(at, load_i8(at) & ~(1 << (psn & 63)))


@jit
def _first(address, start, end, flip):
    """Return the first bit that is 1, after flipping all bits (-1) or not (0)."""
    psn = start
    while psn < end:
        rest = (load_i8(address + (psn >> 6) * 8) ^ flip) >> (psn & 63)
        if rest != 0:  # ones that the sign fills in lie above the word's last bit, which is one too
            while rest & 1 == 0:
                rest >>= 1
                psn += 1
            break
        psn = (psn | 63) + 1
    return min(psn, end)


@overload(bits.has_bit, jit_options=OVERLOAD)
def _overload_has_bit(bits, psn):
    return lambda bits, psn: has_bit(np.int64(bits), np.int64(psn))


@overload(bits.set_bit, jit_options=OVERLOAD)
def _overload_set_bit(bits, psn):
    return lambda bits, psn: set_bit(np.int64(bits), np.int64(psn))


@overload(bits.clear_bit, jit_options=OVERLOAD)
def _overload_clear_bit(bits, psn):
    return lambda bits, psn: clear_bit(np.int64(bits), np.int64(psn))


@overload(bits.find_set, jit_options=OVERLOAD)
def _overload_find_set(bits, start, end):
    return lambda bits, start, end: _first(np.int64(bits), np.int64(start), np.int64(end), 0)


@overload(bits.find_clear, jit_options=OVERLOAD)
def _overload_find_clear(bits, start, end):
    return lambda bits, start, end: _first(np.int64(bits), np.int64(start), np.int64(end), -1)
