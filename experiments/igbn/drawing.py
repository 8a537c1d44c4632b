"""Curves of throughput over loss, for figures 2, 6 and 7: runs, their mean, the closed form, the paper's values.

The band contains 80% of runs of a hundred messages, by the closed form's rate of timeouts; a band from some twenty
simulated runs would have a random width. The marker is the mean of all simulated runs, its bar the 95% confidence
interval of that mean. The thin line is the closed form of the mean.
"""

from rdmacc.models.go_back_n import GoBackNGoodput
from ..api import *
from .setup import *

_Z95 = 1.96


def closed_form(variant: str, timeout_ps: int, losses: Iterable[float]) -> np.ndarray:
    """Return the closed form of a variant's relative throughput, by loss rate."""
    table = GoBackNGoodput(timeout_ps=timeout_ps).evaluate(list(losses))
    name = "GB0" if variant == "go-back-0" else VARIANTS[variant]
    return table[table["variant"] == name]["goodput"].to_numpy()


def draw_goodput(
    ax: Axes, table: pd.DataFrame, variant: str, timeout_ps: int, colour: str, marker: str, *, shift: float = 0.0
) -> None:
    """Draw one curve, its band of runs and its closed form; markers a bit aside, by a part of their loss rate."""
    here = table[(table["variant"] == variant) & (table["timeout_ps"] == timeout_ps)]
    losses = np.sort(here["loss"].unique())
    runs = [runs_of(table, variant, timeout_ps, loss) for loss in losses]
    means = np.array([mean(some) for some in runs])
    least, most = np.array([interval(some) for some in runs]).T
    draw_spread(
        ax, 100 * losses * (1 + shift), 100 * means, 100 * least, 100 * most, color=colour, marker=marker,
        linestyle="none", markersize=5, capsize=2, linewidth=1.2,
    )  # fmt: skip
    fine = np.geomspace(losses[0], losses[-1], 300)
    low, high = computed_band(variant, timeout_ps, fine, runs[-1]["messages"].mean())
    ax.fill_between(100 * fine, 100 * low, 100 * high, color=colour, alpha=0.15, linewidth=0)
    ax.plot(100 * fine, 100 * closed_form(variant, timeout_ps, fine), color=colour, linewidth=1.0)


def computed_band(variant: str, timeout_ps: int, losses: Iterable[float], messages: float) -> npt.NDArray[np.float64]:
    """Return the 10% and 90% quantiles of a run's relative throughput by loss rate: its timeouts are Poisson.

    The closed form gives the rate of timeouts and the time without them.
    """
    from scipy.stats import poisson  # here, since importing it takes a while

    rows = [
        table[table["variant"] == VARIANTS[variant]]
        for table in (GoBackNGoodput(timeout_ps=time_ps).evaluate(list(losses)) for time_ps in (timeout_ps, 0))
    ]
    mean_ps, quiet_ps = (row["time_ps"].to_numpy() for row in rows)
    alone_ps = mean_ps * rows[0]["goodput"].to_numpy()
    counts = poisson.ppf([[0.9], [0.1]], messages * (mean_ps - quiet_ps) / timeout_ps)
    return np.asarray(messages * alone_ps / (messages * quiet_ps + timeout_ps * counts))


def interval(runs: pd.DataFrame) -> tuple[float, float]:
    """Return the 95% confidence interval of `mean`, by the runs' times; no message is faster than one without loss."""
    times = 1.0 / runs[GOODPUT]
    error = _Z95 * float(times.std(ddof=1)) / np.sqrt(len(times)) if len(times) > 1 else 0.0
    return 1.0 / (times.mean() + error), 1.0 / max(times.mean() - error, 1.0)


def mark_published(ax: Axes, values: Iterable[tuple[float, float]], colour: str = COLOURS["black"]) -> None:
    """Mark the values in the paper's text: (loss rate, relative throughput)."""
    for loss, value in values:
        ax.plot(
            100 * loss, 100 * value, marker="*", markersize=11, color=colour, linestyle="none", zorder=5,
            markeredgecolor="white", markeredgewidth=0.7,
        )  # fmt: skip


def explain(figure: Figure, table: pd.DataFrame, names: Iterable[tuple[str, str, str]]) -> None:
    """Add the key: (name, colour, marker) of each curve, and the meaning of bands, bars, lines and stars."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    messages = table.loc[table["quantity"] == "messages", "value"].max()
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker=marker, linewidth=1.0, label=name) for name, colour, marker in names
    ]
    handles += [
        Line2D([], [], color="0.4", marker="o", linestyle="none", label="mean of all runs, 95% interval"),
        Patch(color="0.4", alpha=0.25, label=f"80% of runs of {messages:.0f} messages (closed form)"),
        Line2D([], [], color="0.4", linewidth=1.0, label="closed form"),
        Line2D([], [], color="0.1", marker="*", markersize=10, linestyle="none", label="value in the paper's text"),
    ]
    columns = 4 if figure.get_figwidth() > 9 else 3
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=8)


def label(ax: Axes, title: str) -> None:
    """Set title, scales and axis labels."""
    log_axes(ax, "x")
    ax.set(title=title, ylim=(0, 103), xlabel="loss rate of packets and replies (%)", ylabel="relative throughput (%)")
    ax.set_xticks([1e-3, 1e-2, 1e-1, 1.0], ["0.001", "0.01", "0.1", "1"])
