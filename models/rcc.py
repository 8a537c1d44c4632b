"""RCC's fluid model, equations (6) to (9), with and without feedback delay.

Source: Zhang et al., "Receiver-Driven RDMA Congestion Control by Differentiating Congestion Types in
Datacenter Networks", ICNP 2021, section IV. N flows with windows W_i share a link of capacity C behind a
queue q:

    (6)  dW_i/dt = -W_i tanh(u_i) / R        (7)  dq/dt = sum_i W_i / R - C,  q >= 0
    (8)  R = d + q / C                       (9)  du/dt = (K_p / R) (R - R_ref) + (K_d + K_p / 2) dR/dt

Gains are in 1/s and times in seconds: in no other unit does eq (12) give a phase margin above 30 degrees. The model as
printed has no delay; `feedback_rtts` delays the control signal that the windows follow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.interface import Rate, Time
from rdmacc.models.base import binned_curves, param
from rdmacc.models.dde import Past, Trajectory, solve_dde
from rdmacc.models.rcc_stability import RccGains
from rdmacc.protocols.rcc import Rcc
from rdmacc.schemes import Scheme
from rdmacc.simulation.scenario import Scenario
from rdmacc.units import ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.results.result import Result


@dataclass(frozen=True, kw_only=True)
class RccFluid(RccGains):
    """Windows and queue of N flows under RCC's PID loop.

    >>> RccFluid(flows=4).equilibrium().round(1)[["window_bytes", "queue_bytes", "rtt_ps"]].to_dict()
    {'window_bytes': 41250.0, 'queue_bytes': 15000.0, 'rtt_ps': 13200000.0}
    """

    title: ClassVar[str] = "RCC's PID loop, fluid model (6) to (9)"

    flows: int = param(2, "flows through the bottleneck", symbol="N", equation="(7)", low=1, slider=(1, 32))
    capacity_bps: Rate = param("100Gbps", "bottleneck", symbol="C", equation="(7)", source="V-A", low=1.0)
    start: float = param(
        1.0,
        "window of all flows but the first at 0, over their equilibrium share",
        low=1e-3,
        high=1e3,
        slider=(0.1, 4.0),
    )
    start_first: float = param(
        1.5, "window of the first flow at 0, over its equilibrium share", low=1e-3, high=1e3, slider=(0.1, 4.0)
    )
    duration_ps: Time = param("2ms", "time to integrate", low=1)
    step_ps: Time = param("200ns", "step", low=1)

    def equilibrium(self) -> pd.Series[float]:
        """Return the fixed point, equation (10), with equal windows.

        Only tanh(u) = 0, R = R_ref and sum W = C R_ref follow from (6) to (9). Equal windows, equation
        (11), do not: any split is stationary, and the integrated model keeps the one it starts with.
        """
        window = self.capacity_bps / 8 * self.reference_s / self.flows
        queue = self.capacity_bps / 8 * (self.reference_s - self.base_rtt_ps * 1e-12)
        values = (window, queue, self.reference_s * 1e12, 0.0, self.capacity_bps / self.flows)
        return pd.Series(values, index=["window_bytes", "queue_bytes", "rtt_ps", "control", "rate_bps"])

    def integrate(self) -> Trajectory:
        """Integrate (6) to (9); states (W_first, W_other, q, u), bytes and 1, of shape (n + 1, 4).

        All flows see the same delay and start with u = 0, so u is the same for all, and all flows but the first are
        equal.
        """
        capacity, base, reference = self.capacity_bps / 8, self.base_rtt_ps * 1e-12, self.reference_s
        others, kp, damping = self.flows - 1, self.kp, self.kd + self.kp / 2.0
        lag = self.feedback_rtts * reference

        def slope(t: float, y: list[float], past: Past) -> tuple[float, ...]:
            first, other, queue, u = y
            rtt = base + max(queue, 0.0) / capacity
            filling = (first + others * other) / rtt - capacity
            if queue <= 0.0 and filling < 0.0:
                filling = 0.0
            shrink = math.tanh(u if lag == 0.0 else past.one(t - lag, 3)) / rtt
            drift = kp / rtt * (rtt - reference) + damping * filling / capacity
            return -first * shrink, -other * shrink, filling, drift

        share = capacity * reference / self.flows
        start = (self.start_first * share, self.start * share, 0.0, 0.0)
        return solve_dde(slope, start, self.duration_ps * 1e-12, self.step_ps * 1e-12, low=(0.0, 0.0, 0.0, -math.inf))

    def solve(self) -> pd.DataFrame:
        """Return `time_ps, queue_bytes, rtt_ps, control, utilisation`, and windows and rates of the first
        and of each other flow: `window_first_bytes, window_other_bytes, rate_first_bps, rate_other_bps`.
        """
        path = self.integrate()
        first, other, queue, control = path.state.T
        rtt = self.base_rtt_ps * 1e-12 + queue * 8 / self.capacity_bps
        arriving = (first + (self.flows - 1) * other) * 8 / rtt
        return pd.DataFrame(
            {
                "time_ps": path.time_s * 1e12,
                "queue_bytes": queue,
                "rtt_ps": rtt * 1e12,
                "control": control,
                "utilisation": np.where(queue > 0, 1.0, np.minimum(arriving / self.capacity_bps, 1.0)),
                "window_first_bytes": first,
                "window_other_bytes": other,
                "rate_first_bps": first * 8 / rtt,
                "rate_other_bps": other * 8 / rtt,
            }
        )

    def evaluate(self) -> pd.DataFrame:
        """Return the last quarter's mean and the equilibrium: `integrated, equilibrium`, indexed by
        quantity.

        The window and the rate are means over the flows.
        """
        frame = self.solve()
        late = frame.iloc[-max(1, len(frame) // 4) :].mean()
        others = self.flows - 1
        window = (late["window_first_bytes"] + others * late["window_other_bytes"]) / self.flows
        rate = (late["rate_first_bps"] + others * late["rate_other_bps"]) / self.flows
        integrated = {
            "window_bytes": window, "queue_bytes": late["queue_bytes"], "rtt_ps": late["rtt_ps"],
            "control": late["control"], "rate_bps": rate,
        }  # fmt: skip
        return pd.DataFrame({"integrated": pd.Series(integrated), "equilibrium": self.equilibrium()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the queue over time, and its equilibrium."""
        frame, level = self.solve(), (float(self.equilibrium()["queue_bytes"]), "equilibrium")
        delay = f"feedback after {self.feedback_rtts:g} RTT" if self.feedback_rtts else "no feedback delay"
        curves, more = {"queue_bytes": (f"queue, {delay}", "blue", "-")}, f", {self.flows} flows"
        top = 1.3 * frame["queue_bytes"].max()
        return self._over_time(ax, frame, curves, level, "queue (kB)", more=more, top=top, loc="upper right", ncols=2)

    def scenario(self) -> Scenario:
        """Return the equivalent scenario: flows to different receivers through one link, windows by PID alone.

        Equation (4) is taken as printed, with one update in each current RTT, as in (6) and (9). Senders start at
        line rate with a window of C d each, whatever `start_first` and `start` say.
        """
        scheme = Scheme(
            name="rcc-pid",
            control=(Rcc(law="pid", pid_form="accumulating", period="rtt", kp=self.kp, kd=self.kd, delta=self.delta),),
        )
        wire = scheme.wire_bytes + scheme.ack_bytes  # six links, three transmissions each way
        delay = max(1, round((self.base_rtt_ps - 3 * 8e12 * wire / self.capacity_bps) / 6))
        flows = [(f"h{i}", f"h{self.flows + i}") for i in range(self.flows)]
        return Scenario(
            network=topology.dumbbell(self.flows, self.flows, rate=self.capacity_bps, delay=ps(delay), buffer="64MB"),
            workload=workload.long_flows(flows, size="100GB"),
            scheme=scheme,
            until=ps(self.duration_ps),
            probes=[
                probes.queue("s0", "s1", every="1us"),
                probes.throughput("s0", "s1", every="5us"),
                *(probes.field("flow", i, "Rcc.cwnd_bytes", every="5us") for i in range(self.flows)),
            ],
        )

    def predict(self, result: Result) -> pd.DataFrame:
        """Return the queue, the link's use and the mean window, averaged over 200 bins of the run.

        Windows start as the simulation's do.
        """
        start = self.flows / (1.0 + self.delta / 2.0)
        frame = self.replace(start_first=start, start=start).solve()
        windows = (frame["window_first_bytes"] + (self.flows - 1) * frame["window_other_bytes"]) / self.flows
        curves = {
            "queue": ("bytes", frame["time_ps"], frame["queue_bytes"]),
            "utilisation": ("", frame["time_ps"], frame["utilisation"]),
            "mean window": ("bytes", frame["time_ps"], windows),
        }
        return binned_curves(curves, float(result.now_ps))

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same quantities from a simulation of `scenario()`; windows count headers, as C does."""
        scheme = result.plan.scheme
        windows = [result.samples(f"Rcc.cwnd_bytes {i}") for i in range(self.flows)]
        mean = np.mean([window.to_numpy(np.float64) for window in windows], axis=0)
        queue, sent = result.samples("queue s0->s1"), result.samples("throughput s0->s1")
        curves = {
            "queue": ("bytes", queue.index, queue),
            "utilisation": ("", sent.index, sent / self.capacity_bps),
            "mean window": ("bytes", windows[0].index, mean * (scheme.wire_bytes / scheme.payload_bytes)),
        }
        return binned_curves(curves, float(result.now_ps))
