"""Plots of a result: functions that compute a table, and functions that draw one on given axes.

Every drawing function takes `ax` (a new figure without it) and returns the Axes, so that plots can be put
side by side and changed. matplotlib is imported when something is drawn. The look is `rdmacc.mplstyle`; the
colours are Okabe and Ito's, which all kinds of colour vision tell apart.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from rdmacc.plan import Watch
    from rdmacc.results import Result

__all__ = [
    "COLOURS",
    "ResultPlots",
    "draw_trace",
    "ecdf",
    "new_axes",
    "save",
    "slowdown_by_size",
    "style",
    "time_unit",
]

COLOURS = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "purple": "#CC79A7",
    "black": "#000000",
    "yellow": "#F0E442",
}
"""Okabe and Ito's palette, in the order in which lines take them."""

_STYLE = Path(__file__).with_name("rdmacc.mplstyle")
_MANY_SIZES = 5

_TIME_UNITS = ((1e12, "s"), (1e9, "ms"), (1e6, "µs"), (1e3, "ns"), (1.0, "ps"))
_VALUE_UNITS = {"bps": (1e9, "Gb/s"), "bytes": (1e3, "kB"), "ps": (1e6, "µs")}


@contextmanager
def style() -> Iterator[None]:
    """Apply rdmacc's look to what is drawn inside the ``with`` block."""
    import matplotlib.style

    with matplotlib.style.context(_STYLE):
        yield


def new_axes(ax: Axes | None, figsize: tuple[float, float] | None = None) -> Axes:
    """Return `ax`, or the axes of a new figure. Call inside `style()`."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize)[1]


def save(figure: Figure, path: str | Path) -> Path:
    """Write a figure to a file, making its folder, close it, and return the path."""
    import matplotlib.pyplot as plt

    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with style():
        figure.savefig(target)
    plt.close(figure)
    return target


def time_unit(span_ps: float) -> tuple[float, str]:
    """Return (picoseconds, name) of the unit in which a time axis of that length reads best."""
    for factor, name in _TIME_UNITS:
        if span_ps >= 2 * factor:
            return factor, name
    return _TIME_UNITS[-1]


def value_unit(field: str) -> tuple[float, str]:
    """Return (factor, name) of the unit to show a field in, by the last part of its name."""
    return _VALUE_UNITS.get(field.rpartition("_")[2], (1.0, ""))


def ecdf(values: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the sorted values and the fraction of values that are at most each."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    return ordered, np.arange(1, len(ordered) + 1) / max(len(ordered), 1)


def slowdown_by_size(flows: pd.DataFrame, bins: int = 10) -> pd.DataFrame:
    """Return median and p99 slowdown of the delivered messages by their size.

    Parameters
    ----------
    flows : DataFrame
        As `Result.flows`.
    bins : int
        Where there are more sizes than that, they are put into so many bins of equally many messages.

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


def draw_trace(
    ax: Axes,
    time_ps: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    unit_ps: float = 1e6,
    scale: float = 1.0,
    is_step: bool = True,
    **kwargs: Any,
) -> None:
    """Draw one curve over time: in steps for a value that holds until the next sample.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    time_ps, value : array of shape (N,)
        Samples.
    unit_ps, scale : float
        Picoseconds of the time axis' unit, and what the values are divided by.
    is_step : bool
        Steps, or straight lines from sample to sample.
    **kwargs
        Of `Axes.plot`.
    """
    x, y = np.asarray(time_ps) / unit_ps, np.asarray(value) / scale
    ax.plot(x, y, drawstyle="steps-post" if is_step else "default", **kwargs)


class ResultPlots:
    """Plots of one result, as ``result.plot``. Each takes `ax` and returns the Axes."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def rates(self, ax: Axes | None = None) -> Axes:
        """Draw every rate that was probed: sending rates of flows, throughputs of links."""
        watches = [watch for watch in self._result.plan.watches if _is_rate(watch)]
        self._need(watches, "rates", "rdmacc.probes.rate(flow) or rdmacc.probes.throughput(node, peer, every)")
        return self._draw(ax, watches, 1e9, f"Rates under {self._scheme}", "rate (Gb/s)")

    def queues(self, ax: Axes | None = None) -> Axes:
        """Draw every queue that was probed."""
        watches = [watch for watch in self._result.plan.watches if watch.field.name == "queue_bytes"]
        self._need(watches, "queues", "rdmacc.probes.queue(node, peer)")
        return self._draw(ax, watches, 1e3, f"Queues under {self._scheme}", "queue (kB)")

    def probe(self, name: str, ax: Axes | None = None) -> Axes:
        """Draw the probe of that name.

        Raises
        ------
        ConfigError
            If there is none.
        """
        self._result.trace(name)
        watch = next(watch for watch in self._result.plan.watches if watch.probe.name == name)
        factor, unit = value_unit("bps" if watch.probe.is_rate else watch.field.name)
        label = "throughput" if watch.probe.is_rate else watch.probe.field
        label = f"{label} ({unit})" if unit else label
        return self._draw(ax, [watch], factor, f"{name}, under {self._scheme}", label)

    def fct_cdf(self, ax: Axes | None = None) -> Axes:
        """Draw the fraction of the delivered messages by FCT: a curve for each size, if there are few."""
        flows = self._result.flows
        delivered = flows[flows["fct_ps"].notna()]
        if not len(delivered):
            raise ConfigError("flows", "none delivered", "at least one delivered message, to draw FCTs of")
        sizes = sorted(delivered["size_bytes"].unique())
        by_size: list[tuple[str, pd.DataFrame]] = [("all messages", delivered)]
        if len(sizes) <= _MANY_SIZES:
            by_size = [
                (f"{format_size(int(size))} ({n} flows)", rows)
                for size in sizes
                for rows in [delivered[delivered["size_bytes"] == size]]
                for n in [len(rows)]
            ]
        unit_ps, unit = time_unit(float(delivered["fct_ps"].max()))
        with style():
            ax = new_axes(ax)
            for label, rows in by_size:
                fct, fraction = ecdf(rows["fct_ps"].to_numpy(np.float64) / unit_ps)
                ax.plot(np.r_[fct[:1], fct], np.r_[0.0, fraction], drawstyle="steps-post", label=label)
            ax.set(
                title=f"Flow completion times under {self._scheme}",
                xlabel=f"flow completion time ({unit})",
                ylabel="fraction of flows",
                ylim=(0, 1.02),
            )
            ax.legend(loc="lower right")
        return ax

    def slowdown_by_size(self, ax: Axes | None = None) -> Axes:
        """Draw median and p99 slowdown over message size."""
        table = slowdown_by_size(self._result.flows)
        with style():
            ax = new_axes(ax)
            sizes = table["size_bytes"] / 1e3
            ax.plot(sizes, table["p99"], marker="s", label="p99", color=COLOURS["vermilion"])
            ax.plot(sizes, table["median"], marker="o", label="median", color=COLOURS["blue"])
            ax.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
            ax.set(
                title=f"Slowdown under {self._scheme}",
                xlabel="message size (kB)",
                ylabel="FCT / FCT alone",
                xscale="log",
            )
            ax.set_ylim(bottom=0)
            ax.legend()
        return ax

    def ladder(
        self,
        messages: Hashable | Sequence[Hashable] | None = None,
        nodes: Sequence[Hashable] | None = None,
        start: Quantity | None = None,
        end: Quantity | None = None,
        ax: Axes | None = None,
        *,
        squeeze: bool = True,
    ) -> Axes:
        """Draw the packets between some nodes as a ladder (sequence) diagram, of a run with ``trace=True``.

        Parameters are those of `rdmacc.ladder.draw_ladder`.
        """
        from rdmacc.ladder import draw_ladder

        return draw_ladder(self._result, messages, nodes, start, end, ax, squeeze=squeeze)

    @property
    def _scheme(self) -> str:
        return self._result.plan.scheme.name

    def _need(self, watches: list[Watch], plot: str, probe: str) -> None:
        if not watches:
            names = [watch.probe.name for watch in self._result.plan.watches]
            raise ConfigError(f"probes for plot.{plot}()", names, f"at least one such as {probe}")

    def _draw(self, ax: Axes | None, watches: Sequence[Watch], scale: float, title: str, ylabel: str) -> Axes:
        result = self._result
        unit_ps, unit = time_unit(result.now_ps)
        with style():
            ax = new_axes(ax)
            for watch in watches:
                trace = result.trace(watch.probe.name)
                time_ps, value = trace.index.to_numpy(), trace.to_numpy()
                on_change = watch.probe.every_ps is None
                if on_change and len(value):  # the last value holds until the end
                    time_ps, value = np.r_[time_ps, result.now_ps], np.r_[value, value[-1]]
                draw_trace(
                    ax,
                    time_ps,
                    value,
                    unit_ps=unit_ps,
                    scale=scale,
                    is_step=on_change,
                    label=watch.probe.name,
                )
            ax.set(title=title, xlabel=f"time ({unit})", ylabel=ylabel)
            ax.set_xlim(0, result.now_ps / unit_ps)
            ax.set_ylim(bottom=0)
            if len(watches) > 1:
                ax.legend()
        return ax


def _is_rate(watch: Watch) -> bool:
    return watch.probe.is_rate or watch.field.name == "rate_bps"
