"""The explorer's pictures: goodput, the longest queue and completion times, next to model predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rdmacc.explorer.setup import Setup
from rdmacc.results.explain import Explanation
from rdmacc.results.explain.drawing import draw_explanation
from rdmacc.results.result import Result
from rdmacc.show.style import COLOURS, draw_trace, ecdf, style, time_unit

_LOOK: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.2}
_FLOW_STYLES = ("-", "--", ":")


def draw(setup: Setup, results: Mapping[str, Result], figures: dict[str, Any] | None = None) -> dict[str, Any]:
    """Draw results of one setup: three figures by name, so that a page can put them side by side or in a column.

    Given `figures` are redrawn with their ticks and legends, which saves a third of the time.
    """
    unit_ps, unit = time_unit(max(result.now_ps for result in results.values()))
    fct_unit_ps, fct_unit = time_unit(max(float(result.flows["fct_ps"].max()) for result in results.values()))
    with style():
        figures = figures or {name: _empty() for name in ("goodput", "queue", "fct")}
        axes = {name: figure.axes[0] for name, figure in figures.items()}
        for ax in axes.values():
            for line in [*ax.lines]:
                line.remove()
            ax.relim()
            ax.autoscale()
        is_short = True
        for colour, (name, result) in zip(COLOURS.values(), results.items()):
            queue, *rates = result.watched
            _goodput(axes["goodput"], setup, result, unit_ps, colour, name)
            x, y = result.plot.curve(queue)
            draw_trace(axes["queue"], x, y, unit_ps=unit_ps, scale=1e3, color=colour, label=name)
            is_short = is_short and max(y, default=0) <= result.plan.scheme.wire_bytes
            fct, fraction = ecdf(result.flows["fct_ps"].dropna().to_numpy(np.float64))
            axes["fct"].plot(fct / fct_unit_ps, fraction, drawstyle="steps-post", color=colour, label=name)
        flows = next(iter(results.values())).flows
        if setup.is_of_few:
            for row, dashes in enumerate(_FLOW_STYLES[: len(rates)]):
                label = f"{flows['src'].iloc[row]} to {flows['dst'].iloc[row]}"
                axes["goodput"].plot([], [], color="0.35", linestyle=dashes, label=label)
            share = setup.fair_share_bps() / 1e9
            axes["goodput"].axhline(share, label="fair share", **{**_LOOK, "linestyle": "-."})
            axes["goodput"].set(ylabel="goodput (Gb/s)")
            axes["goodput"].set_title("Goodput of the first flows", y=1.0)
        else:
            axes["goodput"].set(ylabel="throughput (Gb/s)")
            axes["goodput"].set_title("Throughput into all hosts together", y=1.0)
        fct, fraction = ecdf(setup.fair_fct_ps)
        axes["fct"].plot(fct / fct_unit_ps, fraction, drawstyle="steps-post", label="max-min fair shares", **_LOOK)
        name = queue.name.removeprefix("queue ")
        axes["queue"].set(ylabel="queue (kB)")
        about = "the longest: at most a packet" if is_short else "the longest"
        axes["queue"].set_title(f"Queue at {name}, {about}", y=1.0)
        axes["fct"].set(xlabel=f"FCT ({fct_unit})", ylabel="fraction of flows", ylim=(0, 1.02))
        axes["fct"].set_title("Flow completion times", y=1.0)
        for name, ax in axes.items():
            ax.set_xlim(0, 1.03 * ax.dataLim.x1)
            if name != "fct":
                ax.set_xlabel(f"time ({unit})")
                ax.set_ylim(0, max(1.0, ax.get_ylim()[1]))
            handles, labels = ax.get_legend_handles_labels()
            kept = figures[name].legends
            if kept and [text.get_text() for text in kept[0].get_texts()] == labels:
                continue
            for one in [*kept]:
                one.remove()
            columns = 4 if len(labels) in (4, 7, 8) else 3
            figures[name].legend(
                handles, labels, loc="upper center", bbox_to_anchor=(0.5, 0.175), ncols=columns, fontsize=9
            )
    return figures


def _empty() -> Any:
    """Return a figure of empty axes; titles and labels have fixed places, which saves the layout computation."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 3.9), layout="none")  # type: ignore[arg-type]
    ax = figure.add_axes((0.12, 0.27, 0.85, 0.63))
    ax.xaxis.set_label_coords(0.5, -0.1)
    ax.yaxis.set_label_coords(-0.1, 0.5)
    return figure


def draw_message(explained: Explanation, scheme: str) -> Any:
    """Draw where a message's time went, narrow enough for a telephone."""
    from matplotlib.figure import Figure

    ports = explained.events["place"].replace("", None).nunique()
    with style():
        figure = Figure(figsize=(5.4, 2.1 + 0.28 * ports), layout="none")  # type: ignore[arg-type]
        below = 1.15 / figure.get_figheight()
        ax = figure.add_axes((0.2, below, 0.77, 1 - below - 0.3 / figure.get_figheight()))
        draw_explanation(explained, ax)
        ax.set_title(f"Message {explained.flow} under {scheme}")
        handles, labels = ax.get_legend_handles_labels()
        if (beside := ax.get_legend()) is not None:
            beside.remove()
        figure.legend(handles, labels, loc="lower center", ncols=3, fontsize=9)
    return figure


def _goodput(ax: Any, setup: Setup, result: Result, unit_ps: float, colour: str, name: str) -> None:
    """Draw the goodput of each of the first flows, or of all hosts together."""
    queue, *rates = (probe.name for probe in result.watched)
    if setup.is_of_few:
        curves = [result.samples(rate) for rate in rates]
    else:  # all rates are sampled at the same times
        samples = result.probes[result.probes["probe"] != queue]
        curves = [samples.groupby("time_ps")["value"].sum()]
    for curve, dashes in zip(curves, _FLOW_STYLES, strict=False):
        x = np.r_[0, curve.index.to_numpy()]  # a step begins where its period does
        draw_trace(ax, x, np.r_[curve.to_numpy(), 0], unit_ps=unit_ps, scale=1e9, color=colour, linestyle=dashes)
    ax.plot([], [], color=colour, label=name)
