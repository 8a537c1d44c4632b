"""DCQCN's fluid model: rates and queue of N flows, as a delay differential equation.

Source: Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016. With p the marking
probability and R_C the rate in packets/s, both of tau* ago (written p', r'), one flow follows

    d alpha/dt = (g / tau_a) ((1 - (1 - p')^(tau_a r')) - alpha)
    d R_T/dt   = -(R_T - R_C) c / tau + R_AI (e_B (1 - p')^(F B) + e_T (1 - p')^(F T r'))
    d R_C/dt   = -R_C alpha c / (2 tau) + (R_T - R_C) (e_B + e_T) / 2
    c = 1 - (1 - p')^(tau r'),  e_B = r' p' / ((1 - p')^-B - 1),  e_T = r' p' / ((1 - p')^(-T r') - 1)

where c is the probability of a CNP in one CNP interval tau, and e_B, e_T are the rates of events of the byte counter
and the timer. The queue fills by dq/dt = sum R_C - C and marks by RED. Hyper increase is not in the model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from rdmacc import probes, topology, workload
from rdmacc.compare import Scenario
from rdmacc.models.base import Floats, Model, parameter
from rdmacc.models.dde import Past, Trajectory, solve_dde
from rdmacc.plotting import COLOURS, new_axes, style
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.results import Result
from rdmacc.scheme import Scheme
from rdmacc.switch.red import Red

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DcqcnFluid", "binned"]

_BINS = 400
_HEADER_BYTES = 48


@dataclass(frozen=True, kw_only=True)
class DcqcnFluid(Model):
    """N flows under DCQCN through one queue.

    >>> DcqcnFluid(flows=2).fixed_point().round(4).loc[["marking", "alpha"]].to_dict()
    {'marking': 0.0008, 'alpha': 0.1011}
    """

    title: ClassVar[str] = "DCQCN, fluid model"

    flows: int = parameter(2, "flows through the bottleneck", symbol="N", low=1, slider=(1, 64))
    capacity_bps: float = parameter("40Gbps", "bottleneck, and line rate of each sender", unit="bps", symbol="C", low=1.0, slider=("10Gbps", "100Gbps"))
    packet_bytes: int = parameter("1000B", "packet on the wire", unit="bytes", low=1)
    kmin_bytes: int = parameter("5kB", "no marks up to this queue", unit="bytes", symbol="K_min", source="DCQCN, fig. 5", slider=("0B", "100kB"))
    kmax_bytes: int = parameter("200kB", "probability P_max at this queue", unit="bytes", symbol="K_max", source="DCQCN, fig. 5", low=1, slider=("50kB", "1MB"))
    pmax: float = parameter(0.01, "marking probability at K_max", symbol="P_max", source="DCQCN, fig. 5", low=1e-9, high=1.0, slider=(0.001, 1.0), is_log=True)
    ramp: str = parameter("cut", "above K_max: mark all, or go on along the ramp", choices=("cut", "extended"))
    g: float = parameter(1 / 256, "weight of a new sample in alpha", symbol="g", low=1e-9, high=1.0, slider=(1 / 1024, 1 / 4), is_log=True)
    cnp_interval_ps: int = parameter("50us", "least time between CNPs", unit="ps", symbol="tau", low=1, slider=("4us", "100us"))
    alpha_period_ps: int = parameter("55us", "period of alpha's update", unit="ps", symbol="tau_a", low=1, slider=("4us", "100us"))
    increase_period_ps: int = parameter("55us", "period of the rate-increase timer", unit="ps", symbol="T", low=1, slider=("20us", "1500us"), is_log=True)
    byte_counter_bytes: int = parameter("10MB", "bytes between increases by the byte counter", unit="bytes", symbol="B", low=1)
    fast_recovery_steps: int = parameter(5, "increase events of fast recovery", symbol="F", low=1, slider=(1, 10))
    additive_bps: float = parameter("40Mbps", "additive increase", unit="bps", symbol="R_AI", low=1.0, slider=("5Mbps", "400Mbps"), is_log=True)
    delay_ps: int = parameter("4us", "from marking to the changed rate's arrival at the queue", unit="ps", symbol="tau*", low=0, slider=("0us", "100us"))
    at_dequeue: bool = parameter(
        True, "packets are marked when they leave the queue, so that tau* has no queueing delay; else when they join"
    )
    start_first: float = parameter(1.0, "rate of the first flow at 0, over line rate", low=1e-3, high=1.0, slider=(0.01, 1.0))
    start: float = parameter(1.0, "rate of the others at 0, over line rate", low=1e-3, high=1.0, slider=(0.01, 1.0))
    duration_ps: int = parameter("60ms", "time to integrate", unit="ps", low=1)
    step_ps: int = parameter("4us", "step", unit="ps", low=1)

    @property
    def capacity_pps(self) -> float:
        """C in packets/s."""
        return self.capacity_bps / 8 / self.packet_bytes

    def marking(self, queue_packets: float) -> float:
        """Return RED's probability for a queue in packets."""
        queue = queue_packets * self.packet_bytes
        if queue <= self.kmin_bytes:
            return 0.0
        if queue > self.kmax_bytes and self.ramp == "cut":
            return 1.0
        return min(1.0, self.pmax * (queue - self.kmin_bytes) / (self.kmax_bytes - self.kmin_bytes))

    def slopes(self, alpha: float, target: float, rate: float, p: float, past_rate: float) -> tuple[float, float, float]:
        """Return d/dt of (alpha, R_T, R_C): rates in packets/s, `p` and `past_rate` those of tau* ago."""
        tau, tau_a = self.cnp_interval_ps * 1e-12, self.alpha_period_ps * 1e-12
        cnp, by_bytes, by_time, later_bytes, later_time = self._events(p, past_rate)
        increase = self.additive_bps / 8 / self.packet_bytes * (by_bytes * later_bytes + by_time * later_time)
        marked = -math.expm1(tau_a * past_rate * _log_unmarked(p))
        return (
            self.g / tau_a * (marked - alpha),
            -(target - rate) * cnp / tau + increase,
            -rate * alpha * cnp / (2 * tau) + (target - rate) / 2 * (by_bytes + by_time),
        )

    def _events(self, p: float, rate: float) -> tuple[float, float, float, float, float]:
        """Return c, e_B, e_T and the probabilities that F events pass without a CNP."""
        unmarked = _log_unmarked(p)
        in_bytes = self.byte_counter_bytes / self.packet_bytes
        in_time = self.increase_period_ps * 1e-12 * rate
        cnp = -math.expm1(self.cnp_interval_ps * 1e-12 * rate * unmarked)
        events = [
            rate * p / math.expm1(min(-count * unmarked, 700.0)) if p > 0.0 and count > 0.0 else rate / max(count, 1e-300)
            for count in (in_bytes, in_time)
        ]
        if rate <= 0.0:
            events = [0.0, 1e12 / self.increase_period_ps]
        later = [math.exp(max(self.fast_recovery_steps * count * unmarked, -700.0)) for count in (in_bytes, in_time)]
        return cnp, events[0], events[1], later[0], later[1]

    def fixed_point(self) -> pd.Series[float]:
        """Return the fixed point, unique and fair: `marking, queue_bytes, alpha, target_bps, rate_bps`.

        Where the marking probability is above P_max and the ramp is cut, no queue gives it: the queue is then
        K_max, around which a real one moves.
        """
        rate = self.capacity_pps / self.flows
        tau, tau_a = self.cnp_interval_ps * 1e-12, self.alpha_period_ps * 1e-12

        def unbalance(log_p: float) -> float:
            p = math.exp(log_p)
            cnp, by_bytes, by_time, later_bytes, later_time = self._events(p, rate)
            alpha = -math.expm1(tau_a * rate * _log_unmarked(p))
            gap = rate * alpha * cnp / (tau * (by_bytes + by_time))
            increase = by_bytes * later_bytes + by_time * later_time
            return gap * cnp / tau - self.additive_bps / 8 / self.packet_bytes * increase

        p = math.exp(brentq(unbalance, math.log(1e-10), math.log(0.5), xtol=1e-13))
        cnp, by_bytes, by_time, _, _ = self._events(p, rate)
        alpha = -math.expm1(tau_a * rate * _log_unmarked(p))
        gap = rate * alpha * cnp / (tau * (by_bytes + by_time))
        queue = self.kmin_bytes + p / self.pmax * (self.kmax_bytes - self.kmin_bytes)
        if self.ramp == "cut":
            queue = min(queue, float(self.kmax_bytes))
        values = (p, queue, alpha, (rate + gap) * 8 * self.packet_bytes, rate * 8 * self.packet_bytes)
        return pd.Series(values, index=["marking", "queue_bytes", "alpha", "target_bps", "rate_bps"])

    def small_marking(self) -> float:
        """Return the paper's approximation of the fixed point's p for small p, the cube root of
        R_AI N^2 / (tau_a C^2) (1/B + N/(T C))^2."""
        step, capacity, n = self.additive_bps / 8 / self.packet_bytes, self.capacity_pps, self.flows
        in_bytes = self.byte_counter_bytes / self.packet_bytes
        recovery = 1 / in_bytes + n / (self.increase_period_ps * 1e-12 * capacity)
        return float((step * n**2 / (self.alpha_period_ps * 1e-12 * capacity**2) * recovery**2) ** (1 / 3))

    def integrate(self) -> Trajectory:
        """Integrate from the start rates, alpha = 1 and an empty queue.

        States, shape (n + 1, 7): the queue in packets, then (alpha, R_T, R_C) of the first flow and of each other,
        in packets/s. Rates are held between 0 and line rate, alpha between 0 and 1.
        """
        capacity, lag, others = self.capacity_pps, self.delay_ps * 1e-12, self.flows - 1
        entry = _Entry(capacity, self.step_ps * 1e-12)

        def slope(t: float, y: list[float], past: Past) -> tuple[float, ...]:
            then = past(t - lag) if lag > 0.0 else y
            p = self.marking(then[0] if self.at_dequeue else entry.queue_found(t - lag, past))
            filling = y[3] + others * y[6] - capacity
            if y[0] <= 0.0 and filling < 0.0:
                filling = 0.0
            first = self.slopes(y[1], y[2], y[3], p, then[3])
            return (filling, *first, *(self.slopes(y[4], y[5], y[6], p, then[6]) if others else (0.0, 0.0, 0.0)))

        begin = [self.start_first * capacity, self.start * capacity]
        start = [0.0, 1.0, begin[0], begin[0], 1.0, begin[1], begin[1]]
        most = [math.inf, *(1.0, capacity, capacity) * 2]
        return solve_dde(slope, start, self.duration_ps * 1e-12, self.step_ps * 1e-12, low=[0.0] * 7, high=most)

    def solve(self) -> pd.DataFrame:
        """Return `time_ps, queue_bytes, marking`, and of the first and each other flow `alpha_*`, `rate_*_bps`."""
        path = self.integrate()
        queue, alpha_first, _, first, alpha_other, _, other = path.state.T
        bits = 8.0 * self.packet_bytes
        return pd.DataFrame(
            {
                "time_ps": path.time_s * 1e12,
                "queue_bytes": queue * self.packet_bytes,
                "marking": [self.marking(packets) for packets in queue],
                "alpha_first": alpha_first,
                "alpha_other": alpha_other,
                "rate_first_bps": first * bits,
                "rate_other_bps": other * bits,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the queue over time, and its fixed point."""
        frame, queue = self.solve(), self.fixed_point()["queue_bytes"]
        with style():
            ax = new_axes(ax)
            ax.plot(frame["time_ps"] / 1e9, frame["queue_bytes"] / 1e3, color=COLOURS["blue"], label="queue")
            ax.axhline(queue / 1e3, color=COLOURS["black"], linewidth=1, linestyle="--", label="fixed point")
            ax.set(title=f"{self.title}, {self.flows} flows, tau* = {self.delay_ps / 1e6:g} µs", xlabel="time (ms)", ylabel="queue (kB)")
            ax.set_ylim(bottom=0)
            ax.legend()
        return ax

    def scenario(self) -> Scenario:
        """Return the same as packets, on a star.

        tau* is four links' delays and two packets' transmission times: a mark goes to the receiver, the CNP back to
        the sender by way of the switch, the next packet to the queue. An extended ramp becomes one that ends at
        probability 1, with the same slope. Senders start at line rate, whatever `start_first` and `start` say.
        """
        hosts = self.flows + 1
        transmission = 8e12 * self.packet_bytes / self.capacity_bps
        delay = max(1, round((self.delay_ps - 2 * transmission) / 4))
        control = Dcqcn(
            g=self.g, cnp_interval_ps=self.cnp_interval_ps, alpha_period_ps=self.alpha_period_ps,
            increase_period_ps=self.increase_period_ps, byte_counter_bytes=self.byte_counter_bytes,
            fast_recovery_steps=self.fast_recovery_steps, additive_bps=self.additive_bps, reference_bps=0.0,
        )  # fmt: skip
        kmax, pmax = self.kmax_bytes, self.pmax
        if self.ramp == "extended":
            kmax, pmax = round(self.kmin_bytes + (kmax - self.kmin_bytes) / pmax), 1.0
        red = Red(kmin_bytes=self.kmin_bytes, kmax_bytes=kmax, pmax=pmax, at_dequeue=self.at_dequeue)
        return Scenario(
            topology=topology.star(hosts, rate=self.capacity_bps, delay=delay, buffer="32MB"),
            workload=workload.long_flows([(f"h{i}", "h0") for i in range(1, hosts)], size="100GB"),
            scheme=Scheme(
                name="dcqcn", control=(control,), switch=(red,), header_bytes=_HEADER_BYTES,
                payload_bytes=self.packet_bytes - _HEADER_BYTES,
            ),
            until=self.duration_ps,
            probes=[
                probes.queue("s0", "h0", every="2us"),
                *(probes.rate(i, every="20us") for i in range(self.flows)),
            ],
        )  # fmt: skip

    def predict(self, result: Result) -> pd.DataFrame:
        """Return queue, and mean, least and largest rate over the flows, as means over 400 bins of the run."""
        frame, end = self.solve(), float(result.now_ps)
        first, other = frame["rate_first_bps"].to_numpy(), frame["rate_other_bps"].to_numpy()
        rates = np.column_stack([first] + [other] * (self.flows - 1))
        time = frame["time_ps"].to_numpy()
        return _tidy(time, frame["queue_bytes"].to_numpy(), time, rates, end)

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same of a simulation with the probes of `scenario()`."""
        queue = result.trace("queue s0->h0")
        rates = [result.trace(f"rate {i}") for i in range(self.flows)]
        time = queue.index.to_numpy(np.float64)
        values = np.column_stack([rate.to_numpy(np.float64) for rate in rates])
        return _tidy(time, queue.to_numpy(np.float64), rates[0].index.to_numpy(np.float64), values, float(result.now_ps))


class _Entry:
    """What a packet found in the queue when it joined it, by when it leaves: s + q(s) / C = t, first in, first out.

    Asked for times that do not go back by more than a step.
    """

    def __init__(self, capacity: float, step: float) -> None:
        self._capacity, self._step = capacity, step
        self._before = 0.0

    def queue_found(self, leaving: float, past: Past) -> float:
        """Return the queue that a packet found that leaves at that time."""
        if leaving <= 0.0:
            return past(0.0)[0]
        s = self._before
        queue = past(s)[0]
        while True:
            after = past(s + self._step)[0]
            gap = leaving - s - queue / self._capacity
            span = self._step + (after - queue) / self._capacity
            if gap <= span:
                break
            s, queue = s + self._step, after
        self._before = max(0.0, s - 2 * self._step)
        share = min(max(gap / span, 0.0), 1.0) if span > 0.0 else 1.0
        return queue + share * (after - queue)


def _log_unmarked(p: float) -> float:
    """Return log(1 - p), finite for p = 1."""
    return math.log1p(-min(p, 1.0 - 1e-12))


def binned(time_ps: Floats, value: Floats, end_ps: float, bins: int) -> Floats:
    """Return the means of samples over equal bins of [0, end], shape (bins,); NaN for a bin without a sample."""
    place = np.minimum((time_ps / end_ps * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        return np.bincount(place, weights=value, minlength=bins) / np.where(count, count, np.nan)


def _tidy(queue_ps: Floats, queue: Floats, rate_ps: Floats, rates: Floats, end_ps: float) -> pd.DataFrame:
    curves: Sequence[tuple[str, str, Floats, Floats]] = (
        ("queue", "bytes", queue_ps, queue),
        ("mean rate", "bps", rate_ps, rates.mean(axis=1)),
        ("least rate", "bps", rate_ps, rates.min(axis=1)),
        ("largest rate", "bps", rate_ps, rates.max(axis=1)),
    )
    centres = (np.arange(_BINS) + 0.5) * end_ps / _BINS
    return pd.concat(
        [
            pd.DataFrame({"quantity": name, "unit": unit, "x": centres, "value": binned(time, value, end_ps, _BINS)})
            for name, unit, time, value in curves
        ],
        ignore_index=True,
    )
