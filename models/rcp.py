"""RCP: fluid model of one link's rate and queue with feedback delay, its fixed point, and its settling time.

Source: Dukkipati, "Rate Control Protocol (RCP)", thesis, Stanford 2007, chapter 3, and the authors' ns-2 code for the
mean round trip D, which rises at once and falls slowly. With N flows, capacity C, a round trip of d without queue, and
a rate that is updated once per slot of length D::

    dR/dt = (R / D) (alpha (gamma C - y) - beta q / D) / (gamma C),   R <= gamma C
    dq/dt = y - C,  q >= 0
    y(t)  = N R(t - 2 d)
    dD/dt = w (r - D) / D,  r(t) = d + q(t - d) / C,  w = 1 for r > D, else (R / C) (r / D)

Rates are stamped when packets leave the queue, so a rate takes effect at the queue after d. On average, traffic is half
a slot old when it is counted, and the new rate half a slot when it is stamped: another d, for slots without a queue.
Joining flows request the rate with one packet and send at that rate a round trip later.

Fixed point: R* = gamma C / N and no queue, whatever alpha and beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.interface import Rate, Time
from rdmacc.models.base import Model, binned_curves, param
from rdmacc.models.dde import Past, Trajectory, solve_dde
from rdmacc.protocols.rcp import Rcp
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme
from rdmacc.simulation.scenario import Scenario
from rdmacc.switch.rcp_stamp import RcpStamp
from rdmacc.units import ps, transmission_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIRE_BYTES, _ACK_BYTES = 1048, 64


@dataclass(frozen=True, kw_only=True)
class RcpFluid(Model):
    """Flows at the fixed point of one link, and others that join: by default one each.

    >>> RcpFluid().fixed_point().to_dict()
    {'rate_bps': 5000000000.0, 'queue_bytes': 0.0}
    """

    title: ClassVar[str] = "RCP, fluid model"

    flows: int = param(1, "flows from the start", symbol="N", low=1, slider=(1, 32))
    joining: int = param(1, "flows that join", low=0, slider=(0, 32))
    capacity_bps: Rate = param(
        "10Gbps", "bottleneck, and line rate of each sender", symbol="C", low=1.0, slider=("10Gbps", "100Gbps")
    )
    link_delay_ps: Time = param(
        "5us", "delay of each of a path's two links", low=1, source="Dart, figure 15", slider=("1us", "50us")
    )
    alpha: float = param(0.4, "gain of spare capacity", symbol="alpha", low=0.0, high=2.0, slider=(0.05, 1.5))
    beta: float = param(0.4, "gain of the queue", symbol="beta", low=0.0, high=2.0, slider=(0.05, 1.5))
    target: float = param(1.0, "share of the link to fill", symbol="gamma", low=0.1, high=1.0, slider=(0.5, 1.0))
    join_ps: Time = param("1.5ms", "time of the join", low=1)
    duration_ps: Time = param("4ms", "time to integrate", low=1)
    step_ps: Time = param("1us", "step", low=1)

    @property
    def rtt_ps(self) -> int:
        """Round trip of a full packet and its ACK on two links, d."""
        data_ps = transmission_ps(_WIRE_BYTES, self.capacity_bps)
        return 4 * self.link_delay_ps + 2 * (data_ps + transmission_ps(_ACK_BYTES, self.capacity_bps))

    def fixed_point(self) -> pd.Series:
        """Return rate and queue with all flows."""
        rate = self.target * self.capacity_bps / (self.flows + self.joining)
        return pd.Series({"rate_bps": rate, "queue_bytes": 0.0})

    def integrate(self) -> Trajectory:
        """Integrate from the fixed point before the others join; states: rate and queue in bytes, mean round trip."""
        capacity, d = self.capacity_bps / 8, self.rtt_ps * 1e-12
        goal, joins = self.target * capacity, self.join_ps * 1e-12

        def slope(t: float, y: list[float], past: Past) -> tuple[float, ...]:
            rate, queue, mean = y[0], max(y[1], 0.0), y[2]
            flows = self.flows + (self.joining if t >= joins + 1.5 * d else 0)  # request, and way to the queue
            load = flows * past.one(t - 2 * d, 0)
            change = (self.alpha * (goal - load) - self.beta * queue / mean) / goal
            filling = load - capacity
            sample = d + max(past.one(t - d, 1), 0.0) / capacity
            weight = 1.0 if sample > mean else rate / capacity * (sample / mean)
            return (
                rate / mean * change,
                max(filling, 0.0) if queue <= 0.0 else filling,
                weight * (sample - mean) / mean,
            )

        return solve_dde(
            slope, [goal / self.flows, 0.0, d], self.duration_ps * 1e-12, self.step_ps * 1e-12,
            low=[1e-6 * capacity, 0.0, d], high=[goal, float("inf"), float("inf")],
        )  # fmt: skip

    def solve(self) -> pd.DataFrame:
        """Return `time_ps, rate_bps, queue_bytes`."""
        path = self.integrate()
        rate, queue, _ = path.state.T
        return pd.DataFrame({"time_ps": path.time_s * 1e12, "rate_bps": rate * 8, "queue_bytes": queue})

    def evaluate(self) -> pd.DataFrame:
        """Return the last quarter's mean and the fixed point: `integrated, fixed_point`."""
        frame = self.solve()
        late = frame.iloc[-max(1, len(frame) // 4) :].mean()
        return pd.DataFrame({"integrated": late[["rate_bps", "queue_bytes"]], "fixed_point": self.fixed_point()})

    def scenario(self) -> Scenario:
        """Return the equivalent scenario on a star; the first flows start at 0."""
        count = self.flows + self.joining
        return Scenario(
            network=topology.star(count + 1, rate=self.capacity_bps, delay=ps(self.link_delay_ps), buffer="32MB"),
            workload=workload.long_flows(
                [(f"h{i + 1}", "h0") for i in range(count)], "100GB",
                start=[0] * self.flows + [ps(self.join_ps)] * self.joining,
            ),
            scheme=Scheme(
                name="rcp", control=(Rcp(),), switch=(RcpStamp(alpha=self.alpha, beta=self.beta, target=self.target),),
            ),
            until=ps(self.duration_ps),
            probes=[
                probes.field("port", ("s0", "h0"), "RcpStamp.fair_bps", every=ps(self.step_ps)),
                probes.queue("s0", "h0", every=ps(self.step_ps)),
            ],
        )  # fmt: skip

    def predict(self, result: Result) -> pd.DataFrame:
        """Return rate and queue, averaged over bins of the run."""
        frame = self.solve().set_index("time_ps")
        return self._tidy(frame["rate_bps"], frame["queue_bytes"], result)

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same quantities from a simulation with the probes of `scenario()`."""
        return self._tidy(result.samples("RcpStamp.fair_bps ('s0', 'h0')"), result.samples("queue s0->h0"), result)

    @staticmethod
    def _tidy(rate: pd.Series, queue: pd.Series, result: Result) -> pd.DataFrame:
        curves = {"rate": ("bps", rate.index, rate), "queue": ("bytes", rate.index, queue)}
        return binned_curves(curves, float(result.now_ps))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the link's rate over time."""
        curves, level = {"rate_bps": ("R", "blue", "-")}, (float(self.fixed_point()["rate_bps"]), "fixed point")
        more = f", {self.flows} and {self.joining} more flows"
        return self._over_time(ax, self.solve(), curves, level, "rate (Gb/s)", more=more, loc="upper right")
