"""The rules of `rdmacc.rules` compiled, and what they and handlers call: `bits` and `chance` of `rdmacc.interface`.

A set of packets is the address of its 64-bit words.
"""

from types import FunctionType
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from rdmacc.engine.compiled.machine_code.address import jit, load_i8, lowest_bit, store_i8
from rdmacc.engine.compiled.machine_code.units import OVERLOAD, cold
from rdmacc.interface import bits, chance
from rdmacc.rules import *
from rdmacc.rules import admission, classes, links, progress, ranks, routing
from rdmacc.units import cut_ps

_SELDOM = progress.cut_off, links.is_lost, routing.cut_payload

for _name, _rule in list(globals().items()):
    if isinstance(_rule, FunctionType) and _rule.__module__.startswith("rdmacc.rules."):
        globals()[_name] = cold(_rule) if _rule in _SELDOM else jit(_rule)

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
    """As `rdmacc.interface.chance.hash63`."""
    return np.int64(_mix(key, count) >> np.uint64(1))


@jit
def uniform(key, count):
    """As `rdmacc.interface.chance.uniform`."""
    return np.float64(_mix(key, count) >> np.uint64(11)) * 1.1102230246251565e-16


def words_of(packets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the words of a set of `n_packets` packets; the place after the last one has a bit too."""
    return packets // 64 + 1


@jit
def has_bit(address, psn):
    return (load_i8(address + (psn >> 6) * 8) >> (psn & 63)) & 1 == 1


@jit
def set_bit(address, psn):
    at = address + (psn >> 6) * 8
    store_i8(at, load_i8(at) | (1 << (psn & 63)))


@jit
def clear_bit(address, psn):
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


@jit
def find_set(address, start, end):
    return _first(address, start, end, 0)


@jit
def find_clear(address, start, end):
    return _first(address, start, end, -1)


_FORMS: dict[Any, Any] = {
    called: form.py_func
    for called, form in (
        (chance.hash63, hash63), (chance.uniform, uniform), (bits.has_bit, has_bit), (bits.set_bit, set_bit),
        (bits.clear_bit, clear_bit), (bits.find_set, find_set), (bits.find_clear, find_clear),
    )
}  # fmt: skip
"""What handlers call, and its compiled form; then what rules call."""
_FORMS[classes.first_class] = lambda classes: lowest_bit(classes)
_FORMS |= {rule: rule for rule in (classes.count_lane, admission.xoff_bytes, routing.modulo, ranks.next_order, cut_ps)}

for _called, _form in _FORMS.items():
    overload(_called, strict=False, jit_options=OVERLOAD)(lambda *_, form=_form: form)
