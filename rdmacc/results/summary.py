"""The summary of a result: a dozen key numbers of a run, and totals over its ports and messages."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.engine.outcome import RunOutcome
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface import HOST_NIC, LINK_CLASSES
from rdmacc.show.tables import html_table, text_table
from rdmacc.units import format_rate, format_size, format_time, time_ps

__all__ = ["Summary"]

_REACHED = 0.9  # if less than this share of the offered load was carried in time, the load was not reached
NOTHING = "-"
"""Placeholder for a missing number."""


@typed
def percentile(values: npt.ArrayLike, rank: float) -> float:
    """Return a percentile, interpolated linearly between the two nearest values; NaN without values."""
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=None)
    if not ordered.size or np.isnan(ordered[-1]):
        return float("nan")
    place = (len(ordered) - 1) * (rank / 100)  # like np.percentile, which takes ten times as long for a few values
    low, high = float(ordered[int(place)]), float(ordered[min(int(place) + 1, len(ordered) - 1)])
    share = place - int(place)
    return high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share


def jain(values: npt.ArrayLike) -> float:
    """Return Jain's index of fairness: 1 if all values are equal, 1/n if all but one are 0; NaN if all are 0."""
    each = np.asarray(values, dtype=np.float64)
    squares = float((each**2).sum())
    return float(each.sum() ** 2 / (len(each) * squares)) if squares > 0.0 else float("nan")


def half_width(std: pd.Series[Any], count: pd.Series[Any], confidence: float) -> pd.Series[Any]:
    """Return half the width of a mean's confidence interval, by Student's t; missing for a single value."""
    from scipy.stats import t

    quantile = pd.Series(t.ppf(0.5 + confidence / 2, count.clip(lower=2) - 1), index=count.index)
    return (quantile * std / count**0.5).where(count > 1)


def check_window(window: Any) -> tuple[int, int]:
    """Return the two times of a window, in picoseconds."""
    if not isinstance(window, tuple | list) or len(window) != 2:
        raise ConfigError("window", window, "a pair of times, such as ('1ms', '5ms')")
    begin, end = (time_ps(one, field="window") for one in window)
    if not begin < end:
        raise ConfigError("window", window, "a pair of times, the second after the first")
    return begin, end


def starting_in(window: Any, start_ps: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    if window is None:
        return np.ones(len(start_ps), np.bool_)
    begin, end = check_window(window)
    chosen = np.asarray((start_ps >= begin) & (start_ps < end))
    if not chosen.any():
        raise ConfigError("window", window, "a window in which messages start")
    return chosen


@dataclass(frozen=True)
class Transport:
    """The traffic that a network has carried, message by message: arrays of shape (M,)."""

    start_ps: npt.NDArray[np.int64]
    delivered_ps: npt.NDArray[np.int64]
    size_bytes: npt.NDArray[np.int64]
    received_bytes: npt.NDArray[np.int64]
    now_ps: int

    def goodput_bps(self, chosen: npt.NDArray[np.bool_]) -> float:
        """Return the rate of payload received from the first start to the last delivery, or to now."""
        delivered = self.delivered_ps[chosen]
        if not len(delivered):  # hosts only compute
            return float("nan")
        end = int(delivered.max()) if (delivered >= 0).all() else self.now_ps
        spent = end - int(self.start_ps[chosen].min())
        return float(self.received_bytes[chosen].sum()) * 8e12 / spent if spent > 0 else float("nan")

    def offered_bps(self, chosen: npt.NDArray[np.bool_]) -> float:
        """Return the payload of all but the last message, divided by the time from the first start to the last."""
        start_ps, size = self.start_ps[chosen], self.size_bytes[chosen]
        if not len(start_ps):
            return float("nan")
        last = int(np.argmax(start_ps))
        span = int(start_ps[last] - start_ps.min())
        return float(size.sum() - size[last]) * 8e12 / span if span > 0 else float("nan")

    def carried_bps(self, chosen: npt.NDArray[np.bool_]) -> float:
        """Return the payload rate from the first start to the last, as if messages arrived evenly from start to end."""
        start_ps = self.start_ps[chosen]
        begin, end = (int(start_ps.min()), int(start_ps.max())) if len(start_ps) else (0, 0)
        if end == begin:
            return float("nan")
        until = np.where(self.delivered_ps >= 0, self.delivered_ps, np.maximum(self.now_ps, self.start_ps))
        inside = np.clip(np.minimum(until, end) - np.maximum(self.start_ps, begin), 0, None)
        share = inside / np.maximum(until - self.start_ps, 1)
        return float((self.received_bytes * share).sum()) * 8e12 / (end - begin)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The key numbers of a run. ``print`` it, or let a notebook display it.

    FCTs and slowdowns cover the messages delivered so far; missing values are NaN.
    """

    scheme: str
    network: str
    engine: str
    seed: int  # seed of all randomness
    simulated_ps: int
    wall_s: float  # wall time of the run, without set-up
    flows: int
    finished: int  # delivered and acknowledged
    failed: int
    fct_median_ps: float  # from the start of a message to the delivery of its last byte
    fct_p99_ps: float
    slowdown_median: float  # FCT divided by the FCT of the message alone in the network
    slowdown_p99: float
    goodput_bps: float
    """Payload that arrived at all receivers, divided by the time from the first start to the last delivery (or to now,
    if a message is still undelivered)."""
    offered_bps: float
    carried_bps: float
    """Between the first start and the last: payload of all messages but the last, and payload that arrived, as if each
    message arrived evenly. NaN if all start at once."""
    peak_queue_bytes: int  # longest queue of data at any switch port
    pfc_pauses: int
    cnps: int
    marked_packets: int
    drops: int  # at switches and on links
    retransmissions: int
    timeouts: int
    no_route: int = 0  # messages that failed because a host lost its last link

    @property
    def title(self) -> str:
        """Description of the run, in one line."""
        return (
            f"{self.scheme} on {self.network or 'a network'}, seed {self.seed}: "
            f"{format_time(self.simulated_ps)} simulated in {self.wall_s:.2f} s ({self.engine} engine)"
        )

    def rows(self) -> list[tuple[str, str]]:
        unfinished = self.flows - self.finished - self.failed
        flows = [f"{self.finished} finished"]
        without = f", {self.no_route} of them without a route" if self.no_route else ""
        without = ": no route" if 0 < self.no_route == self.failed else without
        flows += [f"{self.failed} failed{without}"] if self.failed else []
        flows += [f"{unfinished} unfinished"] if unfinished else []
        return [
            ("flows", f"{self.flows} ({', '.join(flows)})"),
            ("FCT, median", _time(self.fct_median_ps)),
            ("FCT, p99", _time(self.fct_p99_ps)),
            ("slowdown, median", _number(self.slowdown_median)),
            ("slowdown, p99", _number(self.slowdown_p99)),
            ("goodput, all flows", NOTHING if np.isnan(self.goodput_bps) else format_rate(self.goodput_bps)),
            *self._load(),
            ("peak queue", format_size(self.peak_queue_bytes)),
            ("marked packets", f"{self.marked_packets:,}"),
            ("CNPs", f"{self.cnps:,}"),
            ("PFC pauses", f"{self.pfc_pauses:,}"),
            ("drops", f"{self.drops:,}"),
            ("retransmissions", f"{self.retransmissions:,}"),
            ("timeouts", f"{self.timeouts:,}"),
        ]

    def _load(self) -> list[tuple[str, str]]:
        """Return the load if the network kept up with it; otherwise say that the run was not steady."""
        if np.isnan(self.offered_bps):
            return []
        if self.carried_bps < _REACHED * self.offered_bps:
            return [("load", f"not steady: {self.carried_bps / self.offered_bps:.0%} carried by the last start")]
        return [
            ("offered, all flows", f"{format_rate(self.offered_bps)} while they start"),
            ("carried", f"{format_rate(self.carried_bps)} in that time"),
        ]

    def to_series(self) -> pd.Series:
        """Return the numbers in base units; ``pd.DataFrame`` puts several runs side by side."""
        return pd.Series(asdict(self), name=self.scheme, dtype=object)

    def __str__(self) -> str:
        return f"{self.title}\n{text_table(['', ''], self.rows(), '<<')}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(["", ""], self.rows(), caption=self.title)


def _time(time_ps: float) -> str:
    return NOTHING if np.isnan(time_ps) else format_time(time_ps)


def _number(value: float) -> str:
    return NOTHING if np.isnan(value) else f"{value:.2f}"


@typed
def slowdown_by_size(flows: pd.DataFrame, bins: int = 10) -> pd.DataFrame:
    """Return median and p99 slowdown of the delivered messages by size."""
    delivered = flows[flows["slowdown"].notna()]
    sizes = delivered["size_bytes"]
    if sizes.nunique() > bins:
        codes = pd.qcut(sizes, bins, labels=False, duplicates="drop")
        sizes = sizes.groupby(codes).transform("max")
    grouped = delivered["slowdown"].groupby(sizes.to_numpy())
    table = grouped.agg(flows="size", median="median", p99=lambda values: np.percentile(values, 99))
    return table.rename_axis("size_bytes").reset_index()


def counts_of(outcome: RunOutcome, classes: npt.NDArray[np.integer[Any]]) -> dict[str, int]:
    """Return the counters of all ports, switches and messages together."""
    ports, messages = outcome.ports, outcome.messages
    counted = {
        "data_packet_hops": ports["tx_data_packets"], "control_packet_hops": ports["tx_control_packets"],
        **{f"marks_{name}": ports["marked_packets"][classes == number] for number, name in enumerate(LINK_CLASSES)},
        "pfc_pauses": ports["pauses"], "pfc_paused_ps": ports["paused_ps"], "pfc_violations": ports["violations"],
        **{name: ports[name] for name in ("dropped_packets", "trimmed_packets", "deflected_packets", "lost_packets")},
        "peak_queue_bytes": ports["peak_queue_bytes"][classes != HOST_NIC].max(initial=0),
        "peak_buffer_bytes": outcome.buffer_peak_bytes.max(initial=0),
        **{name: messages[name] for name in ("timeouts", "retransmissions")},
    }  # fmt: skip
    return {name: int(values.sum()) for name, values in counted.items()} | outcome.totals
