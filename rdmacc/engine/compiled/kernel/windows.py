"""The kernel's loop in windows: as `run_kernel`, a window of one node at a time (`rdmacc.engine.compiled.windows`)."""

from rdmacc.engine.compiled.kernel.events import GRAIN_BITS, go_to, next_bucket, pop_event, step_of, wheel_event
from rdmacc.engine.compiled.kernel.loop import *
from rdmacc.engine.compiled.kernel.messages import end_computation, start
from rdmacc.engine.compiled.kernel.queues import globals_of, receive_crossings, release_all, wait_for_all
from rdmacc.engine.compiled.kernel.timers import slot_offset
from rdmacc.engine.compiled.tables.layout import KINDS

_OPEN = -1
_TRANSFER = KINDS.index("Transfer")
_PATIENCE = 1 << 20  # events of a node at one instant before a livelock is suspected


def run_windows(address, until_ps, last_event):
    """Process events before `until_ps` in windows, up to a number of all events; return why it stopped.

    On several threads each calls it with its own globals, and all return the same.
    """
    g = globals_at(address)
    while True:
        g.reason = run_window_events(g)
        bucket = next_bucket(g)
        g.upcoming_step = NEVER if bucket == NEVER else bucket >> g.node_bits
        if g.n_threads == 1:
            verdict = decide(g, until_ps, last_event)
        else:
            if g.handed_ps < NEVER:
                g.upcoming_step = min(g.upcoming_step, step_of(g, g.handed_ps))
            first = globals_of(g, 0)
            if wait_for_all(g):
                first.verdict = decide(first, until_ps, last_event)
                release_all(g)
            verdict = first.verdict
            receive_crossings(g)
        if verdict != _OPEN:
            return verdict
        g.turn += 1


@jit
def run_window_events(g):
    """Process this thread's remaining events of the current window; return a stop reason if it cannot."""
    step = globals_of(g, 0).agreed_step
    if g.window != step:
        reason = begin_window(g, step)
        if reason != _OPEN:
            return reason
    limit = (step + 1) << g.node_bits
    events = g.events
    next_look, next_check, checked_ps = events, events, -1
    reason = _OPEN
    while True:
        if g.heap_length == 0:
            bucket = next_bucket(g)
            if bucket >= limit:
                break
            go_to(g, bucket)
            g.visits += 1
            next_check = events + _PATIENCE
            continue
        now = load_i8(g.heap)
        if events >= next_look:
            room = events_with_room(g)
            if room < 1:
                reason = full_table(g)
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
            if number < g.n_messages:
                start(g, number, now)
            else:
                end_computation(g, number, now)
        elif rank < WAKE:
            deliver(g, number, now)
        else:
            serve(g, rank, number, now)
    g.events = events
    return reason


@cold
def begin_window(g, step):
    """Enter the agreed window and schedule the next messages; return the table that is full, if one is."""
    g.wheel_now = (step << g.node_bits) - 1  # nothing is pending up to there
    while g.next_start < g.n_starts:  # all of the next window that has some, once the one before has come
        number = load_entry(g.starts, g.next_start)
        start_ps = message_at(g, number).start_ps
        if step_of(g, start_ps) > g.start_step:
            if step < g.start_step:
                break
            g.start_step = step_of(g, start_ps)
        if g.next_start >= g.n_ready:
            return MORE_QUEUE_PAIRS
        if event_room(g) <= g.reserve_events:
            return MORE_EVENTS
        wheel_event(g, start_ps, START + number)
        g.next_start += 1
    g.window = step
    return _OPEN


@cold
def decide(g, until_ps, last_event):
    """Choose the next window once all nodes have reached its start; return a stop reason instead, if there is one.

    `g` is the first thread's.
    """
    reason, step, is_halted = g.reason, g.upcoming_step, g.is_halted
    last_ps = min(until_ps, g.far_ps + 1)
    if g.n_threads > 1:
        longest, total = g.events - g.window_base, g.events - g.window_base
        for thread in range(1, g.n_threads):
            other = globals_of(g, thread)
            reason = max(reason, other.reason)
            step = min(step, other.upcoming_step)
            longest = max(longest, other.events)
            total += other.events
            is_halted |= other.is_halted
            last_ps = min(last_ps, other.far_ps + 1)
            absorb(g, other)
        g.window_events += total
        g.longest_events += longest
        g.window_base = g.events
    if is_halted or (g.unfinished == 0 and reason == _OPEN):  # others may have gone further than the last event
        return AGAIN
    if reason != _OPEN:
        return reason
    if step == NEVER:
        return LEFT
    begin_ps = begin_of(g, step)
    if begin_ps >= until_ps:
        return STOPPED
    if (
        begin_of(g, step + 1) > last_ps
        or g.undelivered <= 0
        or (g.is_entwined and g.dropped_bytes + g.discarded_bytes > 0)
    ):
        return LEFT
    if g.events >= last_event:
        g.now_ps = begin_ps
        return PAUSED
    g.agreed_step = step
    return _OPEN


@jit
def absorb(g, other):
    """Add the counters of another thread that decide about the next window."""
    g.events += other.events
    g.unfinished += other.unfinished
    g.undelivered += other.undelivered
    g.dropped_bytes += other.dropped_bytes
    g.discarded_bytes += other.discarded_bytes
    other.events = other.unfinished = other.undelivered = other.dropped_bytes = other.discarded_bytes = 0


@jit
def begin_of(g, step):
    return ((step << g.wheel_shift) + g.window_factor - 1) // g.window_factor << GRAIN_BITS


@cold
def is_handled(g, rank, now):
    """Return whether an event is a message's deadline that is due, so that its handler will run."""
    if rank >= ENDPOINT_TIMER:
        return False
    number = rank & RANK_MASK
    count = count_slots(g, _TRANSFER)
    at = message_row(g, number // count) + slot_offset(g, _TRANSFER, number % count)
    return load_i8(at + 8) == now and load_i8(at) <= now
