"""TIMELY and patched TIMELY: fluid models with state-dependent delays, and their fixed points.

Source: Zhu et al., "ECN or Delay", CoNEXT 2016; TIMELY itself: Mittal et al., SIGCOMM 2015. A flow updates
once per tau_i = max(Seg / R_i, D_min), by the queue of tau' = q / C + MTU / C + D_prop ago, written q':

    dq/dt   = sum R_i - C,  q >= 0
    dg_i/dt = (a / tau_i) (-g_i + (q'(t) - q'(t - tau_i)) / (C D_min))
    q' < C T_low:   dR_i/dt = delta / tau_i
    q' > C T_high:  dR_i/dt = -(beta / tau_i) (1 - C T_high / q') R_i
    between, TIMELY:         delta / tau_i for g_i <= 0, else -g_i (beta / tau_i) R_i
    between, patched:        (1 - w(g_i)) delta / tau_i - w(g_i) (beta / tau_i) R_i (q' - q_ref) / q_ref

with w rising from 0 at g = -1/4 to 1 at 1/4 and q_ref = C T_low.

TIMELY has no fixed point: with g = 0 rates still rise. If g = 0 meant "hold" (`is_strict`), every split of C with the
queue between the thresholds would be one, so the final rates would depend on the initial ones. Patched TIMELY has
exactly one: equal rates and q* = q_ref (1 + N delta / (beta C)), as long as that is below C T_high.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Model, param
from rdmacc.models.dde import Past, Trajectory, solve_dde

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def weight(gradient: float) -> float:
    """Return w(g) of patched TIMELY.

    Examples
    --------
    >>> [weight(g) for g in (-1.0, -0.25, 0.0, 0.125, 0.25, 1.0)]
    [0.0, 0.0, 0.5, 0.75, 1.0, 1.0]
    """
    return min(max(2.0 * gradient + 0.5, 0.0), 1.0)


@dataclass(frozen=True, kw_only=True)
class TimelyFluid(Model):
    """N flows under TIMELY through one queue; the first may start at a different rate.

    >>> TimelyFluid(t_low_ps="50us").low_bytes
    62500.0
    """

    title: ClassVar[str] = "TIMELY, fluid model"

    flows: int = param(2, "flows through the bottleneck", symbol="N", low=1, high=1_000_000, slider=(1, 64))
    capacity_bps: Rate = param(
        "10Gbps", "bottleneck, and line rate of each sender", symbol="C", low=1.0, slider=("10Gbps", "100Gbps")
    )
    t_low_ps: Time = param("50us", "below it rates rise", symbol="T_low", low=1, slider=("10us", "100us"))
    t_high_ps: Time = param("500us", "above it rates fall", symbol="T_high", low=1, slider=("100us", "1ms"))
    min_rtt_ps: Time = param("20us", "unit of the gradient", symbol="D_min", low=1, slider=("5us", "100us"))
    propagation_ps: Time = param("4us", "round-trip propagation", symbol="D_prop", low=0, slider=("0us", "100us"))
    a: float = param(0.875, "weight of a new RTT difference", symbol="a", low=1e-6, high=1.0, slider=(0.05, 1.0))
    beta: float = param(
        0.8, "multiplicative decrease", symbol="beta", low=1e-9, high=1.0, slider=(0.005, 1.0), is_log=True
    )
    delta_bps: Rate = param(
        "10Mbps", "additive step", symbol="delta", low=1.0, slider=("1Mbps", "100Mbps"), is_log=True
    )
    segment_bytes: Size = param("16kB", "bytes between updates", symbol="Seg", low=1, slider=("1kB", "64kB"))
    mtu_bytes: Size = param("1000B", "packet", symbol="MTU", low=1)
    is_strict: bool = param(False, "rates rise only for g < 0, and hold at g = 0")
    start_first: float = param(0.5, "rate of the first flow at 0, over C", low=1e-6, high=1.0, slider=(0.01, 1.0))
    start: float = param(0.5, "rate of each other flow at 0, over C", low=1e-6, high=1.0, slider=(0.01, 1.0))
    duration_ps: Time = param("50ms", "time to integrate", low=1)
    step_ps: Time = param("2us", "step", low=1)

    @property
    def capacity_byte_s(self) -> float:
        """C in bytes/s."""
        return self.capacity_bps / 8

    @property
    def delta_byte_s(self) -> float:
        """The additive step in bytes per second."""
        return self.delta_bps / 8

    @property
    def low_bytes(self) -> float:
        """Bytes that the link sends in T_low."""
        return self.capacity_byte_s * self.t_low_ps * 1e-12

    def _between(self) -> Callable[[float, float, float], float]:
        """Return the rate of change between the thresholds, times tau_i, of (rate, gradient, old queue)."""
        delta, beta, is_strict = self.delta_byte_s, self.beta, self.is_strict

        def change(rate: float, gradient: float, old: float) -> float:
            if gradient > 0.0:
                return -gradient * beta * rate
            return 0.0 if is_strict and gradient == 0.0 else delta

        return change

    def integrate(self) -> Trajectory:
        """Integrate from the start rates and an empty queue.

        States, shape (n + 1, 5): queue in bytes, then rate (bytes/s) and gradient of the first and of each
        other flow. Rates are held between 0.1% of C and C.
        """
        capacity, others = self.capacity_byte_s, self.flows - 1
        low, high = capacity * self.t_low_ps * 1e-12, capacity * self.t_high_ps * 1e-12
        least, a, segment = self.min_rtt_ps * 1e-12, self.a, float(self.segment_bytes)
        fixed = self.mtu_bytes / capacity + self.propagation_ps * 1e-12
        delta, beta, between = self.delta_byte_s, self.beta, self._between()

        def flow(t: float, rate: float, gradient: float, lag: float, old: float, past: Past) -> tuple[float, float]:
            tau = max(segment / rate, least)
            difference = (old - past.one(t - lag - tau, 0)) / (capacity * least)
            if old < low:
                change = delta
            elif old > high:
                change = -beta * (1.0 - high / old) * rate
            else:
                change = between(rate, gradient, old)
            return change / tau, a / tau * (difference - gradient)

        def slope(t: float, y: list[float], past: Past) -> tuple[float, ...]:
            queue = max(y[0], 0.0)
            lag = queue / capacity + fixed
            old = past.one(t - lag, 0)
            filling = y[1] + others * y[3] - capacity
            if queue <= 0.0 and filling < 0.0:
                filling = 0.0
            first = flow(t, y[1], y[2], lag, old, past)
            return (filling, *first, *(flow(t, y[3], y[4], lag, old, past) if others else (0.0, 0.0)))

        start = [0.0, self.start_first * capacity, 0.0, self.start * capacity, 0.0]
        floor = 1e-3 * capacity
        return solve_dde(
            slope, start, self.duration_ps * 1e-12, self.step_ps * 1e-12, low=[0.0, floor, -math.inf, floor, -math.inf],
            high=[math.inf, capacity, math.inf, capacity, math.inf],
        )  # fmt: skip

    def solve(self) -> pd.DataFrame:
        """Return `time_ps, queue_bytes`, and `rate_*_bps, gradient_*` of the first and each other flow."""
        path = self.integrate()
        queue, first, gradient_first, other, gradient_other = path.state.T
        return pd.DataFrame(
            {
                "time_ps": path.time_s * 1e12,
                "queue_bytes": queue,
                "rate_first_bps": first * 8,
                "gradient_first": gradient_first,
                "rate_other_bps": other * 8,
                "gradient_other": gradient_other,
            }
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates over time."""
        curves = {"rate_first_bps": ("first flow", "blue", "-")}
        if self.flows > 1:
            label = "other flow" if self.flows == 2 else f"each of {self.flows - 1} others"
            curves["rate_other_bps"] = (label, "vermilion", "--")
        frame, share = self.solve(), (self.capacity_bps / self.flows, "fair share")
        top, more = 1.25 * float(frame[list(curves)].to_numpy().max()), f", {self.flows} flows"
        return self._over_time(ax, frame, curves, share, "rate (Gb/s)", more=more, top=top, loc="upper right", ncols=3)


@dataclass(frozen=True, kw_only=True)
class PatchedTimelyFluid(TimelyFluid):
    """TIMELY with the paper's patch: a reference queue, and a weight instead of a switch between increase and decrease.

    >>> PatchedTimelyFluid(flows=2).fixed_point().round(0).to_dict()
    {'queue_bytes': 78125.0, 'rate_bps': 5000000000.0, 'gradient': 0.0}
    """

    title: ClassVar[str] = "Patched TIMELY, fluid model"

    beta: float = param(
        0.008,
        "multiplicative decrease",
        symbol="beta",
        source="ECN or Delay",
        low=1e-9,
        high=1.0,
        slider=(0.001, 1.0),
        is_log=True,
    )

    def fixed_point(self) -> pd.Series[float]:
        """Return the fixed point: `queue_bytes, rate_bps, gradient`."""
        reference = self.low_bytes
        queue = reference * (1.0 + self.flows * self.delta_byte_s / (self.beta * self.capacity_byte_s))
        values = (queue, self.capacity_byte_s * 8 / self.flows, 0.0)
        return pd.Series(values, index=["queue_bytes", "rate_bps", "gradient"])

    def _between(self) -> Callable[[float, float, float], float]:
        delta, beta, reference = self.delta_byte_s, self.beta, self.low_bytes

        def change(rate: float, gradient: float, old: float) -> float:
            w = weight(gradient)
            return (1.0 - w) * delta - w * beta * rate * (old - reference) / reference

        return change

    def evaluate(self) -> pd.DataFrame:
        """Return the last quarter's mean and the fixed point: `integrated, fixed_point`."""
        frame = self.solve()
        late = frame.iloc[-max(1, len(frame) // 4) :].mean()
        rates = np.array([late["rate_first_bps"], *[late["rate_other_bps"]] * (self.flows - 1)])
        integrated = pd.Series(
            {"queue_bytes": late["queue_bytes"], "rate_bps": rates.mean(), "gradient": late["gradient_first"]}
        )
        return pd.DataFrame({"integrated": integrated, "fixed_point": self.fixed_point()})
