"""Messages: how they start, end and wait for each other."""

from __future__ import annotations

from functools import partial
from typing import Any

from rdmacc import state
from rdmacc.engine.records import ComputationProgress, MessageProgress
from rdmacc.engine.reference.events import push
from rdmacc.engine.reference.senders import call_sender, send_request
from rdmacc.records import NEVER
from rdmacc.rules.progress import (
    close_message,
    close_pair,
    fail_waiting,
    has_ended,
    is_due,
    open_message,
    starts_later,
    wait_for_less,
)

__all__ = [
    "Computation", "Message", "after_sender", "count_down", "end_computation", "fail_dependents", "finish",
    "note_out_of_order", "schedule_computation", "schedule_next_start", "start",
]  # fmt: skip


class Message(state.Message, MessageProgress):
    """A message, both sides."""

    __slots__ = ("queue_pair",)

    queue_pair: Any


class Computation(ComputationProgress):
    """A row of computation on a host."""

    __slots__ = ("duration_ps", "number", "src")

    number: int
    src: int
    duration_ps: int


def schedule_next_start(net: Any) -> None:
    """Schedule the earliest message that waits for nothing but its time."""
    if net.starts:
        number = net.starts.pop()
        at = int(net.plan.start_ps[number])
        push(net.env, at, net.ranks["start"] + number, partial(_start_listed, net, number))


def _start_listed(net: Any, number: int, now: int) -> None:
    schedule_next_start(net)
    start(net, number, now)


def start(net: Any, number: int, now: int) -> None:
    """Start a message at its sender."""
    message = net.messages[number]
    qp = message.queue_pair
    if starts_later(message, net.start_delay_ps, now):
        push(net.env, now + net.start_delay_ps, net.ranks["start"] + number, partial(start, net, number))
        return
    open_message(qp, message)
    qp.pending.append(message)
    if net.on_start is not None:
        request = call_sender(net, net.on_start, qp, message, None, now)
        send_request(net, request, qp, message, now)
    qp.nic.schedule(qp, now)


def note_out_of_order(net: Any, message: Any, psn: int) -> None:
    """Count a packet that was sent before; note those that are skipped, whose first time is still to come."""
    skipped = net.skipped[message.number]
    if psn > message.highest_psn:
        skipped.update(range(message.highest_psn, psn))
        message.highest_psn = psn + 1
    elif psn in skipped:
        skipped.remove(psn)
    else:
        message.retransmissions += 1


def after_sender(net: Any, qp: Any, message: Any, now: int) -> None:
    """Finish a message that is acknowledged or given up; let the queue pair send what it now may."""
    if has_ended(message, now):
        finish(net, qp, message, now)
    qp.nic.schedule(qp, now)


def finish(net: Any, qp: Any, message: Any, now: int) -> None:
    """Take a message out of its queue pair; release what waits for it."""
    close_message(qp, message)
    qp.pending.remove(message)
    if message.failed:
        fail_dependents(net, message.number)
    count_down(net, message, now, is_acked=True)
    cancel(net, "Transfer", message)
    if close_pair(qp):
        cancel(net, "Sender", qp)
    net.unfinished -= 1


def cancel(net: Any, kind: str, owner: Any) -> None:
    """Set all deadlines of a record kind to NEVER."""
    for slot, _ in net.timers[kind]:
        setattr(getattr(owner, f"{kind.lower()}{slot.component}"), slot.field.name, NEVER)


def count_down(net: Any, message: Any, now: int, is_acked: bool) -> None:
    """Release what waits for a message: at its sender when acknowledged, elsewhere when delivered."""
    if net.plan.dependents is None or message.failed:
        return
    for number, delay_ps in net.plan.dependents.of(message.number):
        if is_due(net.waiting(number), message, is_acked):
            _release(net, number, delay_ps, now)


def _release(net: Any, number: int, delay_ps: int, now: int) -> None:
    """Let something wait for one less, and start when the delay after it is over."""
    waiting = net.waiting(number)
    start_ps = wait_for_less(waiting, delay_ps, now)
    if start_ps < NEVER:
        if number < len(net.messages):
            push(net.env, start_ps, net.ranks["start"] + number, partial(start, net, number))
        else:
            waiting.start_ps = start_ps
            schedule_computation(net, waiting)


def schedule_computation(net: Any, row: Any) -> None:
    """Schedule the end of computation that has what it needs."""
    end = row.start_ps + row.duration_ps
    push(net.env, end, net.ranks["start"] + row.number, partial(end_computation, net, row))


def end_computation(net: Any, row: Any, now: int) -> None:
    """End a row of computation; release what waits for it."""
    row.end_ps = now
    for number, delay_ps in net.plan.dependents.of(row.number):
        _release(net, number, delay_ps, now)
    net.unfinished -= 1


def fail_dependents(net: Any, number: int) -> None:
    """Fail everything that waits, directly or not, for a message."""
    if net.plan.dependents is None:
        return
    todo = [number]
    while todo:
        for waiting_number, _ in net.plan.dependents.of(todo.pop()):
            waiting = net.waiting(waiting_number)
            if fail_waiting(waiting):
                net.unfinished -= 1
                todo.append(waiting_number)
