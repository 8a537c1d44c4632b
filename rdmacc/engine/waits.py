"""Explains a stalled simulation: what each unfinished message waits for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rdmacc.engine.outcome import Engine
from rdmacc.errors import microseconds
from rdmacc.handlers.hooks import limits_of
from rdmacc.state import DATA_CLASS, NUM_CLASSES
from rdmacc.topology.fabric import Fabric

_EXPLAINED = 3
"""Most messages to explain; the rest mostly wait for the same reason."""

_NAMED = 2
"""Most cut ports to list."""


def explain_stall(engine: Engine, fabric: Fabric, numbers: list[int], since_ps: int, retries: int) -> str:
    """Return why messages are stalled."""
    reasons = []
    if retries:
        noun = "retry" if retries == 1 else "retries"
        reasons.append(f"nothing new for {microseconds(engine.now - since_ps)} in spite of {retries} {noun}")
    started = [number for number in numbers if engine.read("message", number, "is_open")]
    plan = engine.plan
    for number in started[:_EXPLAINED]:
        src, dst = fabric.names[plan.src[number]], fabric.names[plan.dst[number]]
        what = "; ".join(_waits(engine, fabric, number))
        reasons.append(f"message {plan.workload.index[number]} from {src} to {dst}: {what}")
    if len(started) > _EXPLAINED:
        reasons.append(f"{len(started) - _EXPLAINED} more under way")
    if waiting := len(numbers) - len(started):
        reasons.append(f"{waiting} {'waits' if waiting == 1 else 'wait'} for others to end")
    return ". ".join([*reasons, *_pauses(engine, fabric)])


def _waits(engine: Engine, fabric: Fabric, number: int) -> Iterator[str]:
    """Yield the reasons why a message has not ended, those of the network first."""
    yield from _cuts(engine, fabric, number)
    plan, qp = engine.plan, int(engine.plan.qp[number])
    packets = int(plan.packets[number])
    sent, granted, acknowledged, received = (
        int(engine.read("message", number, name)) for name in ("next_psn", "granted_psn", "una_psn", "received_packets")
    )
    yield f"{received:,} of {packets:,} packets have arrived, {acknowledged:,} are acknowledged"
    if engine.read("port", int(plan.qp_port[qp]), "is_down"):
        return
    stops = _stopped_by(engine, qp)
    window = int(engine.read("qp", qp, "window_bytes"))
    if stops:
        yield stops
    elif sent >= packets:
        yield "all are sent: it waits for ACKs"
    elif sent >= granted:
        yield f"it may send {granted:,}: it waits for a grant"
    elif engine.read("qp", qp, "credits") <= 0:
        yield f"it has no credit for packet {sent:,}"
    elif engine.read("qp", qp, "inflight_bytes") >= window:
        yield f"its window of {window:,} B is full: it waits for ACKs"
    else:
        yield f"packet {sent:,} is next"


def _cuts(engine: Engine, fabric: Fabric, number: int) -> Iterator[str]:
    """Yield where no packet of a message, or no answer, gets through."""
    plan = engine.plan
    is_down = np.isin(np.arange(fabric.n_ports), list(fabric.down_ports))
    ways = ((plan.dst, plan.qp_port), (plan.src, plan.reply_port))
    for back, (end, ports) in enumerate(ways):
        dst, port = int(end[number]), int(ports[plan.qp[number]])
        lost, what = (plan.loss_control, "packets back are") if back else (plan.loss_data, "data is")
        steps = plan.paths.first[2 * number + back : 2 * number + back + 2] if len(plan.paths.ports) else (0, 0)
        own = plan.paths.ports[steps[0] : steps[1]]
        for is_cut, every, some in (
            (is_down, f"no route {'back ' * back}to", ""),
            (lost >= 1.0, f"all {what} lost on the way to", f"{what} lost on some ways to"),
        ):
            if len(own):
                cut = own[is_cut[own]].tolist()
                is_open = not cut
            else:
                cut, is_open = _cut_at(fabric, port, dst, is_cut)
            text = some if is_open else every
            if text and (cut or not is_open):
                names = ", ".join(fabric.port_name(place) for place in cut[:_NAMED])
                yield f"{text} {fabric.names[dst]}" + (f" ({names})" if names else "")
                break


def _cut_at(fabric: Fabric, first: int, dst: int, is_cut: npt.NDArray[np.bool_]) -> tuple[list[int], bool]:
    """Return the ports where paths between two hosts are cut, and whether any path is intact."""
    todo, seen, cut, is_open = [first], {first}, [], False
    while todo:
        port = todo.pop()
        if is_cut[port]:
            cut.append(port)
            continue
        node = int(fabric.port_peer[port])
        is_open |= node == dst
        found = set() if node == dst else set(fabric.candidates(node, dst)) - seen
        seen |= found
        todo.extend(sorted(found, reverse=True))
    return cut, is_open


def _pauses(engine: Engine, fabric: Fabric) -> Iterator[str]:
    """Yield which ports PFC has stopped."""
    for port in range(fabric.n_ports):
        paused = int(engine.read("port", port, "paused"))
        if paused:
            classes = ", ".join(str(cls) for cls in range(DATA_CLASS, NUM_CLASSES) if paused >> cls & 1)
            since_ps = engine.now - int(engine.read("port", port, "paused_since_ps"))
            yield f"PFC has stopped class {classes} of {fabric.port_name(port)} for {microseconds(since_ps)}"


def _stopped_by(engine: Engine, qp: int) -> str:
    """Return which component has stopped a queue pair by its rate or window; empty if none has."""
    scheme = engine.plan.scheme
    for limit, owners in limits_of(scheme.components).items():
        for component in owners:
            value = engine.sender_value(qp, component, limit)
            if not value > 0.0:
                return f"{type(scheme.components[component]).__name__}.Sender.{limit} of queue pair {qp} is {value:g}"
    return ""
