"""A Gymnasium environment: a learning agent sets rates or parameters of a network, step by step.

Needs ``pip install "rdmacc[gym]"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.tables.layout import QP
from rdmacc.errors import ConfigError, not_installed, unknown
from rdmacc.errors.typed import named
from rdmacc.simulation import Simulation
from rdmacc.simulation.scenario import Scenario
from rdmacc.units import Picoseconds, Quantity, time_ps
from rdmacc.workload.frame import checked_whole

if TYPE_CHECKING:
    from gymnasium import Env, spaces

    Base: TypeAlias = Env[npt.NDArray[np.float32], npt.NDArray[np.float32]]
else:
    try:
        from gymnasium import Env as Base
        from gymnasium import spaces
    except ImportError:
        raise not_installed("rdmacc.gym", "gymnasium", "gym") from None

__all__ = ["CongestionControl"]

Floats: TypeAlias = npt.NDArray[np.float64]
Observed: TypeAlias = Mapping[str, Floats]

OBSERVABLES = ("active", "rate", "goodput", "queue", "marks")
_RATES = {"rate": (0.0, 1.0), "rate_change": (-1.0, 1.0)}
_LEAST = 1e-3
"""Lowest rate of a host, as a share of its line rate. At zero, it would never learn that the network is free again."""


class CongestionControl(Base):
    """A scenario in which an agent sets rates or parameters, on the compiled engine.

    An episode is a fork of one simulation. It ends when all messages have ended, and is truncated at the scenario's
    `until`. An agent observes these numbers for each sending host, in the order of `hosts`:

    =========  ========================================================================================
    active     messages in progress
    rate       mean rate of their queue pairs, divided by the host's line rate; 0 without any
    goodput    payload that arrived from the host in the last step, divided by what its link can carry
    queue      longest queue in front of any of its receivers, divided by line rate times base RTT
    marks      share of the packets marked there in the last step; the largest if there are several receivers
    =========  ========================================================================================

    Parameters
    ----------
    scenario : Scenario
        What runs; `until` ends an episode. If the agent alone sets the rates, use the scheme ``"line-rate"``.
    observe : sequence of str
        The numbers that make up an observation, in this order, each for all hosts.
    act : sequence of str or tuple
        ``"rate"``: the rate of each host's queue pairs, as a share of its line rate, at least a thousandth;
        ``"rate_change"``: the power of 2 by which that share is multiplied, from -1 to 1; ``(name, low, high)``: a
        parameter of the scheme, in base units, as in `Simulation.fork`, which takes milliseconds per step.
    reward : callable
        Takes a mapping from each name above to an array of shape (hosts,), and returns a number.
    every : quantity of time
        Simulated time per step.
    warm_up : quantity of time
        Time at which episodes begin. The simulation up to it runs only once.

    Attributes
    ----------
    hosts : list
        Names of the sending hosts.
    simulation : Simulation
        The current episode.

    Raises
    ------
    ConfigError
        If an argument is invalid, the scheme has no rate to set, or the simulation ends during the warm-up.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's)

    @named
    def __init__(
        self,
        scenario: Scenario,
        *,
        observe: Sequence[str] = OBSERVABLES,
        act: Sequence[str | tuple[str, float, float]] = ("rate",),
        reward: Callable[[Observed], float],
        every: Quantity = "10us",
        warm_up: Quantity = 0,
    ) -> None:
        if not isinstance(scenario, Scenario) or scenario.until is None:
            raise ConfigError("scenario", scenario, "a Scenario with `until`, the end of an episode")
        if not callable(reward):
            raise ConfigError("reward", reward, "a function of what is observed")
        for field, given in (("observe", observe), ("act", act)):
            if isinstance(given, str) or not isinstance(given, Sequence) or not given:
                raise ConfigError(field, given, "a list of at least one")
        for name in observe:
            if name not in OBSERVABLES:
                raise unknown("observe", name, OBSERVABLES)
        self._step_ps, self._until_ps = time_ps(every, field="every"), time_ps(scenario.until, field="until")
        if self._step_ps < 1:
            raise ConfigError("every", every, "at least 1 ps")
        self._observe, self._reward = tuple(observe), reward
        self._base: Simulation = scenario.simulation(engine="compiled", order="time")
        self._base.run_to(time_ps(warm_up, field="warm_up"))
        if self._base.is_finished or self._base.now_ps >= self._until_ps:
            raise ConfigError("warm_up", warm_up, "before the last message has ended, and before `until`")
        self.simulation, engine = self._base, cast(Any, self._base.engine)
        engine.open_up_to(len(engine.starts))  # rates may be set before messages start
        plan, fabric = self._base.plan, self._base.plan.fabric
        nodes, self._host = np.unique(plan.qp_src, return_inverse=True)
        self.hosts = [fabric.names[node] for node in nodes]
        self._line_bps = fabric.port_rate_bps[plan.qp_port]
        self._last_hop = fabric.port_reverse[plan.reply_port]
        self._bdp_bytes = self._line_bps * plan.qp_base_rtt_ps / 8e12
        self._step_bytes = np.zeros(len(nodes))
        self._step_bytes[self._host] = self._line_bps * self._step_ps / 8e12
        places = engine.layout.fields.items()
        self._senders = [place for (kind, _, name), place in places if (kind, name) == ("Sender", "rate_bps")]
        self._acts = [self._checked(one) for one in act]
        low, high = (np.concatenate([np.full(one[1], one[place]) for one in self._acts]) for place in (2, 3))
        self.action_space = spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)
        self.observation_space = spaces.Box(0.0, np.inf, (len(observe) * len(nodes),), np.float32)
        self._share = np.ones(len(nodes))
        self._before = self._counts()
        self.simulation = self._base.fork()  # a step before `reset` must not change where episodes begin

    def _checked(self, one: Any) -> tuple[str, int, float, float]:
        """Return an action's name, the number of its values, and their bounds."""
        if isinstance(one, str) and one in _RATES:
            if not self._senders:
                raise ConfigError("act", one, f"absent with {self._base.plan.scheme.name}, whose senders have no rate")
            return one, len(self.hosts), *_RATES[one]
        if isinstance(one, tuple) and len(one) == 3 and isinstance(one[0], str):
            name, low, high = one
            if not (_is_finite(low) and _is_finite(high) and low < high):
                raise ConfigError("act", one, "a name, its least value and a larger one")
            for value in (low, high):
                self._base.fork(parameters={name: self._in_units(name, value)})
            return name, 1, float(low), float(high)
        raise ConfigError("act", one, f"one of {', '.join(_RATES)}, or (name of a parameter, low, high)")

    def _in_units(self, name: str, value: Any) -> Any:
        """Return a value in the type that its parameter takes."""
        if name.endswith("_ps"):
            return Picoseconds(round(value))
        owner, own = self._base.plan.scheme.owner(name)
        return round(value) if name.endswith("_bytes") or isinstance(getattr(owner, own), int) else float(value)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.float32], dict[str, Any]]:
        """Begin an episode. Its seed is drawn from Gymnasium's `np_random`.

        Parameters
        ----------
        seed : int, optional
            Seed of this episode and those after it.
        options : dict, optional
            Not used.

        Returns
        -------
        observation : array
            As described above.
        info : dict
            `now_ps`.
        """
        super().reset(seed=None if seed is None else checked_whole("seed", seed, 0))
        self.simulation = self._base.fork(seed=int(self.np_random.integers(2**31)))
        self._share, self._before = np.ones(len(self.hosts)), self._counts()
        return self._seen(self._observed()), {"now_ps": self.simulation.now_ps}

    def step(
        self, action: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Set rates or parameters, and simulate one step.

        Parameters
        ----------
        action : array
            Has the shape of `action_space`; values outside its bounds are clipped.

        Returns
        -------
        observation : array
            As described above.
        reward : float
            What `reward` returns.
        terminated, truncated : bool
            Whether all messages have ended; whether the scenario's `until` is reached.
        info : dict
            `now_ps`.

        Raises
        ------
        ConfigError
            If the action has the wrong shape or contains NaN.
        SimulationError
            As from `Simulation.run`.
        """
        space: Any = self.action_space
        try:
            values = np.asarray(action, np.float64)
        except (TypeError, ValueError):
            values = np.array(np.nan)
        if values.shape != space.shape or np.isnan(values).any():
            raise ConfigError("action", action, f"{space.shape[0]} numbers")
        if sent := len(cast(Any, self.simulation.engine).messages) - self._base.plan.n_messages:
            raise ConfigError("simulation", f"{sent} messages sent", "without: an episode has the scenario's messages")
        values, parameters = np.clip(values, space.low, space.high), {}
        for name, count, *_ in self._acts:
            own, values = values[:count], values[count:]
            if name in _RATES:
                self._share = np.clip(own if name == "rate" else self._share * 2.0**own, _LEAST, 1.0)
            else:
                parameters[name] = self._in_units(name, own[0])
        if parameters:
            self.simulation = self.simulation.fork(parameters=parameters)
        if any(name in _RATES for name, *_ in self._acts):
            self._set_rates()
        self._before, now_ps = self._counts(), self.simulation.now_ps
        self.simulation.run_to(min(now_ps + self._step_ps, self._until_ps))
        observed, now_ps = self._observed(), self.simulation.now_ps
        is_over = self.simulation.is_finished
        given = self._reward(observed)
        try:
            reward = float(given)
        except (TypeError, ValueError):
            raise ConfigError("reward", given, "a number, returned by the function") from None
        return self._seen(observed), reward, is_over, not is_over and now_ps >= self._until_ps, {"now_ps": now_ps}

    def _set_rates(self) -> None:
        engine: Any = self.simulation.engine
        rates, raw, width = self._line_bps * self._share[self._host], engine.memory("qp"), engine.layout.row_bytes["qp"]
        of_pairs: Any = QP.fields
        for dtype, offset in [*self._senders, of_pairs["rate_bps"][:2]]:
            np.ndarray(len(rates), dtype, raw, offset, (width,))[:] = rates

    def _counts(self) -> tuple[Floats, Floats, Floats]:
        """Return the payload delivered from each host, and the packets sent and marked by each port, so far."""
        engine, plan = cast(Any, self.simulation.engine), self.simulation.plan
        messages, ports = engine.messages, engine.ports
        arrived = np.minimum(messages["received_packets"] * plan.scheme.payload_bytes, plan.size_bytes)
        of_hosts = np.bincount(self._host[plan.qp], arrived, len(self.hosts)).astype(float)
        return of_hosts, ports["tx_data_packets"].astype(float), ports["marked_packets"].astype(float)

    def _observed(self) -> dict[str, Floats]:
        engine, plan = cast(Any, self.simulation.engine), self.simulation.plan
        messages, count = engine.messages, len(self.hosts)
        is_active = (messages["start_ps"] <= engine.now) & (messages["acked_ps"] < 0) & (messages["failed"] == 0)
        pairs = plan.qp[is_active]
        hosts, ports = self._host[pairs], self._last_hop[pairs]
        rows = np.ndarray(plan.n_qps, QP, engine.memory("qp"), 0, (engine.layout.row_bytes["qp"],))
        active, queue, marks = np.bincount(hosts, minlength=count).astype(float), np.zeros(count), np.zeros(count)
        arrived, sent, marked = (now - before for now, before in zip(self._counts(), self._before, strict=True))
        np.maximum.at(queue, hosts, engine.ports["queue_bytes"][ports] / self._bdp_bytes[pairs])
        np.maximum.at(marks, hosts, marked[ports] / np.maximum(sent[ports], 1.0))
        rate = np.bincount(hosts, rows["rate_bps"][pairs] / self._line_bps[pairs], count) / np.maximum(active, 1.0)
        found = (active, rate, arrived / self._step_bytes, queue, marks)
        return dict(zip(OBSERVABLES, found, strict=True))

    def _seen(self, observed: Observed) -> npt.NDArray[np.float32]:
        return np.concatenate([observed[name] for name in self._observe]).astype(np.float32)


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and bool(np.isfinite(value))
