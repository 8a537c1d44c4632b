"""Probes: what a scenario watches, sampled or on every change."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rdmacc.engine.plan import Watch
from rdmacc.engine.reference.core import Core
from rdmacc.interface.component import OWNERS
from rdmacc.rules import *

Samples = list[tuple[int, float]]  # times and values


class Probes:
    """The samples of all probes so far."""

    def __init__(self, net: Core, nodes: Sequence[Any], ports: Sequence[Any]) -> None:
        self.samples: list[Samples] = [[] for _ in net.plan.watches]
        self._net = net
        self.on_change: list[tuple[Any, str, Samples]] = []
        things: dict[str, Sequence[Any]] = {"port": ports, "host": nodes, "message": net.messages, "qp": net.qps}
        for number, watch in enumerate(net.plan.watches):
            record = things[OWNERS.get(watch.record.capitalize(), watch.record)][watch.number]
            if watch.component >= 0:
                record = getattr(record, f"{watch.record}{watch.component}")
            if watch.probe.every_ps is None:
                self.on_change.append((record, watch.field.name, self.samples[number]))
            else:
                self._wait(number, watch, record, 0)

    def _wait(self, number: int, watch: Watch, record: Any, at_ps: int) -> None:
        self._net.env.call_last(at_ps, PROBE + number, partial(self._sample, number, watch, record))

    def _sample(self, number: int, watch: Watch, record: Any, now: int) -> None:
        self.samples[number].append((now, float(getattr(record, watch.field.name))))
        self._wait(number, watch, record, now + (watch.probe.every_ps or 0))

    def note_changes(self) -> None:
        for record, name, samples in self.on_change:
            value = float(getattr(record, name))
            if not samples or samples[-1][1] != value:
                samples.append((int(self._net.env.now), value))
