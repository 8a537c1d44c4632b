"""The plots of one result, as ``result.plot``."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.plotting.ladder import draw_ladder
from rdmacc.plotting.style import COLOURS, draw_trace, ecdf, new_axes, style, time_unit, value_unit
from rdmacc.results.summary import slowdown_by_size
from rdmacc.units import Quantity, format_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.engine.plan import Watch
    from rdmacc.results.result import Result

__all__ = ["ResultPlots"]

_MANY_SIZES = 5


class ResultPlots:
    """Plots of one result, as ``result.plot``. Each takes `ax` and returns the Axes.

    Parameters
    ----------
    result : Result
        The simulation.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def rates(self, ax: Axes | None = None) -> Axes:
        """Draw every rate that was probed: sending rates of flows, throughputs of links.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        watches = [watch for watch in self._result.plan.watches if _is_rate(watch)]
        self._need(watches, "rates", "rdmacc.probes.rate(flow) or rdmacc.probes.throughput(node, peer, every)")
        return self._draw(ax, watches, 1e9, f"Rates under {self._scheme}", "rate (Gb/s)")

    def queues(self, ax: Axes | None = None) -> Axes:
        """Draw every queue that was probed.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        watches = [watch for watch in self._result.plan.watches if watch.field.name == "queue_bytes"]
        self._need(watches, "queues", "rdmacc.probes.queue(node, peer)")
        return self._draw(ax, watches, 1e3, f"Queues under {self._scheme}", "queue (kB)")

    def probe(self, name: str, ax: Axes | None = None) -> Axes:
        """Draw the probe of that name.

        Parameters
        ----------
        name : str
            Name of the probe, such as ``"queue s0->h0"``.
        ax : Axes, optional
            Where to draw; a new figure by default.

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
        label = "throughput" if watch.probe.is_rate else watch.probe.field
        label = f"{label} ({unit})" if unit else label
        return self._draw(ax, [watch], factor, f"{name}, under {self._scheme}", label)

    def fct_cdf(self, ax: Axes | None = None) -> Axes:
        """Draw the fraction of the delivered messages by FCT: a curve for each size, if there are few.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

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
        """Draw median and p99 slowdown over message size.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
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

    def _draw(self, ax: Axes | None, watches: Sequence[Watch], scale: float, title: str, ylabel: str) -> Axes:
        result = self._result
        unit_ps, unit = time_unit(result.now_ps)
        with style():
            ax = new_axes(ax)
            for watch in watches:
                trace = result.samples(watch.probe.name)
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
