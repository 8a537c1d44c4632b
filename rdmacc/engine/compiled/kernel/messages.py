"""Messages of the kernel: how they are added, start, end and wait. Mirrors `rdmacc.engine.reference.messages`."""

import numpy as np

from rdmacc.engine.compiled.kernel.events import push_event, refill
from rdmacc.engine.compiled.kernel.ports import schedule, send_request
from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.kernel.timers import arm, call_sender, cancel

_FAILED = 1 << 40

AWAITED = 1 << 58  # what the kernel takes off `unfinished` to stop, since an awaited message has ended


def add_message(address, added):
    """Add a message, with its queue pair if that is new, and schedule its start."""
    g, asked = globals_at(address), added_at(added)
    number = g.n_messages
    row, message = message_row(g, number), message_at(g, number)
    copy_words(asked.message, row, g.message_bytes >> 3)
    message.number, message.qp, message.src, message.dst = number, asked.qp, asked.src, asked.dst
    message.size_bytes, message.packets, message.granted_psn = asked.size_bytes, asked.packets, asked.packets
    message.payload_bytes, message.start_ps, message.priority = g.payload_bytes, asked.start_ps, asked.priority
    message.is_awaited = 1
    for i in range(asked.n_sets):
        at = asked.sets + 16 * i
        store_i8(row + load_i8(at), load_i8(at + 8) + 8 * asked.first_word)
    store_i4(g.skipped_first + 4 * number, np.int32(asked.first_word))
    g.unfinished += 1
    g.undelivered += 1
    g.n_messages += 1
    if asked.pair:
        row, qp = qp_row(g, asked.qp), qp_at(g, asked.qp)
        copy_words(asked.pair, row, g.qp_bytes >> 3)
        qp.number, qp.place, qp.first_message = asked.qp, asked.place, number
        qp.chance_key, qp.reply_chance_key = hash63(asked.key, asked.qp), hash63(asked.reply_key, asked.qp)
        store_i4(g.places + 4 * (port_at(g, qp.nic).first_place + asked.place), np.int32(asked.qp))
        if asked.on_open:
            due = call(asked.on_open, g.params, row, row, 0, 0, 0, 0, 0)
            if due:
                arm(g, due, asked.qp, 0, 0, asked.qp)
    push_event(g, asked.start_ps, rank_last(g, START + number))
    if g.heap_length == 0 and g.wheel_count > 0:
        refill(g)


@cold
def start(g, number, now):
    message = message_at(g, number)
    if message.failed:
        return
    qp = qp_at(g, message.qp)
    if starts_later(message, g.start_delay_ps, now):
        push_event(g, now + g.start_delay_ps, rank_last(g, START + number))
        return
    open_message(qp, message)
    message.next_pending = -1
    if qp.first_pending < 0:
        qp.first_pending = number
    else:
        message_at(g, qp.last_pending).next_pending = number
    qp.last_pending = number
    if g.on_start:
        request = call_sender(g, g.on_start, qp.number, number, 0, now)
        if request >= 0:
            send_request(g, request, qp.number, number, now)
    schedule(g, message.qp, now)


@jit
def after_sender(g, qp_number, message_number, now):
    if has_ended(message_at(g, message_number), now):
        finish(g, qp_number, message_number, now)
    schedule(g, qp_number, now)


@cold
def note_end(g, number):
    """Stop the kernel if this message is awaited: it has been delivered or has failed."""
    message = message_at(g, number)
    if message.is_awaited:
        message.is_awaited = 0
        if g.first_ended < 0:
            g.unfinished -= AWAITED
        message.next_ended = g.first_ended
        g.first_ended = number


@cold
def finish(g, qp_number, number, now):
    qp, message = qp_at(g, qp_number), message_at(g, number)
    close_message(qp, message)
    if qp.first_pending == number:
        qp.first_pending = message.next_pending
    else:
        before = qp.first_pending
        while message_at(g, before).next_pending != number:
            before = message_at(g, before).next_pending
        message_at(g, before).next_pending = message.next_pending
        if qp.last_pending == number:
            qp.last_pending = before
    if message.failed:
        if message.failed == GAVE_UP:
            g.undelivered -= _FAILED
        if g.node_bits:  # what waits for it may be elsewhere: the run begins again
            g.is_halted |= g.has_dependents
        elif g.has_dependents:
            fail_dependents(g, number)
    if message.failed:
        note_end(g, number)
    if g.has_dependents:
        count_down(g, number, now, True)
    cancel(g, 2, number)
    if close_pair(qp):
        cancel(g, 0, qp_number)
    g.unfinished -= 1


@cold
def give_up(g, number, reason, now):
    message = message_at(g, number)
    if not cut_off(message, reason):
        return
    if message.delivered_ps < 0:
        g.undelivered -= 1
    if message.is_open:
        finish(g, message.qp, number, now)
        cancel(g, 0, message.qp)
        qp_at(g, message.qp).closed = 1
    else:
        note_end(g, number)
        if g.has_dependents:
            fail_dependents(g, number)
        g.unfinished -= 1


@cold
def count_down(g, number, now, is_acked):
    message = message_at(g, number)
    if message.failed:
        return
    for i in range(load_entry(g.dependent_first, number), load_entry(g.dependent_first, number + 1)):
        waiting = load_entry(g.dependents, i)
        if waiting < g.n_messages:
            is_time = is_due(message_at(g, waiting), message, is_acked)
        else:
            is_time = is_due(computation_at(g, waiting), message, is_acked)
        if is_time:
            release(g, waiting, load_i8(g.dependent_delays + 8 * i), now)


@cold
def release(g, number, delay_ps, now):
    if number < g.n_messages:
        start_ps = wait_for_less(message_at(g, number), delay_ps, now)
        if start_ps < NEVER:
            push_event(g, start_ps, rank_last(g, START + number))
        return
    row = computation_at(g, number)
    start_ps = wait_for_less(row, delay_ps, now)
    if start_ps < NEVER:
        row.start_ps = start_ps
        if row.is_far:
            g.far_ps = min(g.far_ps, start_ps + row.duration_ps)
        push_event(g, start_ps + row.duration_ps, rank_last(g, START + number))


@cold
def end_computation(g, number, now):
    computation_at(g, number).end_ps = now
    for i in range(load_entry(g.dependent_first, number), load_entry(g.dependent_first, number + 1)):
        release(g, load_entry(g.dependents, i), load_i8(g.dependent_delays + 8 * i), now)
    g.unfinished -= 1


@cold
def fail_dependents(g, number):
    """Fail everything that waits, directly or not, for a message; `next_pending` chains what is still to visit."""
    todo = number
    message_at(g, number).next_pending = -1
    while todo >= 0:
        here = todo
        todo = message_at(g, here).next_pending if here < g.n_messages else computation_at(g, here).next_pending
        for i in range(load_entry(g.dependent_first, here), load_entry(g.dependent_first, here + 1)):
            number = load_entry(g.dependents, i)
            if number < g.n_messages:
                waiting = message_at(g, number)
                if fail_waiting(waiting):
                    g.unfinished -= 1
                    g.undelivered -= 1
                    note_end(g, number)
                    waiting.next_pending = todo
                    todo = number
            else:
                row = computation_at(g, number)
                if fail_waiting(row):
                    g.unfinished -= 1
                    row.next_pending = todo
                    todo = number
