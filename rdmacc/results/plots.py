"""The plots of one result, as ``result.plot``."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.results.activity import draw_step, natural
from rdmacc.results.animation import Animation
from rdmacc.results.ladder import draw_ladder
from rdmacc.results.summary import slowdown_by_size
from rdmacc.show.style import axis_time_unit, draw_fct_cdf, draw_trace, log_axes, new_axes, style, value_unit
from rdmacc.units import Quantity, format_size, format_time, time_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.probes import Probe
    from rdmacc.results.result import Result

__all__ = ["ResultPlots"]

_MANY_SIZES = 5


class ResultPlots:
    """Plots of one result, as ``result.plot``.

    To overlay results, draw them on the same axes: each takes new colours, and the legend distinguishes them by
    `label`.

    All methods take `ax`, the axes to draw on (default: a new figure), and most `label`, the name of this result in the
    legend (default: the scheme's name if `ax` is given, otherwise none). They return the axes.

    Parameters
    ----------
    result : Result or SavedResult
        The simulation.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @typed
    def rates(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw every probed rate: sending rates of flows, throughputs of links.

        A flow's rate is drawn from its start to its last ACK.
        """
        probes = [probe for probe in self._result.watched if probe.is_rate or _field(probe) == "rate_bps"]
        self._need(probes, "rates", "rdmacc.probes.rate(flow) or rdmacc.probes.throughput(node, peer, every)")
        return self._draw(ax, probes, 1e9, "Rates", "rate (Gb/s)", label)

    @typed
    def queues(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw every probed queue."""
        probes = [probe for probe in self._result.watched if _field(probe) == "queue_bytes"]
        self._need(probes, "queues", "rdmacc.probes.queue(node, peer)")
        title = f"Queue {probes[0].name.removeprefix('queue ')}" if len(probes) == 1 else "Queues"
        return self._draw(ax, probes, 1e3, title, "queue (kB)", label)

    @typed
    def probe(self, name: str, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the probe of that name, such as ``"queue s0->h0"``."""
        self._result.samples(name)
        probe = next(probe for probe in self._result.watched if probe.name == name)
        factor, unit = value_unit("bps" if probe.is_rate else "" if probe.is_share else _field(probe))
        rate = "goodput" if probe.place == "flow" else "throughput"
        quantity = rate if probe.is_rate else "utilisation" if probe.is_share else probe.field
        return self._draw(ax, [probe], factor, name, f"{quantity} ({unit})" if unit else quantity, label)

    @typed
    def fct_cdf(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the CDF of the delivered messages' FCT, with one curve per size if there are few sizes."""
        flows = self._result.flows
        delivered = flows[flows["fct_ps"].notna()]
        if not len(delivered):
            raise ConfigError("flows", "none delivered", "at least one delivered message")
        curves = {"all messages": delivered["fct_ps"]}
        if ax is None and delivered["size_bytes"].nunique() <= _MANY_SIZES:
            by_size: Any = delivered.groupby("size_bytes")["fct_ps"]
            curves = {
                f"{format_size(size)} ({len(fct_ps)} {'flow' if len(fct_ps) == 1 else 'flows'})": fct_ps
                for size, fct_ps in by_size
            }
        with style():
            ax, prefix = self._axes(ax, "Flow completion times", label)
            if prefix and len(curves) == 1:
                curves = {prefix: delivered["fct_ps"]}
            draw_fct_cdf(ax, curves, float(delivered["fct_ps"].max()))
        return ax

    @typed
    def slowdown_by_size(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw median and p99 slowdown over message size."""
        table = slowdown_by_size(self._result.flows)
        sizes = table["size_bytes"] / 1e3
        with style():
            ax, prefix = self._axes(ax, "Slowdown", label)
            (tail,) = ax.plot(sizes, table["p99"], marker="s", label=_joined(prefix, "p99"))
            ax.plot(sizes, table["median"], "o--", color=tail.get_color(), markerfacecolor="white",
                    label=_joined(prefix, "median"))  # fmt: skip
            ax.axhline(1.0, color="0.6", linewidth=1, linestyle=":")
            ax.set(xlabel="message size (kB)", ylabel="FCT / FCT alone")
            log_axes(ax, "x")
            ax.set_ylim(bottom=0, auto=None)  # a result drawn over it later may be higher
            ax.legend()
        return ax

    @typed
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

        Parameters
        ----------
        messages : hashable or sequence of hashable, optional
            Messages to draw; default: all.
        nodes : sequence of hashable, optional
            Nodes, from left to right; default: all on the messages' paths.
        start : number or str, optional
            Start of the period to draw, such as ``"2us"``.
        end : number or str, optional
            End of the period to draw.
        squeeze : bool
            Cut out long periods without packets.
        """
        self._result.packet_trace  # noqa: B018 - raises if there is none
        return draw_ladder(self._result, messages, nodes, start, end, ax, squeeze=squeeze)

    @typed
    def step(self, hosts: Sequence[Hashable] | None = None, ax: Axes | None = None) -> Axes:
        """Draw who computes, who sends and who waits, over time: see `rdmacc.results.activity.draw_step`.

        Parameters
        ----------
        hosts : sequence of hashable, optional
            Which hosts, from top to bottom; by default all that compute or send.
        """
        is_new, ax = ax is None, draw_step(self._result, hosts, ax)
        if is_new:
            with style():
                ax.set_title(f"Step under {self._scheme}")
        return ax

    @typed
    def tiers(self, ax: Axes | None = None, *, rails: bool = False) -> Axes:
        """Draw the mean utilisation of probed links over time, by tier, from the hosts up to the top switches and down.

        Parameters
        ----------
        rails : bool
            Draw each rail's links to and from hosts separately.

        Raises
        ------
        ConfigError
            If no link's utilisation is probed with a period.
        """
        probed = [probe for probe in self._result.watched if probe.is_share and probe.place == "port"]
        self._need(probed, "tiers", "those of rdmacc.probes.every_link(network, every)")
        fabric = self._result.plan.fabric
        hosts = {fabric.names[host] for host in fabric.hosts}

        def tier(node: Any, told_apart: bool) -> str:
            if node in hosts:
                return "hosts"
            rail = re.search(r"rail\d+$", str(node)) if told_apart else None
            return rail[0] if rail else re.sub(r"^g\d+|\d", "", str(node))

        groups: dict[str, list[Any]] = {}
        for probe in probed:
            ends: Any = probe.at
            told_apart = rails and any(end in hosts for end in ends)
            name = " to ".join(tier(end, told_apart) for end in ends)
            groups.setdefault(name, []).append(self._result.samples(probe.name))
        with style():
            ax, _ = self._axes(ax, "Utilisation by tier", None)
            unit_ps, unit = axis_time_unit(ax, self._result.now_ps)
            for name, curves in sorted(groups.items(), key=lambda item: natural(item[0])):
                mean = pd.concat(curves, axis=1).mean(axis=1)
                look = "--" if name.endswith("hosts") or name.startswith("spine") else "-"
                ax.plot(mean.index / unit_ps, mean, look, label=f"{name} ({len(curves)})")
            ax.set(xlabel=f"time ({unit})", ylabel="mean utilisation", ylim=(0, 1.02))
            ax.legend(loc="best", ncols=1 + len(groups) // 7)
        return ax

    @typed
    def network(self, at: Quantity, ax: Axes | None = None, *, bin: Quantity = "10us") -> Axes:
        """Draw the network in a period: links by utilisation, queues, pauses, and the heaviest flows.

        Parameters
        ----------
        at : number or str
            When the period ends, such as ``"120us"``.
        bin : number or str
            Length of the period, which is cut at the start of the run.

        Raises
        ------
        ConfigError
            If the run recorded too little (see `rdmacc.Result.animate`), or had ended by then.
        """
        end_ps, bin_ps = time_ps(at, field="at"), time_ps(bin, field="bin", least=1)
        if not 0 < end_ps <= self._result.now_ps:
            raise ConfigError("at", at, f"above 0, up to the run's {format_time(self._result.now_ps)}")
        return Animation(self._result, np.array([max(end_ps - bin_ps, 0), end_ps])).draw(0, ax)

    @typed
    def explain(self, flow: Hashable, ax: Axes | None = None) -> Axes:
        """Draw where a message's time went, by its label: a bar coloured by kind, and below it a row for each port."""
        from rdmacc.results.explain.drawing import draw_explanation

        return draw_explanation(self._result.explain(flow), ax)

    @typed
    def time_spent(self, ax: Axes | None = None, *, by: str = "size", bins: int = 8) -> Axes:
        """Draw where the time of all delivered messages went, by size or job: their mean slowdown, as stacked bars.

        Parameters
        ----------
        by : {"size", "job"}
            What each bar stands for.
        bins : int
            Most bars by size; each has about equally many messages.

        Raises
        ------
        ConfigError
            If no message is delivered, there would be no bar, or the run cannot be repeated.
        """
        from rdmacc.results.explain.drawing import by_size, draw_time_spent

        if by not in ("size", "job"):
            raise unknown("by", by, ("size", "job"))
        if bins < 1:
            raise ConfigError("bins", bins, "at least 1")
        flows = self._result.flows
        flows = flows[flows["fct_ps"].notna()]
        if not len(flows):
            raise ConfigError("flows", 0, "delivered, at least one of them")
        flows = flows.sort_values("size_bytes", kind="stable")
        if by == "size":
            groups, xlabel = by_size(flows["size_bytes"].tolist(), bins), "message size, up to"
        else:
            jobs = self._result.plan.workload.get("job", pd.Series(dtype=str)).reindex(flows["flow"])
            groups, xlabel = jobs.fillna("no job").astype(str).tolist(), "job"
        return draw_time_spent(self._result.explanations(flows["flow"].tolist()), groups, xlabel, ax)

    @property
    def _scheme(self) -> str:
        return self._result.scheme_name

    def _need(self, probes: list[Probe], plot: str, example: str) -> None:
        if not probes:
            names = [probe.name for probe in self._result.watched]
            raise ConfigError(f"probes for plot.{plot}()", names, f"at least one such as {example}")

    def _axes(self, ax: Axes | None, title: str, label: str | None) -> tuple[Axes, str]:
        """Return axes with a title, and the name of this result in their legend.

        Given axes may show several results, so the legend names the scheme instead of the title.
        """
        if ax is None:
            ax = new_axes(None)
            ax.set_title(f"{title} under {self._scheme}")
            return ax, label or ""
        if not any(ax.get_title(loc=place) for place in ("left", "center", "right")):
            ax.set_title(title)
        return ax, label or self._scheme

    def _draw(
        self, ax: Axes | None, probes: Sequence[Probe], scale: float, title: str, ylabel: str, label: str | None
    ) -> Axes:
        result = self._result
        names = self._names(probes)
        with style():
            ax, prefix = self._axes(ax, title, label)
            right = ax.get_xlim()[1] if ax.has_data() else 0.0
            unit_ps, unit = axis_time_unit(ax, result.now_ps)
            for probe, name in zip(probes, names, strict=True):
                on_change = probe.every_ps is None
                time_ps, value = self.curve(probe)
                told_apart = _joined(prefix, name if len(probes) > 1 or not prefix else "")
                draw_trace(ax, time_ps, value, unit_ps=unit_ps, scale=scale, is_step=on_change, label=told_apart)
            ax.set(xlabel=f"time ({unit})", ylabel=ylabel)
            ax.set_xlim(0, max(right, result.now_ps / unit_ps) or 1)  # nothing has run before until=0
            ax.set_ylim(bottom=0, auto=None)  # a result drawn over it later may be higher
            if len(probes) > 1 or prefix:
                ax.legend()
        return ax

    @typed
    def curve(self, probe: Probe) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """Return times and values to draw: the last change holds until the end, a flow's rate while it is active."""
        trace = self._result.samples(probe.name)
        time_ps, value = trace.index.to_numpy(np.int64), trace.to_numpy(np.float64)
        on_change = probe.every_ps is None
        begin_ps, end_ps = 0, self._result.now_ps
        if probe.place == "flow" and _field(probe) == "rate_bps":
            flow = self._result.flows.iloc[probe.at]  # type: ignore[call-overload]
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

    def _names(self, probes: Sequence[Probe]) -> list[str]:
        """Return labels for the probes of a plot: the ends, and the flow's number if flows share both ends."""
        flows = self._result.flows
        names = []
        for probe in probes:
            if probe.place == "port":
                ends: Any = probe.at
                names.append(f"{'link ' if probe.is_rate else ''}{ends[0]} -> {ends[1]}")
            elif probe.place == "flow":
                flow = flows.iloc[probe.at]  # type: ignore[call-overload]
                names.append(f"{flow['src']} -> {flow['dst']}")
            else:
                names.append(str(probe.at))
        return [
            f"{name} (flow {probe.at})" if probe.place == "flow" and names.count(name) > 1 else name
            for name, probe in zip(names, probes, strict=True)
        ]


def _joined(prefix: str, name: str) -> str:
    return ", ".join(part for part in (prefix, name) if part)


def _field(probe: Probe) -> str:
    return probe.field.rpartition(".")[2]
