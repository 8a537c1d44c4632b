"""The kernel's loop in windows: as `run_kernel`, a window of one node at a time (`rdmacc.engine.compiled.windows`)."""

from __future__ import annotations

from rdmacc.engine.compiled.address import jit, load_i8
from rdmacc.engine.compiled.events import GRAIN_BITS, lay_event, pop_event, refill, step_of
from rdmacc.engine.compiled.kernel import (
    AGAIN,
    LEFT,
    MORE_EVENTS,
    MORE_QUEUE_PAIRS,
    PAUSED,
    STOPPED,
    deliver,
    events_with_room,
    serve,
    spare_events,
    what_is_short,
)
from rdmacc.engine.compiled.machine_code import rarely
from rdmacc.engine.compiled.messages import start
from rdmacc.engine.compiled.rows import globals_at, load_entry, message_at, message_row
from rdmacc.engine.compiled.timers import KINDS, slot_offset
from rdmacc.engine.ranks import DELIVER, ENDPOINT_TIMER, RANK_MASK, START, TRANSFER_TIMER, WAKE

__all__ = ["run_windows"]

_OPEN = -1
_TRANSFER = KINDS.index("Transfer")
_PATIENCE = 1 << 20
"""If so many events on it is the same time as before, time may stand still."""


def run_windows(address, until_ps, max_events):
    """Process events before `until_ps` in windows, some `max_events`; return why it stopped."""
    g = globals_at(address)
    events = g.events
    last_event, next_look, next_check = events + max_events, events, events + _PATIENCE
    checked_ps = -1
    while True:
        if g.heap_length == 0:
            if g.wheel_count == 0:
                reason = LEFT
                break
            refill(g)
        if g.wheel_now >> g.node_bits != g.window:
            reason = open_window(g, until_ps, events >= last_event)
            if reason != _OPEN:
                break
        now = load_i8(g.heap)
        if events >= next_look:
            room = events_with_room(g)
            if room < 1:
                reason = what_is_short(g)
                break
            next_look = events + min(room, _PATIENCE)
            if events >= next_check:
                if now == checked_ps:
                    reason = AGAIN
                    break
                next_check, checked_ps = events + _PATIENCE, now
        rank = load_i8(g.heap + 8)
        if rank >= TRANSFER_TIMER and g.is_entwined and is_handled(g, rank, now):
            reason = AGAIN
            break
        g.now_ps = now
        events += 1
        number = rank & RANK_MASK
        if rank < DELIVER:
            pop_event(g)
            start(g, number, now)
        elif rank < WAKE:
            deliver(g, number, now)
        else:
            serve(g, rank, number, now)
        if g.unfinished == 0:  # others may have gone further than this
            reason = AGAIN
            break
    g.events = events
    return reason


@rarely
def open_window(g, until_ps, is_over):
    """Go on to the next window, all nodes having come to its begin; return why not, if so."""
    step = g.wheel_now >> g.node_bits
    begin_ps = begin_of(g, step)
    if begin_ps >= until_ps:
        return STOPPED
    if (
        begin_of(g, step + 1) > until_ps
        or g.undelivered <= 0
        or (g.is_entwined and g.dropped_bytes + g.discarded_bytes > 0)
    ):
        return LEFT
    if is_over:
        g.now_ps = begin_ps
        return PAUSED
    while g.next_start < g.n_starts:  # schedule all of the next window that has some, once the one before has come
        number = load_entry(g.starts, g.next_start)
        start_ps = message_at(g, number).start_ps
        if step_of(g, start_ps) > g.start_step:
            if step < g.start_step:
                break
            g.start_step = step_of(g, start_ps)
        if g.next_start >= g.n_ready:
            return MORE_QUEUE_PAIRS
        if spare_events(g) <= g.reserve_events:
            return MORE_EVENTS
        lay_event(g, start_ps, START + number)
        g.next_start += 1
    g.window = step
    return _OPEN


@jit
def begin_of(g, step):
    """Return the first time of a step, ps."""
    return ((step << g.wheel_shift) + g.window_factor - 1) // g.window_factor << GRAIN_BITS


@rarely
def is_handled(g, rank, now):
    """Tell whether an event is of a message's deadline that has come, so that its handler will be called."""
    if rank >= ENDPOINT_TIMER:
        return False
    number = rank & RANK_MASK
    at = message_row(g, number // g.n_transfer_slots) + slot_offset(g, _TRANSFER, number % g.n_transfer_slots)
    return load_i8(at + 8) == now and load_i8(at) <= now
