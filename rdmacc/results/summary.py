"""The summary of a result: a dozen numbers that say how a run went."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.results.tables import html_table, text_table
from rdmacc.typed import typed
from rdmacc.units import format_rate, format_size, format_time

__all__ = ["Summary", "half_width", "percentile", "slowdown_by_size"]

NOTHING = "-"
"""Stands where there is no number."""


@typed
def percentile(values: npt.ArrayLike, rank: float) -> float:
    """Return a percentile, interpolated linearly between the two nearest values; NaN of no values.

    Parameters
    ----------
    values : array_like
        Numbers in any order.
    rank : float
        Between 0 and 100.
    """
    array = np.asarray(values, dtype=np.float64)
    return float(np.percentile(array, rank)) if array.size else float("nan")


def half_width(std: pd.Series[Any], count: pd.Series[Any], confidence: float) -> pd.Series[Any]:
    """Return half the width of a mean's confidence interval, by Student's t; missing where there is one value.

    Parameters
    ----------
    std, count : Series
        Standard deviation (with n - 1) and number of independent values.
    confidence : float
        Between 0 and 1.
    """
    from scipy.stats import t

    quantile = pd.Series(t.ppf(0.5 + confidence / 2, count.clip(lower=2) - 1), index=count.index)
    return (quantile * std / count**0.5).where(count > 1)


@dataclass(frozen=True, kw_only=True)
class Summary:
    """How a run went, in numbers. ``print`` it, or let a notebook show it.

    FCTs and slowdowns are of the messages delivered so far; missing ones are NaN.

    Attributes
    ----------
    scheme, network, engine : str
        What ran, on what.
    seed : int
        Of all randomness.
    simulated_ps : int
        Simulated time.
    wall_s : float
        Time that it took to run, without set-up.
    flows, finished, failed : int
        Messages; finished ones are delivered and acknowledged.
    fct_median_ps, fct_p99_ps : float
        From a message's start to its last byte delivered.
    slowdown_median, slowdown_p99 : float
        FCT over the FCT of the message alone in the network.
    goodput_bps : float
        Payload that arrived at all receivers, over the time from the first start to the last delivery (to now
        while a message is not delivered).
    offered_bps : float
        Payload of all messages but the last over the time from the first start to the last; NaN if all start at once.
    peak_queue_bytes : int
        Longest queue of data at any switch port.
    pfc_pauses, cnps, marked_packets, drops, retransmissions, timeouts : int
        Totals; drops are those of switches and of links.
    """

    scheme: str
    network: str
    engine: str
    seed: int
    simulated_ps: int
    wall_s: float
    flows: int
    finished: int
    failed: int
    fct_median_ps: float
    fct_p99_ps: float
    slowdown_median: float
    slowdown_p99: float
    goodput_bps: float
    offered_bps: float
    peak_queue_bytes: int
    pfc_pauses: int
    cnps: int
    marked_packets: int
    drops: int
    retransmissions: int
    timeouts: int

    @property
    def title(self) -> str:
        """What ran, in one line."""
        return (
            f"{self.scheme} on {self.network or 'a network'}, seed {self.seed}: "
            f"{format_time(self.simulated_ps)} simulated in {self.wall_s:.2f} s ({self.engine} engine)"
        )

    def rows(self) -> list[tuple[str, str]]:
        """Return (name, value with its unit) pairs."""
        unfinished = self.flows - self.finished - self.failed
        flows = [f"{self.finished} finished"]
        flows += [f"{self.failed} failed"] if self.failed else []
        flows += [f"{unfinished} unfinished"] if unfinished else []
        return [
            ("flows", f"{self.flows} ({', '.join(flows)})"),
            ("FCT, median", _time(self.fct_median_ps)),
            ("FCT, p99", _time(self.fct_p99_ps)),
            ("slowdown, median", _number(self.slowdown_median)),
            ("slowdown, p99", _number(self.slowdown_p99)),
            ("goodput, all flows", NOTHING if np.isnan(self.goodput_bps) else format_rate(self.goodput_bps)),
            *([] if np.isnan(self.offered_bps) else [("offered, all flows", format_rate(self.offered_bps))]),
            ("peak queue", format_size(self.peak_queue_bytes)),
            ("marked packets", f"{self.marked_packets:,}"),
            ("CNPs", f"{self.cnps:,}"),
            ("PFC pauses", f"{self.pfc_pauses:,}"),
            ("drops", f"{self.drops:,}"),
            ("retransmissions", f"{self.retransmissions:,}"),
            ("timeouts", f"{self.timeouts:,}"),
        ]

    def to_series(self) -> pd.Series:
        """Return the numbers in base units; put those of several runs side by side with ``pd.DataFrame``."""
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
    """Return median and p99 slowdown of the delivered messages by their size.

    Parameters
    ----------
    flows : DataFrame
        As `Result.flows`.
    bins : int
        If there are more sizes than this, they are grouped into this many bins with equal numbers of messages.

    Returns
    -------
    DataFrame
        `size_bytes` (largest of the bin), `flows`, `median`, `p99`; one row for each bin, ascending.
    """
    delivered = flows[flows["slowdown"].notna()]
    sizes = delivered["size_bytes"]
    if sizes.nunique() > bins:
        codes = pd.qcut(sizes, bins, labels=False, duplicates="drop")
        sizes = sizes.groupby(codes).transform("max")
    grouped = delivered["slowdown"].groupby(sizes.to_numpy())
    table = grouped.agg(flows="size", median="median", p99=lambda values: np.percentile(values, 99))
    return table.rename_axis("size_bytes").reset_index()
