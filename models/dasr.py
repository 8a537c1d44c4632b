"""DASR: convergence time, and rates from the sender set during an incast, with and without look-ahead.

Source: Xue et al., "Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks",
IEEE/ACM ToN 2020, sections III and V-A. The receiver counts its active senders, n, and every ACK tells a sender its
rate, line / n. `rdmacc.models.fair_share` has the fair shares that result once all senders know n. This module models
the transient: a sender sends at line rate until its first ACK, and every share is one feedback delay old.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.errors import ConfigError
from rdmacc.interface import OptionalTime, Rate, Size, Time
from rdmacc.models.base import Floats, Model, param, told
from rdmacc.models.ideal import wire_bytes
from rdmacc.results.result import Result
from rdmacc.schemes import scheme
from rdmacc.show.style import COLOURS, canvas
from rdmacc.simulation.scenario import Scenario
from rdmacc.units import ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_STEPS = 1_000_000
"""Upper bound on the number of steps if a step is given; the incast ends after a third of the steps."""
_STEP_BYTES = 625
"""Bytes that the link carries in a step, which is 50 ns at 100 Gb/s."""
_STEPS = 100_000
"""Number of steps if no step is given; this takes a second."""


def sender_counts(sender: npt.ArrayLike, begin: npt.ArrayLike, end: npt.ArrayLike) -> pd.DataFrame:
    """Return the size of the sender set over time: a sender with several messages in flight counts once.

    Examples
    --------
    >>> sender_counts(["a", "a", "b"], [0, 5, 6], [10, 20, 8]).values.tolist()
    [[0, 1], [6, 2], [8, 1], [20, 0]]
    """
    messages = pd.DataFrame({"sender": sender, "begin": begin, "end": end})
    if (messages["end"] < messages["begin"]).any():
        raise ConfigError("end", end, "at or after the beginning")
    changes: dict[float, int] = {}
    for _, rows in messages.sort_values("begin").groupby("sender", sort=False):
        start, stop = rows["begin"].iloc[0], rows["end"].iloc[0]
        spans = []
        for b, e in zip(rows["begin"], rows["end"], strict=True):
            if b > stop:
                spans.append((start, stop))
                start, stop = b, e
            stop = max(stop, e)
        for b, e in (*spans, (start, stop)):
            changes[b] = changes.get(b, 0) + 1
            changes[e] = changes.get(e, 0) - 1
    series = pd.Series(changes).sort_index()
    series = series[series != 0].cumsum()
    return pd.DataFrame({"time_ps": series.index, "n": series.to_numpy()})


@dataclass(frozen=True, kw_only=True)
class DasrConvergence(Model):
    """Convergence time t_f + t_cpu + t_b: a new sender's first packet, the receiver's processing, the ACK
    to the others.

    The paper's testbed: 15 us unloaded RTT, 12 us in hardware, and 28, 41, 44 us at p90, p99, p99.9 in
    software. t_cpu is calibrated to these three (minus the RTT), not predicted.

    >>> DasrConvergence().evaluate().convergence_ps.round(-6).tolist()
    [15000000.0, 28000000.0, 41000000.0, 44000000.0]
    """

    title: ClassVar[str] = "DASR's convergence time"

    hops: int = param(2, "links from a sender to the receiver", low=1, slider=(1, 6))
    delay_ps: Time = param(
        "3.685us", "each link's propagation; default: an RTT of 15 us", low=0, slider=("0us", "10us")
    )
    rate_bps: Rate = param("56Gbps", "rate of every link", low=1.0, slider=("10Gbps", "100Gbps"))
    packet_bytes: Size = param("1048B", "first packet on the wire", low=1)
    ack_bytes: Size = param("64B", "ACK on the wire", low=1)
    queue_bytes: Size = param("0B", "queue in front of the first packet", low=0, slider=("0B", "500kB"))
    cpu_p90_ps: Time = param("13us", "t_cpu at p90", source="calibrated to V-A", low=0, slider=("0us", "50us"))
    cpu_p99_ps: Time = param("26us", "t_cpu at p99", source="calibrated to V-A", low=0)
    cpu_p999_ps: Time = param("29us", "t_cpu at p99.9", source="calibrated to V-A", low=0)

    @property
    def forward_ps(self) -> float:
        """t_f: the first packet over all hops, store-and-forward, including the queue."""
        return (
            self.hops * (self.delay_ps + self.packet_bytes * 8e12 / self.rate_bps)
            + self.queue_bytes * 8e12 / self.rate_bps
        )

    @property
    def back_ps(self) -> float:
        """t_b: the ACK, which has priority, over all hops."""
        return self.hops * (self.delay_ps + self.ack_bytes * 8e12 / self.rate_bps)

    def evaluate(self) -> pd.DataFrame:
        """Return `variant, t_f_ps, t_cpu_ps, t_b_ps, convergence_ps, rtts`: hardware (no t_cpu), software
        at p90, p99, p99.9. `rtts` is in unloaded round trips, t_f + t_b without the queue.
        """
        cpu = np.array([0.0, self.cpu_p90_ps, self.cpu_p99_ps, self.cpu_p999_ps])
        total = self.forward_ps + cpu + self.back_ps
        unloaded = self.forward_ps + self.back_ps - self.queue_bytes * 8e12 / self.rate_bps
        return pd.DataFrame(
            {
                "variant": ["hardware", "software p90", "software p99", "software p99.9"],
                "t_f_ps": self.forward_ps, "t_cpu_ps": cpu, "t_b_ps": self.back_ps, "convergence_ps": total,
                "rtts": total / unloaded,
            }
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the three parts as stacked bars, for each variant."""
        table = self.evaluate()
        with canvas(ax) as ax:
            left = np.zeros(len(table))
            for part, name, colour in zip(
                ("t_f_ps", "t_cpu_ps", "t_b_ps"), ("t_f", "t_cpu", "t_b"), ("blue", "orange", "sky"), strict=True
            ):
                ax.barh(table["variant"], table[part] / 1e6, left=left, label=name, color=COLOURS[colour])
                left += table[part].to_numpy() / 1e6
            ax.invert_yaxis()
            ax.set(title=self.title, xlabel="time (us)")
            ax.legend()
        return ax


@dataclass(frozen=True, kw_only=True)
class DasrIncast(Model):
    """Fluid model of k senders and a long flow on one link under DASR: rates, queue, completion times.

    >>> gain = DasrIncast(senders=16, message_bytes="256kB").gain()
    >>> bool(gain["peak_queue_bytes"] > 0)
    True
    """

    title: ClassVar[str] = "DASR during an incast"

    senders: int = param(16, "senders of the incast", symbol="k", low=1, high=10_000, slider=(1, 64))
    message_bytes: Size = param("256kB", "payload of each message", low=1, slider=("8kB", "1MB"))
    jitter_ps: Time = param("20us", "messages start at random within this time", low=0, slider=("0us", "200us"))
    look_ahead: bool = param(True, "the first message announces all senders", source="III-D")
    line_bps: Rate = param("100Gbps", "every link", low=1.0, slider=("10Gbps", "100Gbps"))
    delay_ps: Time = param("5us", "each of two links between sender and receiver", low=1, slider=("1us", "20us"))
    start_ps: Time = param("100us", "start of the incast; the long flow starts at 0", low=0)
    payload_bytes: Size = param("1000B", "payload of a full packet", low=64, high=2**20)
    header_bytes: Size = param("48B", "headers of a packet", low=0, high=2**16)
    step_ps: OptionalTime = param(
        None, f"step; 0: 50 ns at 100 Gb/s and in proportion to a packet's time, or longer for {_STEPS} steps",
        unit="ps",
    )  # fmt: skip
    seed: int = param(0, "seed of the jitter", low=0)

    def incast(self) -> pd.DataFrame:
        """Return the incast's messages, from hosts h2, h3, ... to h0."""
        hosts = [f"h{i}" for i in range(2, self.senders + 2)]
        return workload.incast(
            hosts, "h0", self.message_bytes, start=ps(self.start_ps), jitter=ps(self.jitter_ps), seed=self.seed
        )

    def solve(self) -> pd.DataFrame:
        """Return `time_ps, queue_bytes, n, long_bps, incast_bps`: rates as sent, `incast_bps` in total."""
        return self._run()[0]

    def evaluate(self) -> pd.DataFrame:
        """Return `flow, start_ps, fct_ps`, one row for each message of the incast."""
        return self._run()[1]

    def gain(self) -> pd.Series[float]:
        """Return the effect of look-ahead, as values without it minus values with it, in `peak_queue_bytes,
        mean_fct_ps, last_fct_ps` (of the incast as a whole) and `back_off_ps` (when the long flow first slows down).
        """
        with_it, without = (self.replace(look_ahead=choice)._numbers() for choice in (True, False))
        return without - with_it

    def _numbers(self) -> pd.Series[float]:
        curve, flows = self._run()
        slowed = curve[(curve["time_ps"] > self.start_ps) & (curve["long_bps"] < 0.999 * self.line_bps)]
        done = float((flows["start_ps"] + flows["fct_ps"]).max()) - float(flows["start_ps"].min())
        return pd.Series(
            {
                "peak_queue_bytes": float(curve["queue_bytes"].max()),
                "mean_fct_ps": float(flows["fct_ps"].mean()),
                "last_fct_ps": done,
                "back_off_ps": float(slowed["time_ps"].iloc[0]),
            }
        )

    def _run(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the curve and the flows; cached, because a comparison needs them several times."""
        curve, flows = _run_fluids(self)
        return curve.copy(), flows.copy()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the queue over time, with and without look-ahead."""
        with canvas(ax) as ax:
            for choice, colour, line in ((False, "vermilion", "--"), (True, "blue", "-")):
                curve, label = (
                    self.replace(look_ahead=choice).solve(),
                    "with look-ahead" if choice else "without look-ahead",
                )
                time_us = (curve["time_ps"] - self.start_ps) / 1e6
                ax.plot(time_us, curve["queue_bytes"] / 1e3, line, color=COLOURS[colour], label=label)
            title = f"{self.title}: {self.senders} senders and a long flow"
            ax.set(title=title, xlabel="time since the incast's start (us)", ylabel="queue (kB)")
            ax.set_xlim(left=-5)
            ax.set_ylim(bottom=0)
            ax.legend()
        return ax

    def scenario(self) -> Scenario:
        """Return the equivalent scenario on a star."""
        name = "dasr" if self.look_ahead else "dasr-no-look-ahead"
        sample_ps = 4 * (self.step_ps or round(_STEP_BYTES * 8e12 / self.line_bps))
        return Scenario(
            network=topology.star(self.senders + 2, rate=self.line_bps, delay=ps(self.delay_ps), buffer="64MB"),
            workload=workload.combine(workload.long_flows([("h1", "h0")], "1GB"), self.incast()),
            scheme=scheme(name, payload_bytes=self.payload_bytes, header_bytes=self.header_bytes),
            until=ps(int(self._run()[0]["time_ps"].iloc[-1])),
            probes=[probes.queue("s0", "h0", every=ps(sample_ps))],
        )

    def predict(self, result: Result) -> pd.DataFrame:
        """Return the queue over time, and the FCT of each message."""
        curve, flows = self._run()
        part = curve.iloc[:: max(1, len(curve) // 2000)]
        return _tidy(part["time_ps"], part["queue_bytes"], flows["flow"], flows["fct_ps"])

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same quantities from a simulation of `scenario()`."""
        queue, flows = result.samples("queue s0->h0"), result.flows.iloc[1:]
        return _tidy(
            queue.index,
            queue,
            np.arange(1, len(flows) + 1),
            flows["fct_ps"].astype("Float64").to_numpy(np.float64, na_value=np.nan),
        )


@lru_cache(8)
def _run_fluids(model: DasrIncast) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Step the fluids. Sender 0 is the long flow; arrays are over senders, shape (k + 1,).

    A byte crosses one link from sender to queue and one from queue to receiver; an ACK crosses both. A byte that joins
    the queue at t leaves it at t + q / line.
    """
    starts = np.r_[0, model.incast()["start_ps"].to_numpy()].astype(np.float64)
    size = np.r_[
        np.inf, np.full(model.senders, float(wire_bytes(model.message_bytes, model.payload_bytes, model.header_bytes)))
    ]
    line = model.line_bps / 8e12  # bytes/ps
    packet = (model.payload_bytes + model.header_bytes) / line
    # A packet is sent, stored, forwarded and counted; its ACK comes back over both links.
    there, back = model.delay_ps + packet, 3 * model.delay_ps + packet
    until = model.start_ps + model.jitter_ps + (size[1:].sum() * 3) / line + 40 * model.delay_ps
    h = float(model.step_ps or max(_STEP_BYTES / line, until / _STEPS))
    rounds = int(until / h)
    if rounds > _MOST_STEPS:
        raise ConfigError(
            "DasrIncast.step_ps", model.step_ps, f"a longer step: at most {_MOST_STEPS} steps, not {rounds}"
        )
    lag_there, lag_back = int(there / h), int(back / h)
    sent, arrived = np.zeros(model.senders + 1), np.zeros(model.senders + 1)
    counted, ended = np.full(model.senders + 1, np.inf), np.full(model.senders + 1, np.inf)
    queue, history = 0.0, np.ones(rounds + 1, np.int64)
    is_member = np.zeros(model.senders + 1, dtype=np.bool_)
    told: Floats = np.full(model.senders + 1, np.inf)  # when a sender gets its first ACK
    rates = np.zeros((lag_there + 1, model.senders + 1))
    rows = np.zeros((rounds, 5))
    for step in range(rounds):
        now = step * h
        share = line / max(1, history[max(0, step - lag_back)])
        rate = np.where((starts <= now) & (sent < size), np.where(told <= now, share, line), 0.0)
        rate = np.minimum(rate, (size - sent) / h)
        sent += rate * h
        rates[step % (lag_there + 1)] = rate
        joining = rates[(step + 1) % (lag_there + 1)] if step >= lag_there else np.zeros(model.senders + 1)
        is_new = (arrived == 0) & (joining > 0)
        leaving = now + queue / line
        counted[is_new] = leaving
        arrived += joining * h
        ended[(arrived >= size * (1 - 1e-9)) & np.isinf(ended)] = leaving
        told = np.minimum(told, counted + back)
        if model.look_ahead and np.isfinite(counted[1:]).any():
            announced = counted[1:].min()
            told[1:] = np.minimum(told[1:], announced + back)
            is_member[1:] = announced <= now
        alive = ((counted <= now) | is_member) & (ended > now)
        history[step + 1] = max(1, int(alive.sum()))
        queue = max(0.0, queue + (joining.sum() - line) * h)
        rows[step] = now, queue, alive.sum(), rate[0], rate[1:].sum()
        if np.isfinite(ended[1:]).all() and now > ended[1:].max() + 2 * back:
            rows = rows[: step + 1]
            break
    curve = pd.DataFrame(rows, columns=["time_ps", "queue_bytes", "n", "long_bps", "incast_bps"])
    curve[["long_bps", "incast_bps"]] *= 8e12
    fct = ended[1:] + model.delay_ps + packet - starts[1:]
    return curve, pd.DataFrame({"flow": np.arange(1, model.senders + 1), "start_ps": starts[1:], "fct_ps": fct})


def _tidy(time: npt.ArrayLike, queue: npt.ArrayLike, flow: npt.ArrayLike, fct: npt.ArrayLike) -> pd.DataFrame:
    parts = told("queue", "bytes", time, queue, over_time=True), told("FCT", "ps", flow, fct)
    return pd.concat(parts, ignore_index=True)
