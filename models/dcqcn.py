"""DCQCN's fluid model: rates and queue of N flows, as a delay differential equation.

The equations, from "ECN or Delay" (CoNEXT 2016), are in `rdmacc.models.dcqcn_equations`; this module integrates them
and compares them with packets. Marks are delayed by tau* and, if packets are marked when they join the queue, also by
their time in the queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.interface import Time
from rdmacc.models.base import Floats, binned_curves, param
from rdmacc.models.dcqcn_equations import DcqcnEquations
from rdmacc.models.dde import Past, Trajectory, solve_dde
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme
from rdmacc.simulation.scenario import Scenario
from rdmacc.switch.red import Red
from rdmacc.units import ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BINS = 400
_HEADER_BYTES = 48


@dataclass(frozen=True, kw_only=True)
class DcqcnFluid(DcqcnEquations):
    """N flows under DCQCN through one queue, over time.

    >>> fluid = DcqcnFluid(flows=2, duration_ps="80ms", step_ps="20us", delay_ps="20us")
    >>> late = fluid.solve().iloc[-100:]
    >>> bool(abs(late.queue_bytes.mean() / fluid.fixed_point().queue_bytes - 1) < 0.02)
    True
    """

    title: ClassVar[str] = "DCQCN, fluid model"

    start_first: float = param(
        1.0, "rate of the first flow at 0, over line rate", low=1e-3, high=1.0, slider=(0.01, 1.0)
    )
    start: float = param(1.0, "rate of the others at 0, over line rate", low=1e-3, high=1.0, slider=(0.01, 1.0))
    duration_ps: Time = param("60ms", "time to integrate", low=1)
    step_ps: Time = param("4us", "step", low=1)

    def integrate(self) -> Trajectory:
        """Integrate from the start rates, alpha = 1 and an empty queue.

        States, shape (n + 1, 7): the queue in packets, then (alpha, R_T, R_C) of the first flow and of each
        other, in packets/s. Rates are held between 0 and line rate, alpha between 0 and 1.
        """
        capacity, lag, others = self.capacity_pps, self.delay_ps * 1e-12, self.flows - 1
        entry = _Entry(capacity, self.step_ps * 1e-12)
        at_dequeue, marking, slopes = self.at_dequeue, self._marking, self._slopes()

        def slope(t: float, y: list[float], past: Past) -> tuple[float, ...]:
            queue, alpha_first, target_first, first, alpha_other, target_other, other = y
            then = t - lag
            old, first_then, other_then = queue, first, other
            if lag > 0.0:
                first_then, other_then = past.one(then, 3), past.one(then, 6)
            if not at_dequeue:
                old = entry.queue_found(then, past)
            elif lag > 0.0:
                old = past.one(then, 0)
            p = marking(old)
            filling = first + others * other - capacity
            if queue <= 0.0 and filling < 0.0:
                filling = 0.0
            changes = slopes(alpha_first, target_first, first, p, first_then)
            if not others:
                return (filling, *changes, 0.0, 0.0, 0.0)
            return (filling, *changes, *slopes(alpha_other, target_other, other, p, other_then))

        begin = [self.start_first * capacity, self.start * capacity]
        start = [0.0, 1.0, begin[0], begin[0], 1.0, begin[1], begin[1]]
        most = [math.inf, *(1.0, capacity, capacity) * 2]
        return solve_dde(slope, start, self.duration_ps * 1e-12, self.step_ps * 1e-12, low=[0.0] * 7, high=most)

    def solve(self) -> pd.DataFrame:
        """Return `time_ps, queue_bytes, marking`, and `alpha_*, rate_*_bps` of the first and each other."""
        path = self.integrate()
        queue, alpha_first, _, first, alpha_other, _, other = path.state.T
        bits = 8.0 * self.packet_bytes
        return pd.DataFrame(
            {
                "time_ps": path.time_s * 1e12,
                "queue_bytes": queue * self.packet_bytes,
                "marking": [self._marking(packets) for packets in queue],
                "alpha_first": alpha_first,
                "alpha_other": alpha_other,
                "rate_first_bps": first * bits,
                "rate_other_bps": other * bits,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the queue over time, and its fixed point."""
        frame, queue = self.solve(), float(self.fixed_point()["queue_bytes"])
        late = frame["queue_bytes"].iloc[len(frame) // 4 :].max()  # the first peak, at line rate, is far above
        curves, more = (
            {"queue_bytes": ("queue", "blue", "-")},
            f", {self.flows} flows, tau* = {self.delay_ps / 1e6:g} us",
        )
        top = 1.4 * max(late, queue)
        return self._over_time(ax, frame, curves, (queue, "fixed point"), "queue (kB)", more=more, top=top)

    def scenario(self) -> Scenario:
        """Return the equivalent scenario on a star.

        tau* is four links' delays and two packets' transmission times: the mark goes to the receiver, the CNP through
        the switch to the sender, the next packet to the queue. An extended ramp is replaced by one of the same slope
        that ends at probability 1. Senders start at line rate, whatever `start_first` and `start` say.
        """
        hosts = self.flows + 1
        transmission = 8e12 * self.packet_bytes / self.capacity_bps
        delay = ps(max(1, round((self.delay_ps - 2 * transmission) / 4)))
        control = Dcqcn(
            g=self.g, cnp_interval_ps=self.cnp_interval_ps, alpha_period_ps=self.alpha_period_ps,
            increase_period_ps=self.increase_period_ps, byte_counter_bytes=self.byte_counter_bytes,
            fast_recovery_steps=self.fast_recovery_steps, additive_bps=self.additive_bps, reference_bps=0.0,
            clamp_target=True,
        )  # fmt: skip
        kmax, pmax = self.kmax_bytes, self.pmax
        if self.ramp == "extended":
            kmax, pmax = round(self.kmin_bytes + (kmax - self.kmin_bytes) / pmax), 1.0
        red = Red(kmin_bytes=self.kmin_bytes, kmax_bytes=kmax, pmax=pmax, at_dequeue=self.at_dequeue)
        return Scenario(
            network=topology.star(hosts, rate=self.capacity_bps, delay=delay, buffer="32MB"),
            workload=workload.long_flows([(f"h{i}", "h0") for i in range(1, hosts)], size="100GB"),
            scheme=Scheme(
                name="dcqcn", control=(control,), switch=(red,), header_bytes=_HEADER_BYTES,
                payload_bytes=self.packet_bytes - _HEADER_BYTES,
            ),
            until=ps(self.duration_ps),
            probes=[
                probes.queue("s0", "h0", every="2us"),
                *(probes.rate(i, every="20us") for i in range(self.flows)),
            ],
        )  # fmt: skip

    def predict(self, result: Result) -> pd.DataFrame:
        """Return the queue and the mean, lowest and highest rate of the flows, averaged over 400 bins of the run."""
        frame = self.solve()
        first, other = frame["rate_first_bps"].to_numpy(), frame["rate_other_bps"].to_numpy()
        rates = np.column_stack([first] + [other] * (self.flows - 1))
        return _tidy(frame["time_ps"], frame["queue_bytes"], frame["time_ps"], rates, float(result.now_ps))

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same quantities from a simulation with the probes of `scenario()`."""
        queue, rates = result.samples("queue s0->h0"), [result.samples(f"rate {i}") for i in range(self.flows)]
        values = np.column_stack([rate.to_numpy(np.float64) for rate in rates])
        return _tidy(queue.index, queue, rates[0].index, values, float(result.now_ps))


class _Entry:
    """Queue that a packet found on joining, given the time t when it leaves a FIFO queue: s + q(s) / C = t.

    Successive times must not go back by more than a step.
    """

    def __init__(self, capacity: float, step: float) -> None:
        self._capacity, self._step = capacity, step
        self._before = 0.0

    def queue_found(self, leaving: float, past: Past) -> float:
        """Return the queue that a packet leaving at that time found."""
        if leaving <= 0.0:
            return past.one(0.0, 0)
        s = min(self._before, leaving)
        queue = max(past.one(s, 0), 0.0)
        while True:
            later = min(s + self._step, leaving)
            after = max(past.one(later, 0), 0.0)
            if later >= leaving or later + after / self._capacity >= leaving:
                break
            s, queue = later, after
        gap = leaving - s - queue / self._capacity
        span = later - s + (after - queue) / self._capacity
        self._before = max(0.0, s - 2 * self._step)
        share = min(max(gap / span, 0.0), 1.0) if span > 0.0 else 1.0
        return queue + share * (after - queue)


def _tidy(
    queue_ps: npt.ArrayLike, queue: npt.ArrayLike, rate_ps: npt.ArrayLike, rates: Floats, end_ps: float
) -> pd.DataFrame:
    curves = {
        "queue": ("bytes", queue_ps, queue),
        "mean rate": ("bps", rate_ps, rates.mean(axis=1)),
        "least rate": ("bps", rate_ps, rates.min(axis=1)),
        "largest rate": ("bps", rate_ps, rates.max(axis=1)),
    }
    return binned_curves(curves, end_ps, _BINS)
