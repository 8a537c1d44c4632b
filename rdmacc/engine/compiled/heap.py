"""The events that come next: a 4-ary heap of (time, rank), 16 bytes an event, each node's children in one cache line.

It is the front of the queue of events (`rdmacc.engine.compiled.events`) and is never large.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rdmacc.engine.compiled.address import jit, load_i8, store_i8
from rdmacc.records import NEVER

EVENT_BYTES = 16
HEAP_PADDING = 3
"""Events left free before the root, so that children 4i+1 .. 4i+4 start at a multiple of 64 bytes.

Beyond the last event every entry must hold NEVER, for at least four entries."""


@intrinsic
def is_before(typing_context, time_ps, rank, other_time_ps, other_rank):
    """Order events, as numbers of 128 bits with the time above the rank: two instructions, and no branch to guess.

    None of them is negative.
    """

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)

        def joined(high, low):
            return builder.or_(builder.shl(builder.zext(high, wide), wide(64)), builder.zext(low, wide))

        return builder.icmp_unsigned("<", joined(*arguments[:2]), joined(*arguments[2:]))

    number = types.int64
    return types.boolean(number, number, number, number), generate


@jit
def near_push(g, time_ps, rank):
    """Push an event. The caller has made room."""
    heap = g.heap
    i = g.heap_length
    g.heap_length = i + 1
    while i > 0:
        parent = (i - 1) >> 2
        at = heap + parent * EVENT_BYTES
        parent_time, parent_rank = load_i8(at), load_i8(at + 8)
        if not is_before(time_ps, rank, parent_time, parent_rank):
            break
        here = heap + i * EVENT_BYTES
        store_i8(here, parent_time)
        store_i8(here + 8, parent_rank)
        i = parent
    here = heap + i * EVENT_BYTES
    store_i8(here, time_ps)
    store_i8(here + 8, rank)


@jit
def near_replace(g, time_ps, rank):
    """Replace the first event by another one."""
    heap = g.heap
    length = g.heap_length
    i = 0
    child = 1
    while child < length:
        # The first of four children, by two rounds; behind the last event lie events that never come.
        at = heap + child * EVENT_BYTES
        time_0, rank_0 = load_i8(at), load_i8(at + 8)
        time_1, rank_1 = load_i8(at + 16), load_i8(at + 24)
        time_2, rank_2 = load_i8(at + 32), load_i8(at + 40)
        time_3, rank_3 = load_i8(at + 48), load_i8(at + 56)
        low = is_before(time_1, rank_1, time_0, rank_0)
        low_time = time_1 if low else time_0
        low_rank = rank_1 if low else rank_0
        high = is_before(time_3, rank_3, time_2, rank_2)
        high_time = time_3 if high else time_2
        high_rank = rank_3 if high else rank_2
        is_high = is_before(high_time, high_rank, low_time, low_rank)
        best_time = high_time if is_high else low_time
        best_rank = high_rank if is_high else low_rank
        if not is_before(best_time, best_rank, time_ps, rank):
            break
        here = heap + i * EVENT_BYTES
        store_i8(here, best_time)
        store_i8(here + 8, best_rank)
        i = child + (2 + int(high) if is_high else int(low))
        child = 4 * i + 1
    here = heap + i * EVENT_BYTES
    store_i8(here, time_ps)
    store_i8(here + 8, rank)


@jit
def near_pop(g):
    """Remove the first event."""
    length = g.heap_length - 1
    g.heap_length = length
    last = g.heap + length * EVENT_BYTES
    time_ps, rank = load_i8(last), load_i8(last + 8)
    store_i8(last, NEVER)
    store_i8(last + 8, NEVER)
    if length > 0:
        near_replace(g, time_ps, rank)
