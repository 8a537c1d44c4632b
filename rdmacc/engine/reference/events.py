"""Events on a SimPy environment that cost little: an object with callbacks, its place in the order given by a rank.

SimPy orders its queue by (time, priority, number). The priority is the event's rank (`rdmacc.engine.ranks`), so
simultaneous events run in a fixed order whoever scheduled them first; SimPy's own priorities, 0 and 1, come before.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappush
from typing import Any

import simpy

__all__ = ["Wake", "push"]


class Wake:
    """An event that calls one function. It may be scheduled again once it has run."""

    __slots__ = ("_again", "callbacks")
    _ok = True

    def __init__(self, function: Callable[[Any], None]) -> None:
        self._again = [function]
        self.callbacks: list[Callable[[Any], None]] | None = None

    def rearm(self) -> Wake:
        """Make the event ready to be scheduled."""
        self.callbacks = self._again
        return self


def push(env: simpy.Environment, time_ps: int, rank: int, function: Callable[[Any], None]) -> None:
    """Schedule a call of `function` at a time, with a rank."""
    heappush(env._queue, (time_ps, rank, next(env._eid), Wake(function).rearm()))
