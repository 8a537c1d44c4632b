"""The explorer's picture: rates, the receiver's queue and completion times, next to model predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdmacc.explorer.setup import Setup
from rdmacc.results.result import Result
from rdmacc.show.style import COLOURS, draw_trace, ecdf, style

_LOOK: dict[str, Any] = {"color": "0.35", "linestyle": "--", "linewidth": 1.2}
_RATE_STYLES = ("-", "--", ":")


def draw(setup: Setup, results: Mapping[str, Result]) -> Any:
    """Draw results of one setup."""
    from matplotlib.figure import Figure

    from rdmacc.models.max_min import MaxMin

    network = setup.build()
    palette = list(COLOURS.values())
    with style():
        figure = Figure(figsize=(11, 5.6), layout="none")  # type: ignore[arg-type]  # the constrained one takes 0.2 s
        axes = figure.subplot_mosaic([["rates", "fct"], ["queue", "fct"]], width_ratios=(1.7, 1))
        axes["queue"].sharex(axes["rates"])
        figure.subplots_adjust(left=0.06, right=0.985, bottom=0.09, top=0.94, wspace=0.16, hspace=0.24)
        for number, (name, result) in enumerate(results.items()):
            colour = palette[number]
            queue, *rates = result.watched
            flows = result.flows
            time_ps, value = result.plot.curve(queue)
            draw_trace(axes["queue"], time_ps, value, scale=1e3, color=colour, label=name)
            for row, (probe, dashes) in enumerate(zip(rates, _RATE_STYLES, strict=False)):
                time_ps, value = result.plot.curve(probe)
                label = f"{name}, {flows['src'].iloc[row]} -> {flows['dst'].iloc[row]}"
                draw_trace(axes["rates"], time_ps, value, scale=1e9, color=colour, linestyle=dashes, label=label)
            fct, fraction = ecdf(result.flows["fct_us"].dropna().to_numpy())
            axes["fct"].plot(fct, fraction, drawstyle="steps-post", color=colour, label=name)
        first = next(iter(results))
        fair = MaxMin(network=network, workload=setup.messages(network), scheme=setup.scheme(first), seed=setup.seed)
        fct, fraction = ecdf(fair.solve()["fct_ps"].to_numpy() / 1e6)
        axes["fct"].plot(fct, fraction, drawstyle="steps-post", label="max-min fair shares", **_LOOK)
        if setup.work != "web search":
            share = setup.rate_gbps / max(1, int((setup.messages(network)["dst"] == _receiver(network)).sum()))
            axes["rates"].axhline(share, label="fair share", **_LOOK)
        axes["rates"].set(title="Sending rates of the first flows", ylabel="rate (Gb/s)")
        node, peer = setup.watched_port(network)
        axes["queue"].set(title=f"Queue from {node} to {peer}", xlabel="time (us)", ylabel="queue (kB)")
        axes["fct"].set(title="Flow completion times", xlabel="FCT (us)", ylabel="fraction of flows", ylim=(0, 1.02))
        axes["fct"].set_xlim(left=0)
        axes["fct"].legend(fontsize=8, loc="lower right")
        for panel in ("rates", "queue"):
            axes[panel].set_ylim(bottom=0)
            axes[panel].legend(fontsize=8, loc="upper right")
        axes["rates"].set_xlim(left=0)
    return figure


def _receiver(network: Any) -> Any:
    from rdmacc.topology import hosts

    return hosts(network)[0]
