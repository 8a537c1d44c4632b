"""HPCC's steady state and the convergence to it, one step per round trip.

Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019. N flows with windows W_i share a link of
rate B; T is the base round-trip time. Measured once per round trip, from the queue and throughput that the windows
cause, the normalised inflight is U = sum W / (B T), below 1 and above. A flow then sets

    W <- W eta / U + W_AI      if U >= eta, or after max_stage additive steps
    W <- W + W_AI              otherwise

so that sum W settles at eta B T + N W_AI: below B T without a queue, above it with the excess queued.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Model, param

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class HpccSteady(Model):
    """N flows under HPCC through one link, in rounds of the base RTT.

    >>> HpccSteady(flows=1, additive_bytes=80).steady_state().round(4).to_dict()
    {'window_bytes': 154455.0, 'utilisation': 0.9505, 'queue_bytes': 0.0, 'memory': 0.9995}
    """

    title: ClassVar[str] = "HPCC, round by round"

    flows: int = param(2, "flows through the bottleneck", symbol="N", low=1, slider=(1, 256), is_log=True)
    capacity_bps: Rate = param(
        "100Gbps", "bottleneck, and line rate of each sender", symbol="B", low=1.0, slider=("10Gbps", "400Gbps")
    )
    rtt_ps: Time = param("13us", "base round-trip time", symbol="T", low=1, slider=("2us", "50us"))
    eta: float = param(0.95, "target utilisation", symbol="eta", low=0.01, high=1.0, slider=(0.8, 1.0))
    max_stage: int = param(
        5, "additive steps in a row; 0: every step is multiplicative", symbol="maxStage", low=0, slider=(0, 10)
    )
    additive_bytes: Size = param("80B", "additive step", symbol="W_AI", low=0, slider=("0B", "1kB"))
    start_first: float = param(1.0, "window of the first flow at 0, over B T", low=1e-6, high=1.0, slider=(0.01, 1.0))
    start: float = param(1.0, "window of each other flow at 0, over B T", low=1e-6, high=1.0, slider=(0.01, 1.0))
    rounds: int = param(4000, "rounds to follow", low=1, high=1_000_000)

    @property
    def bdp_bytes(self) -> float:
        """B T, which is also the largest window."""
        return self.capacity_bps * self.rtt_ps / 8e12

    @property
    def most_flows(self) -> float:
        """Largest number of flows without a queue: N W_AI <= (1 - eta) B T."""
        return (1.0 - self.eta) * self.bdp_bytes / self.additive_bytes if self.additive_bytes else np.inf

    def steady_state(self) -> pd.Series[float]:
        """Return `window_bytes` (of each flow), `utilisation`, `queue_bytes`, and `memory`: the part of a difference
        between windows that remains after a round, eta / U.
        """
        bdp = self.bdp_bytes
        total = min(self.eta * bdp + self.flows * self.additive_bytes, self.flows * bdp)
        values = (total / self.flows, min(1.0, total / bdp), max(0.0, total - bdp), self.eta * bdp / total)
        return pd.Series(values, index=["window_bytes", "utilisation", "queue_bytes", "memory"])

    def evaluate(self) -> pd.DataFrame:
        """Return the last round and the steady state: `iterated, steady`, indexed by quantity."""
        last = self.solve().iloc[-1]
        others = self.flows - 1
        mean = (last["window_first_bytes"] + others * last["window_other_bytes"]) / self.flows
        iterated = {"window_bytes": mean, "utilisation": last["utilisation"], "queue_bytes": last["queue_bytes"]}
        return pd.DataFrame({"iterated": pd.Series(iterated), "steady": self.steady_state().drop("memory")})

    def solve(self) -> pd.DataFrame:
        """Return `round, time_ps, window_first_bytes, window_other_bytes, inflight, utilisation,
        queue_bytes`.

        `inflight` is U. Windows are held between 0 and B T.
        """
        bdp, others = self.bdp_bytes, self.flows - 1
        first, other, stage = self.start_first * bdp, self.start * bdp, 0
        rows = []
        for number in range(self.rounds + 1):
            total = first + others * other
            u = total / bdp
            rows.append((number, number * self.rtt_ps, first, other, u, min(1.0, u), max(0.0, total - bdp)))
            if u >= self.eta or stage >= self.max_stage:
                factor, stage = self.eta / u, 0
            else:
                factor, stage = 1.0, stage + 1
            first = min(first * factor + self.additive_bytes, bdp)
            other = min(other * factor + self.additive_bytes, bdp)
        columns = [
            "round", "time_ps", "window_first_bytes", "window_other_bytes", "inflight", "utilisation",
            "queue_bytes",
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both windows over time, and the steady state."""
        steady = self.steady_state()
        curves = {"window_first_bytes": ("first flow", "blue", "-")}
        if self.flows > 1:
            curves["window_other_bytes"] = ("each other flow", "vermilion", "--")
        use, queue = f"utilisation {100 * steady['utilisation']:.1f}%", f"queue {steady['queue_bytes'] / 1e3:.1f} kB"
        level, more = (float(steady["window_bytes"]), "steady state"), f": {self.flows} flows, {use}, {queue}"
        return self._over_time(ax, self.solve(), curves, level, "window (kB)", more=more)
