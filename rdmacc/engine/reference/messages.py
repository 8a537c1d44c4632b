"""The life of a message: it starts, ends, and releases its dependents."""

from functools import partial
from typing import Any

from rdmacc.engine.reference.core import Computation, Core, Message, QueuePair
from rdmacc.interface import NEVER
from rdmacc.rules import START, progress


def schedule_start(net: Core, message: Message, time_ps: int) -> None:
    net.env.call_last(time_ps, START + message.number, partial(_start, net, message))


def _start(net: Core, message: Message, now: int) -> None:
    """Start a message at its sender, unless it has failed."""
    if message.failed:
        return
    if progress.starts_later(message, net.scheme.start_delay_ps, now):
        schedule_start(net, message, now + net.scheme.start_delay_ps)
        return
    qp = message.queue_pair
    progress.open_message(qp, message)
    qp.pending.append(message)
    if net.on_start is not None:
        request = net.new_request()
        net.on_start(qp, message, None, request, now)
        qp.nic.send_request(request, qp, message, now)
    qp.nic.schedule(qp, now)


def after_sender(net: Core, qp: QueuePair, message: Message, now: int) -> None:
    """Finish a message that is acknowledged or given up; wake its queue pair."""
    if progress.has_ended(message, now):
        _finish(net, qp, message, now)
    qp.nic.schedule(qp, now)


def _finish(net: Core, qp: QueuePair, message: Message, now: int) -> None:
    """Remove a message from its queue pair; release its dependents."""
    progress.close_message(qp, message)
    qp.pending.remove(message)
    if message.failed:
        _fail_dependents(net, message.number)
    count_down(net, message, now, is_acked=True)
    if message.failed:
        note_end(net, message)
    _cancel(net, "Transfer", message)
    if progress.close_pair(qp):
        _cancel(net, "Sender", qp)
    net.unfinished -= 1


def give_up(net: Core, message: Message, reason: int, now: int) -> None:
    """Fail a message without a route, and with it all of its queue pair; it may not have started."""
    qp = message.queue_pair
    if not progress.cut_off(message, reason):
        return
    if message.is_open:
        _finish(net, qp, message, now)
        _cancel(net, "Sender", qp)
        qp.closed = 1
    else:
        note_end(net, message)
        _fail_dependents(net, message.number)
        net.unfinished -= 1


def note_end(net: Core, message: Message) -> None:
    """Stop the run if a message is awaited that has been delivered or has failed."""
    if message.is_awaited:
        message.is_awaited = 0
        net.ended.append(message.number)


def _cancel(net: Core, kind: str, owner: Any) -> None:
    """Set all deadlines of a record kind to NEVER."""
    for slot, _ in net.binding.timers[kind]:
        setattr(getattr(owner, f"{kind.lower()}{slot.component}"), slot.field.name, NEVER)


def count_down(net: Core, message: Message, now: int, is_acked: bool) -> None:
    """Release the dependents of a message: at its sender once acknowledged, elsewhere once delivered."""
    if net.plan.dependents is None or message.failed:
        return
    for number, delay_ps in net.plan.dependents.of(message.number):
        waiting = _waiting(net, number)
        if progress.is_due(waiting, message, is_acked):
            _release(net, waiting, delay_ps, now)


def _waiting(net: Core, number: int) -> Message | Computation:
    count = len(net.messages)
    return net.messages[number] if number < count else net.computation[number - count]


def _release(net: Core, waiting: Message | Computation, delay_ps: int, now: int) -> None:
    """Count one dependency as met; after the last one, start once its delay is over."""
    start_ps = progress.wait_for_less(waiting, delay_ps, now)
    if start_ps >= NEVER:
        return
    if isinstance(waiting, Message):
        schedule_start(net, waiting, start_ps)
    else:
        waiting.start_ps = start_ps
        schedule_computation(net, waiting)


def schedule_computation(net: Core, row: Computation) -> None:
    """Schedule the end of computation that waits for nothing more."""
    net.env.call_last(row.start_ps + row.duration_ps, START + row.number, partial(_end_computation, net, row))


def _end_computation(net: Core, row: Computation, now: int) -> None:
    """End a row of computation; release its dependents."""
    row.end_ps = now
    assert net.plan.dependents is not None
    for number, delay_ps in net.plan.dependents.of(row.number):
        _release(net, _waiting(net, number), delay_ps, now)
    net.unfinished -= 1


def _fail_dependents(net: Core, number: int) -> None:
    """Fail all direct and indirect dependents of a message."""
    todo = [number]
    while todo and net.plan.dependents is not None:
        for waiting, _ in net.plan.dependents.of(todo.pop()):
            row = _waiting(net, waiting)
            if progress.fail_waiting(row):
                net.unfinished -= 1
                if isinstance(row, Message):
                    note_end(net, row)
                todo.append(waiting)
