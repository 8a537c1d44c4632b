"""Detects runs that go on without progress.

A scheme may retry forever for something that never comes. Such a run makes no progress: no receiver accepts a byte, no
ACK is new, no message ends. A quiet run need not be over, though, because timers may be long. So quiet time is counted
in rounds: a round lasts until every event that was pending at its start has run, and at least one slice. A round in
which a packet moves counts as a retry. Every scheme gives a message up after at most `retry_limit` retries; so once
there have been more, and the quiet exceeds 100 base RTTs, more retries cannot help. Where losses are random, the limit
grows with the expected number of tries per round trip.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rdmacc.engine.outcome import Engine
from rdmacc.engine.plan import Plan
from rdmacc.units import time_ps

_LEAST_RETRIES = 100
_MARGIN = 1.25
"""Factor on the retries after which a scheme gives up, since a round may not hold exactly one."""

_LEAST_RTTS = 100

_STILL_PS = time_ps("10s")
"""If no packet moves for this long beyond the longest computation, only idle timers are left."""


class Progress:
    """Watches whether a simulation makes progress; `retries` counts rounds since `since_ps` in which packets moved."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        starts_ps = np.append(plan.start_ps, plan.computation.start_ps)
        self._last_start_ps = int(starts_ps.max(initial=0)) + plan.scheme.start_delay_ps
        self._least_ps = _LEAST_RTTS * plan.port_base_rtt_ps
        limits = [getattr(part, "retry_limit", 0) for part in plan.scheme.components]
        self._most_retries = _MARGIN * max(_LEAST_RETRIES, *limits) * _tries(plan)
        waits = (plan.computation.duration_ps, () if plan.dependents is None else plan.dependents.delay_ps)
        self._still_ps = _STILL_PS + sum(int(np.max(times, initial=0)) for times in waits)
        self._done = (-1, -1)
        self._acknowledged = 0
        self.since_ps = self.retries = 0
        self._moved = self._moved_ps = 0
        self._round_end_ps = self._round_moved = 0

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the plan, which is made anew."""
        return vars(self) | {"_plan": None}

    def expect(self, start_ps: int) -> None:
        """Note that a message will start."""
        self._last_start_ps = max(self._last_start_ps, start_ps + self._plan.scheme.start_delay_ps)

    def has_ended(self, engine: Engine) -> bool:
        """Return whether a simulation has stalled; call it after each slice."""
        now, done = engine.now, (engine.accepted_bytes, engine.unfinished)
        if done != self._done or now <= self._last_start_ps:
            self._done = done
            self._begin(engine)
            return False
        acknowledged, moved = engine.acknowledged_packets, engine.moved_packets
        if acknowledged > self._acknowledged:
            self._acknowledged = acknowledged
            self._begin(engine)
            return False
        if moved != self._moved:
            self._moved, self._moved_ps = moved, now
        if now - self._moved_ps >= self._still_ps:
            return True
        if now > self._round_end_ps:
            self.retries += moved != self._round_moved
            self._round_moved, self._round_end_ps = moved, engine.last_event_ps()
        return self.retries > self._most_retries and now - self.since_ps >= self._least_ps

    def _begin(self, engine: Engine) -> None:
        """Start counting from the current time."""
        self.since_ps = self._moved_ps = engine.now
        self.retries = self._round_end_ps = 0


def _tries(plan: Plan) -> float:
    """Return the expected number of tries for a packet and its answer in a network with random losses."""
    losses = np.maximum(plan.loss_data, plan.loss_control)
    worst = float(losses[losses < 1.0].max(initial=0.0))
    if worst == 0.0:
        return 1.0
    hops = int(plan.fabric.hops().max()) + 2
    return float((1.0 - worst) ** -min(2.0 * hops, 1e3))
