"""The SimPy environment, and events that cost little: a function of the time, its place in the order given by a rank.

SimPy orders its queue by (time, priority, number). An event of the engine has its rank (`rdmacc.engine.ranks`) as
priority, so simultaneous events run in a fixed order whoever scheduled them first, and a function where SimPy has an
event object. SimPy's own events, those of processes that a user attaches, have priorities up to 1 and come before.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import simpy

__all__ = ["SIMPY_PRIORITY", "Environment", "push"]

SIMPY_PRIORITY = 1
"""The highest priority of SimPy's own events (`simpy.events.NORMAL`); every rank is above it."""


class Environment(simpy.Environment):
    """A SimPy environment whose queue also holds functions of the time."""

    def step(self) -> None:
        """Process the next event."""
        queue: list[Any] = self._queue
        if queue and queue[0][1] > SIMPY_PRIORITY:
            self._now, _, _, function = heappop(queue)
            function(self._now)
        else:
            super().step()


def push(env: Environment, time_ps: int, rank: int, function: Callable[[int], None]) -> None:
    """Schedule a call of `function` with the time, at that time and with a rank."""
    heappush(env._queue, (time_ps, rank, next(env._eid), function))
