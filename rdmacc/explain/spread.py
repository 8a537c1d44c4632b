"""How a pause spread: from the port that it stopped to the one whose queue was the first to be full."""

from __future__ import annotations

from collections import Counter

import numpy as np

from rdmacc.explain.recording import Recording
from rdmacc.state import DATA

_MOST = 4000
"""Packets that a switch may hold of one link, at most; those that came before these have left it."""


def spread_to(recording: Recording, port: int, cls: int, time_ps: int) -> list[int]:
    """Return the ports from a paused one to the one that was full: each held most of what the one before had sent.

    All but the last were paused themselves. A port that leads to a host, which paused it, is the last one, too.
    """
    way, fabric = [port], recording.plan.fabric
    while not fabric.is_host[fabric.port_peer[way[-1]]]:
        held = _held(recording, way[-1], cls, time_ps)
        if not held:
            break
        out, classes = held
        if out in way:
            break
        way.append(out)
        if not any(recording.pauses(out, one, time_ps, time_ps + 1) for one in classes):
            break
        cls = classes[0]
    return way


def _held(recording: Recording, port: int, cls: int, time_ps: int) -> tuple[int, list[int]] | None:
    """Return the port that holds most of what came over a link and was not sent on, and its classes, most first."""
    fabric = recording.plan.fabric
    came = recording.sent(port, 0)
    off_ps = time_ps - int(fabric.port_delay_ps[port])
    came = came[: int(np.searchsorted(came["time_ps"], off_ps))][-_MOST:]
    if len(came) and recording.end_ps(port, int(came["time_ps"][-1]), int(came["wire_bytes"][-1])) > off_ps:
        came = came[:-1]
    came = came[(came["kind"] == DATA) & (came["priority"] == cls)]
    if not len(came):
        return None
    keys = set(zip(came["message"].tolist(), came["psn"].tolist(), strict=True))
    node, first_ps = int(fabric.port_peer[port]), int(came["time_ps"][0]) + int(fabric.port_delay_ps[port])
    sizes: Counter[int] = Counter()
    classes: dict[int, Counter[int]] = {}
    left: set[tuple[int, int]] = set()
    for out in range(int(fabric.node_first_port[node]), int(fabric.node_first_port[node + 1])):
        for one in recording.sent(out, first_ps):
            key = int(one["message"]), int(one["psn"])
            if one["kind"] != DATA or key not in keys or key in left:
                continue
            left.add(key)
            if one["time_ps"] > time_ps:
                sizes[out] += int(one["wire_bytes"])
                classes.setdefault(out, Counter())[int(one["priority"])] += 1
    if not sizes:
        return None
    out = sizes.most_common(1)[0][0]
    return out, [number for number, _ in classes[out].most_common()]
