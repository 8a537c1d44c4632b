"""Applications on the simulated network: a user's SimPy processes send messages and wait for them.

>>> import rdmacc, simpy
>>> env = simpy.Environment()
>>> live = rdmacc.Live(rdmacc.star(3), "dcqcn", env=env, engine="simpy")
>>> def client():
...     asked = yield live.send("h1", "h0", "1kB")
...     yield env.timeout(rdmacc.units.us(5))  # the server works
...     answered = yield live.send("h0", "h1", "64kB")
...     print(answered.delivered_ps - asked.start_ps)
>>> process = env.process(client())
>>> env.run()
14617281
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import Any
from weakref import WeakSet

import networkx as nx
import pandas as pd
import simpy

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import named
from rdmacc.faults import Fault
from rdmacc.interface import NEVER
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme
from rdmacc.simulation.stepwise import Simulation
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.frame import open_work

__all__ = ["Live", "Sending"]

_LAST = math.inf
"""Priority of the event that resumes the network: after all others of its time."""

_TAKEN: WeakSet[simpy.Environment] = WeakSet()
"""Environments that already have a network."""


class Sending(simpy.Event):
    """A message that has been sent: an event that happens when the message is delivered or fails.

    Its value is a `Completion`. It works with `any_of`, `all_of`, `timeout` and interrupts like any SimPy event.

    Attributes
    ----------
    message : int
        The message's label, as in `result.flows`.
    """

    def __init__(self, env: simpy.Environment, message: int) -> None:
        super().__init__(env)
        self.message = message


class Live:
    """A network on which SimPy processes send messages.

    The processes run on their environment. Once everything due at the current time has run, the network is simulated up
    to the processes' next event or the next end of a message. A process learns of an end 1 ps later, so a message sent
    in response never affects the instant of the end. All times are the same as when `workload` is simulated alone.

    Parameters
    ----------
    network : networkx.Graph
        The network.
    scheme : str or Scheme
        What runs on hosts and switches.
    env : simpy.Environment, optional
        The processes' environment, at time 0. Default: a new one.
    unit : quantity of time
        One unit of the environment's time. Whole numbers of picoseconds are exact; in any other unit, times are rounded
        to whole picoseconds when messages are sent.
    workload : DataFrame, optional
        Other traffic, known from the start.
    priorities : iterable of int
        Classes of the messages that will be sent, for which PFC reserves buffer space. Default: the scheme's.
    engine, seed, probes, faults, trace, check
        As in `Simulation`.

    Attributes
    ----------
    env : simpy.Environment
        The environment.
    simulation : Simulation
        The simulation of the network. It may lag behind the environment while no message is in flight.

    Raises
    ------
    ConfigError
        If an argument is invalid, or the environment already has a network or is not at time 0.
    """

    @named
    def __init__(
        self,
        network: nx.Graph[Any],
        scheme: str | Scheme,
        *,
        env: simpy.Environment | None = None,
        unit: Quantity = "1ps",
        workload: pd.DataFrame | None = None,
        priorities: Iterable[int] = (),
        engine: str = "auto",
        seed: int = 0,
        probes: Sequence[Probe] = (),
        faults: Sequence[Fault] = (),
        trace: bool = False,
        check: bool | None = None,
    ) -> None:
        self.env = simpy.Environment() if env is None else env
        if not isinstance(self.env, simpy.Environment) or self.env in _TAKEN or self.env.now != 0:
            raise ConfigError("env", env, "a simpy.Environment at time 0, without another network")
        self._unit_ps = time_ps(unit, field="unit")
        if self._unit_ps < 1:
            raise ConfigError("unit", unit, "at least 1 ps")
        self.simulation = Simulation(
            network, open_work(workload, priorities), scheme, engine=engine, seed=seed, probes=probes, faults=faults,
            trace=trace, check=check, order="time",
        )  # fmt: skip
        _TAKEN.add(self.env)
        self._sendings: dict[int, Sending] = {}
        self._wakes_at: Any = None
        """When the network is scheduled to resume; None if it is not."""
        self._spare: simpy.Event | None = None
        """An event that has happened and can be reused."""

    @property
    def now_ps(self) -> int:
        """The environment's time."""
        return self._ps(self.env.now)

    @property
    def workload(self) -> pd.DataFrame:
        """All messages so far: `simulate` with this workload gives the same times."""
        return self.simulation.workload

    def send(self, src: Hashable, dst: Hashable, size: Quantity, *, priority: int | None = None) -> Sending:
        """Send a message now.

        Parameters
        ----------
        src, dst : hashable
            Names of two hosts.
        size : quantity of bytes
            Payload, such as ``"1MB"``.
        priority : int, optional
            Class of its packets; default: the scheme's.

        Returns
        -------
        Sending
            The event of its end. Yield it to wait; its value is a `Completion`, with `has_failed` and the times.

        Raises
        ------
        ConfigError
            As in `Simulation.send`.
        """
        env = self.env
        now, earliest_ps = env.now, self.simulation.engine.earliest_ps
        start_ps = now if type(now) is int and self._unit_ps == 1 else self._ps(now)
        if start_ps < earliest_ps:  # rounding may put it before the network's time
            start_ps = earliest_ps
        message = self.simulation.send_at(src, dst, size, start_ps, priority, earliest_ps)
        sending = self._sendings[message] = Sending(env, message)
        if self._wakes_at is None or now < self._wakes_at:
            self._wake(now, now)
        return sending

    def result(self) -> Result:
        """Return the result so far: flows, counters and probes up to the most recent end of a message."""
        return self.simulation.result()

    def _ps(self, time: Any) -> int:
        """Return a time of the environment in picoseconds."""
        return int(time) if self._unit_ps == 1 and time == int(time) else round(time * self._unit_ps)

    def _wake(self, time: Any, now: Any) -> None:
        """Resume the network at a time, after all other events of that time."""
        self._wakes_at = time
        event, self._spare = self._spare or simpy.Event(self.env), None
        event._ok, event._value, event.callbacks = True, None, [self._go_on]
        self.env.schedule(event, priority=_LAST, delay=time - now)

    def _go_on(self, event: simpy.Event) -> None:
        """Simulate the network up to the environment's next event or the next end of a message."""
        self._spare = event
        env = self.env
        now, upcoming = env.now, env.peek()
        if self._wakes_at != now:  # superseded by an earlier one
            return
        self._wakes_at = None
        if not self._sendings:
            return
        if upcoming <= now:  # a user's event of the lowest priority
            self._wake(now, now)
            return
        simulation = self.simulation
        ended = simulation.ends_until(NEVER if upcoming == simpy.core.Infinity else self._ps(upcoming))
        if not ended:
            self._wake(upcoming, now)
            return
        heard_ps = simulation.engine.earliest_ps
        heard = heard_ps if self._unit_ps == 1 else heard_ps / self._unit_ps
        for completion in ended:
            sending = self._sendings.pop(completion.message)
            sending._ok, sending._value = True, completion
            env.schedule(sending, delay=heard - now)
        if self._sendings:
            self._wake(heard, now)
