"""The plots of one result, as ``result.plot``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.plotting.ladder import draw_ladder
from rdmacc.plotting.style import axis_time_unit, draw_trace, ecdf, new_axes, style, value_unit
from rdmacc.results.summary import slowdown_by_size
from rdmacc.units import Quantity, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.engine.plan import Watch
    from rdmacc.results.result import Result

__all__ = ["ResultPlots"]

_MANY_SIZES = 5
_WIDE = 50.0
"""Completion times that differ by more than this factor are drawn over a logarithmic axis."""


class ResultPlots:
    """Plots of one result, as ``result.plot``. Each takes `ax` and `label`, and returns the Axes.

    Results are laid over each other by drawing them on the same axes: each takes new colours, and the legend tells them
    apart by `label`.

    Parameters
    ----------
    result : Result
        The simulation.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def rates(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw every rate that was probed: sending rates of flows, throughputs of links.

        A flow's rate is drawn from its start to its last ACK.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of this result in the legend. Default: the scheme's, on axes that are given; none on its own.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        watches = [watch for watch in self._result.plan.watches if _is_rate(watch)]
        self._need(watches, "rates", "rdmacc.probes.rate(flow) or rdmacc.probes.throughput(node, peer, every)")
        return self._draw(ax, watches, 1e9, "Rates", "rate (Gb/s)", label)

    def queues(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw every queue that was probed.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of this result in the legend. Default: the scheme's, on axes that are given; none on its own.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        watches = [watch for watch in self._result.plan.watches if watch.field.name == "queue_bytes"]
        self._need(watches, "queues", "rdmacc.probes.queue(node, peer)")
        return self._draw(ax, watches, 1e3, "Queues", "queue (kB)", label)

    def probe(self, name: str, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the probe of that name.

        Parameters
        ----------
        name : str
            Name of the probe, such as ``"queue s0->h0"``.
        ax : Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of this result in the legend. Default: the scheme's, on axes that are given; none on its own.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.

        Raises
        ------
        ConfigError
            If there is none.
        """
        self._result.samples(name)
        watch = next(watch for watch in self._result.plan.watches if watch.probe.name == name)
        factor, unit = value_unit("bps" if watch.probe.is_rate else watch.field.name)
        quantity = "throughput" if watch.probe.is_rate else watch.probe.field
        return self._draw(ax, [watch], factor, name, f"{quantity} ({unit})" if unit else quantity, label)

    def fct_cdf(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the fraction of the delivered messages by FCT: a curve for each size, if there are few.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of this result in the legend. Default: the scheme's, on axes that are given; none on its own.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.

        Raises
        ------
        ConfigError
            If no message was delivered.
        """
        flows = self._result.flows
        delivered = flows[flows["fct_ps"].notna()]
        if not len(delivered):
            raise ConfigError("flows", "none delivered", "at least one delivered message")
        sizes = sorted(delivered["size_bytes"].unique())
        by_size = [("all messages", delivered)]
        if ax is None and len(sizes) <= _MANY_SIZES:
            chosen = [(int(size), delivered[delivered["size_bytes"] == size]) for size in sizes]
            by_size = [
                (f"{format_size(size)} ({len(rows)} {'flow' if len(rows) == 1 else 'flows'})", rows)
                for size, rows in chosen
            ]
        fct_ps = delivered["fct_ps"].to_numpy(np.float64)
        with style():
            ax, prefix = self._axes(ax, "Flow completion times", label)
            unit_ps, unit = axis_time_unit(ax, float(fct_ps.max()))
            for name, rows in by_size:
                fct, fraction = ecdf(rows["fct_ps"].to_numpy(np.float64) / unit_ps)
                x, y = np.r_[fct[:1], fct], np.r_[0.0, fraction]
                ax.plot(x, y, drawstyle="steps-post", label=prefix if prefix and len(by_size) == 1 else name)
            ax.set(xlabel=f"flow completion time ({unit})", ylabel="fraction of flows", ylim=(0, 1.02))
            if fct_ps.max() > _WIDE * fct_ps.min():
                ax.set_xscale("log")
            ax.legend(loc="lower right")
        return ax

    def slowdown_by_size(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw median and p99 slowdown over message size.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.
        label : str, optional
            Name of this result in the legend. Default: the scheme's, on axes that are given; none on its own.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        table = slowdown_by_size(self._result.flows)
        sizes = table["size_bytes"] / 1e3
        with style():
            ax, prefix = self._axes(ax, "Slowdown", label)
            (tail,) = ax.plot(sizes, table["p99"], marker="s", label=_joined(prefix, "p99"))
            look: dict[str, Any] = {
                "color": tail.get_color(),
                "linestyle": "--",
                "marker": "o",
                "markerfacecolor": "white",
            }
            ax.plot(sizes, table["median"], label=_joined(prefix, "median"), **look)
            ax.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
            ax.set(xlabel="message size (kB)", ylabel="FCT / FCT alone", xscale="log")
            ax.set_ylim(bottom=0, auto=None)  # what is laid over it later may be higher
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

        Parameters are those of `rdmacc.plotting.ladder.draw_ladder`.

        Parameters
        ----------
        messages : hashable or sequence of hashable, optional
            Which messages; all by default.
        nodes : sequence of hashable, optional
            Which nodes, from left to right; by default all on the messages' way.
        start : number or str, optional
            Beginning of the part to draw, such as ``"2us"``.
        end : number or str, optional
            End of the part to draw.
        ax : Axes, optional
            Where to draw; a new figure by default.
        squeeze : bool
            Cut long times without a packet short.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        return draw_ladder(self._result, messages, nodes, start, end, ax, squeeze=squeeze)

    @property
    def _scheme(self) -> str:
        return self._result.plan.scheme.name

    def _need(self, watches: list[Watch], plot: str, probe: str) -> None:
        if not watches:
            names = [watch.probe.name for watch in self._result.plan.watches]
            raise ConfigError(f"probes for plot.{plot}()", names, f"at least one such as {probe}")

    def _axes(self, ax: Axes | None, title: str, label: str | None) -> tuple[Axes, str]:
        """Return axes with a title, and the name of this result in their legend.

        Axes that are given may show several results: their title names no scheme, so the legend does.
        """
        if ax is None:
            ax = new_axes(None)
            ax.set_title(f"{title} under {self._scheme}")
            return ax, label or ""
        if not any(ax.get_title(loc=place) for place in ("left", "center", "right")):
            ax.set_title(title)
        return ax, label or self._scheme

    def _draw(
        self, ax: Axes | None, watches: Sequence[Watch], scale: float, title: str, ylabel: str, label: str | None
    ) -> Axes:
        result = self._result
        names = self._names(watches)
        with style():
            ax, prefix = self._axes(ax, title, label)
            right = ax.get_xlim()[1] if ax.has_data() else 0.0
            unit_ps, unit = axis_time_unit(ax, result.now_ps)
            for watch, name in zip(watches, names, strict=True):
                on_change = watch.probe.every_ps is None
                time_ps, value = self._curve(watch)
                told_apart = _joined(prefix, name if len(watches) > 1 or not prefix else "")
                draw_trace(ax, time_ps, value, unit_ps=unit_ps, scale=scale, is_step=on_change, label=told_apart)
            ax.set(xlabel=f"time ({unit})", ylabel=ylabel)
            ax.set_xlim(0, max(right, result.now_ps / unit_ps))
            ax.set_ylim(bottom=0, auto=None)  # what is laid over it later may be higher
            if len(watches) > 1 or prefix:
                ax.legend()
        return ax

    def _curve(self, watch: Watch) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return the samples of a probe: one that keeps changes holds to the end, a flow's rate while it is active."""
        trace = self._result.samples(watch.probe.name)
        time_ps, value = trace.index.to_numpy(np.int64), trace.to_numpy(np.float64)
        on_change = watch.probe.every_ps is None
        begin_ps, end_ps = 0, self._result.now_ps
        if watch.probe.place == "flow" and watch.field.name == "rate_bps":
            flow = self._result.flows.iloc[watch.probe.at]  # type: ignore[call-overload]
            begin_ps = int(flow["start_ps"])
            end_ps = end_ps if pd.isna(flow["fct_acked_ps"]) else begin_ps + int(flow["fct_acked_ps"])
        if not on_change:
            active = (time_ps >= begin_ps) & (time_ps <= end_ps)
            return time_ps[active], value[active]
        held = np.flatnonzero(time_ps <= begin_ps)
        first = [value[held[-1]]] if len(held) and begin_ps > 0 else []
        active = (time_ps > begin_ps if len(first) else time_ps >= begin_ps) & (time_ps <= end_ps)
        time_ps, value = np.r_[[begin_ps] * len(first), time_ps[active]], np.r_[first, value[active]]
        if len(value):
            time_ps, value = np.r_[time_ps, end_ps], np.r_[value, value[-1]]
        return time_ps.astype(np.int64), value

    def _names(self, watches: Sequence[Watch]) -> list[str]:
        """Return what tells probes of one plot apart: from where to where; the number too where flows share that."""
        flows = self._result.flows
        names = []
        for watch in watches:
            if watch.probe.place == "port":
                ends: Any = watch.probe.at
                names.append(f"{'link ' if watch.probe.is_rate else ''}{ends[0]} -> {ends[1]}")
            elif watch.probe.place == "flow":
                flow = flows.iloc[watch.probe.at]  # type: ignore[call-overload]
                names.append(f"{flow['src']} -> {flow['dst']}")
            else:
                names.append(str(watch.probe.at))
        return [
            f"{name} (flow {watch.probe.at})" if watch.probe.place == "flow" and names.count(name) > 1 else name
            for name, watch in zip(names, watches, strict=True)
        ]


def _joined(prefix: str, name: str) -> str:
    return ", ".join(part for part in (prefix, name) if part)


def _is_rate(watch: Watch) -> bool:
    return watch.probe.is_rate or watch.field.name == "rate_bps"
