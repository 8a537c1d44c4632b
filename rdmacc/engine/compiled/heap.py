"""The event queue: a 4-ary heap of (time, rank), 16 bytes an event, each node's children in one cache line."""

from __future__ import annotations


from rdmacc.engine.compiled.address import jit, load_i8, store_i8

__all__ = ["EVENT_BYTES", "HEAP_PADDING", "heap_pop", "heap_push", "heap_replace"]

EVENT_BYTES = 16
HEAP_PADDING = 3
"""Events left free before the root, so that children 4i+1 .. 4i+4 start at a multiple of 64 bytes."""


@jit
def heap_push(g, time_ps, rank):
    """Add an event; the caller has seen to it that there is room."""
    heap = g.heap
    i = g.heap_length
    g.heap_length = i + 1
    while i > 0:
        parent = (i - 1) >> 2
        at = heap + parent * EVENT_BYTES
        parent_time = load_i8(at)
        if parent_time < time_ps or (parent_time == time_ps and load_i8(at + 8) <= rank):
            break
        here = heap + i * EVENT_BYTES
        store_i8(here, parent_time)
        store_i8(here + 8, load_i8(at + 8))
        i = parent
    here = heap + i * EVENT_BYTES
    store_i8(here, time_ps)
    store_i8(here + 8, rank)


@jit
def heap_replace(g, time_ps, rank):
    """Replace the first event by another one."""
    heap = g.heap
    length = g.heap_length
    i = 0
    while True:
        child = 4 * i + 1
        if child >= length:
            break
        end = min(child + 4, length)
        at = heap + child * EVENT_BYTES
        best, best_at, best_time = child, at, load_i8(at)
        child += 1
        while child < end:
            at += EVENT_BYTES
            child_time = load_i8(at)
            if child_time < best_time or (child_time == best_time and load_i8(at + 8) < load_i8(best_at + 8)):
                best, best_at, best_time = child, at, child_time
            child += 1
        best_rank = load_i8(best_at + 8)
        if best_time > time_ps or (best_time == time_ps and best_rank >= rank):
            break
        here = heap + i * EVENT_BYTES
        store_i8(here, best_time)
        store_i8(here + 8, best_rank)
        i = best
    here = heap + i * EVENT_BYTES
    store_i8(here, time_ps)
    store_i8(here + 8, rank)


@jit
def heap_pop(g):
    """Remove the first event."""
    length = g.heap_length - 1
    g.heap_length = length
    if length > 0:
        last = g.heap + length * EVENT_BYTES
        heap_replace(g, load_i8(last), load_i8(last + 8))
