"""DCQCN's fluid equations: marking, one flow's slopes, the fixed point.

Source: Zhu et al., "ECN or Delay: Lessons Learnt from Analysis of DCQCN and TIMELY", CoNEXT 2016. With p the
marking probability and R_C the rate in packets/s, both of tau* ago (written p', r'), one flow follows

    d alpha/dt = (g / tau_a) ((1 - (1 - p')^(tau_a r')) - alpha)
    d R_T/dt   = -(R_T - R_C) c / tau + R_AI (e_B (1 - p')^(F B) + e_T (1 - p')^(F T r'))
    d R_C/dt   = -R_C alpha c / (2 tau) + (R_T - R_C) (e_B + e_T) / 2
    c = 1 - (1 - p')^(tau r'),  e_B = r' p' / ((1 - p')^-B - 1),  e_T = r' p' / ((1 - p')^(-T r') - 1)

where c is the probability of a CNP in one CNP interval tau, and e_B, e_T are the rates of events of the byte
counter and the timer. The queue fills by dq/dt = sum R_C - C and marks by RED. Hyper increase is not in the
model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.interface import Size, Time
from rdmacc.models.base import param
from rdmacc.models.dcqcn_parameters import DcqcnParameters


@dataclass(frozen=True, kw_only=True)
class DcqcnEquations(DcqcnParameters):
    """Parameters and equations of N flows under DCQCN through one queue.

    >>> DcqcnEquations(flows=2).fixed_point().round(4).loc[["marking", "alpha"]].to_dict()
    {'marking': 0.0008, 'alpha': 0.1014}
    """

    flows: int = param(2, "flows through the bottleneck", symbol="N", low=1, slider=(1, 64))
    packet_bytes: Size = param("1000B", "packet on the wire", low=1)
    ramp: str = param("cut", "above K_max: mark all packets, or extend the ramp", choices=("cut", "extended"))
    cnp_interval_ps: Time = param("50us", "least time between CNPs", symbol="tau", low=1, slider=("4us", "100us"))
    alpha_period_ps: Time = param("55us", "period of alpha's update", symbol="tau_a", low=1, slider=("4us", "100us"))
    increase_period_ps: Time = param(
        "55us", "period of the rate-increase timer", symbol="T", low=1, slider=("20us", "1500us"), is_log=True
    )
    byte_counter_bytes: Size = param("10MB", "bytes between increases by the byte counter", symbol="B", low=1)
    fast_recovery_steps: int = param(5, "increase events of fast recovery", symbol="F", low=1, slider=(1, 10))
    delay_ps: Time = param(
        "4us", "time from marking until the new rate arrives", symbol="tau*", low=0, slider=("0us", "100us")
    )
    at_dequeue: bool = param(
        True, "mark packets as they leave the queue, which excludes its delay from tau*; false: as they join it"
    )

    @property
    def capacity_pps(self) -> float:
        """C in packets/s."""
        return self.capacity_bps / 8 / self.packet_bytes

    def marking(self, queue_packets: float) -> float:
        """Return RED's probability for a queue in packets."""
        return self._marking(queue_packets)

    def _marking(self, queue_packets: float) -> float:
        queue = queue_packets * self.packet_bytes
        if queue <= self.kmin_bytes:
            return 0.0
        if queue > self.kmax_bytes and self.ramp == "cut":
            return 1.0
        return min(1.0, self.pmax * (queue - self.kmin_bytes) / (self.kmax_bytes - self.kmin_bytes))

    def slopes(
        self, alpha: float, target: float, rate: float, p: float, past_rate: float
    ) -> tuple[float, float, float]:
        """Return d/dt of (alpha, R_T, R_C): rates in packets/s, `p` and `past_rate` from tau* ago."""
        return self._slopes()(alpha, target, rate, p, past_rate)

    def _slopes(self) -> Callable[[float, float, float, float, float], tuple[float, float, float]]:
        """Return a fast `slopes` for integration: constants are computed once, arguments are not checked.

        Terms that depend on the past are cached, since two of a step's four stages, and equal flows, share them.
        """
        tau, tau_a = self.cnp_interval_ps * 1e-12, self.alpha_period_ps * 1e-12
        gain, step, events = self.g / tau_a, self.additive_bps / 8 / self.packet_bytes, self._events

        @lru_cache(4)
        def response(p: float, past_rate: float) -> tuple[float, float, float, float]:
            cnp, by_bytes, by_time, later_bytes, later_time = events(p, past_rate)
            marked = -math.expm1(tau_a * past_rate * _log_unmarked(p))
            return marked, cnp, step * (by_bytes * later_bytes + by_time * later_time), by_bytes + by_time

        def slopes(alpha: float, target: float, rate: float, p: float, past_rate: float) -> tuple[float, float, float]:
            marked, cnp, increase, recovery = response(p, past_rate)
            gap = target - rate
            return (
                gain * (marked - alpha),
                -gap * cnp / tau + increase,
                -rate * alpha * cnp / (2 * tau) + gap / 2 * recovery,
            )

        return slopes

    def _events(self, p: float, rate: float) -> tuple[float, float, float, float, float]:
        """Return c, e_B, e_T and the probabilities of F events without a CNP."""
        unmarked, steps = _log_unmarked(p), self.fast_recovery_steps
        in_bytes = self.byte_counter_bytes / self.packet_bytes
        in_time = self.increase_period_ps * 1e-12 * rate
        if rate > 0.0:
            by_bytes, by_time = _event_rate(rate, p, in_bytes, unmarked), _event_rate(rate, p, in_time, unmarked)
        else:
            by_bytes, by_time = 0.0, 1e12 / self.increase_period_ps
        return (
            -math.expm1(self.cnp_interval_ps * 1e-12 * rate * unmarked),
            by_bytes,
            by_time,
            math.exp(max(steps * in_bytes * unmarked, -700.0)),
            math.exp(max(steps * in_time * unmarked, -700.0)),
        )

    def fixed_point(self) -> pd.Series[float]:
        """Return the fixed point, unique and fair: `marking, queue_bytes, alpha, target_bps, rate_bps`.

        If the marking probability is above P_max and the ramp is cut, no queue gives it; `queue_bytes` is then K_max,
        around which a real queue oscillates.
        """
        from scipy.optimize import brentq  # slow to import

        rate = self.capacity_pps / self.flows
        tau, tau_a = self.cnp_interval_ps * 1e-12, self.alpha_period_ps * 1e-12

        def unbalance(log_p: float) -> float:
            p = math.exp(log_p)
            cnp, by_bytes, by_time, later_bytes, later_time = self._events(p, rate)
            alpha = -math.expm1(tau_a * rate * _log_unmarked(p))
            gap = rate * alpha * cnp / (tau * (by_bytes + by_time))
            increase = by_bytes * later_bytes + by_time * later_time
            return gap * cnp / tau - self.additive_bps / 8 / self.packet_bytes * increase

        low, high = math.log(1e-10), math.log(0.5)
        if not unbalance(low) * unbalance(high) <= 0.0:
            allowed = "such that the fixed point marks from 1e-10 to half of the packets"
            raise ConfigError("capacity_bps for each flow", self.capacity_bps / self.flows, allowed)
        p = math.exp(brentq(unbalance, low, high, xtol=1e-13))
        cnp, by_bytes, by_time, _, _ = self._events(p, rate)
        alpha = -math.expm1(tau_a * rate * _log_unmarked(p))
        gap = rate * alpha * cnp / (tau * (by_bytes + by_time))
        queue = self.kmin_bytes + p / self.pmax * (self.kmax_bytes - self.kmin_bytes)
        if self.ramp == "cut":
            queue = min(queue, float(self.kmax_bytes))
        values = (p, queue, alpha, (rate + gap) * 8 * self.packet_bytes, rate * 8 * self.packet_bytes)
        return pd.Series(values, index=["marking", "queue_bytes", "alpha", "target_bps", "rate_bps"])


def _log_unmarked(p: float) -> float:
    """Return log(1 - p), finite for p = 1."""
    return math.log1p(-min(p, 1.0 - 1e-12))


def _event_rate(rate: float, p: float, count: float, unmarked: float) -> float:
    """Return the rate of increases after `count` packets in a row without a mark."""
    if p > 0.0 and count > 0.0:
        return rate * p / math.expm1(min(-count * unmarked, 700.0))
    return rate / max(count, 1e-300)
