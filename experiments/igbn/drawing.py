"""Curves of throughput over loss, for figures 2, 6 and 7: runs, their mean, the closed form, the paper's values."""

from rdmacc.models.go_back_n import GoBackNGoodput
from ..api import *
from .setup import *

_Z95 = 1.96


def closed_form(variant: str, timeout_ps: int, losses: Iterable[float]) -> np.ndarray:
    """Return the closed form of a variant's relative throughput, by loss rate."""
    table = GoBackNGoodput(timeout_ps=timeout_ps).evaluate(list(losses))
    name = "GB0" if variant == "go-back-0" else VARIANTS[variant]
    return table[table["variant"] == name]["goodput"].to_numpy()


LOSS_AXES = MappingProxyType({
    "ylim": (0, 103), "xlabel": "loss rate of packets and replies (%)", "ylabel": "relative throughput (%)",
    "xticks": [1e-3, 1e-2, 1e-1, 1.0], "xticklabels": ["0.001", "0.01", "0.1", "1"],
})  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Goodput(Panel):
    """Curves by variant and timeout, each with name, colour and marker; stars are values from the paper's text."""

    log: str = "x"
    axes: Mapping[str, Any] = field(default_factory=lambda: LOSS_AXES)
    published: Mapping[tuple[str, int], Iterable[tuple[float, float]]]
    """Loss rate and relative throughput, by variant and timeout."""
    shift: float = 0.0
    """Relative offset between the markers of one loss rate."""

    def fill(self, ax: Axes, table: pd.DataFrame) -> None:
        for place, ((variant, timeout_ps), (name, colour, marker)) in enumerate(self.looks.items()):
            losses = np.sort(table["loss"][having(table, variant=variant, timeout_ps=timeout_ps)].unique())
            runs = [runs_of(table, variant, timeout_ps, loss) for loss in losses]
            ends, shade = np.array([interval(some) for some in runs]).T, COLOURS[colour]
            aside = 1 + self.shift * (place - (len(self.looks) - 1) / 2)
            draw_spread(
                ax, 100 * losses * aside, [100 * mean(some) for some in runs], *(100 * ends), color=shade, label=name,
                marker=marker, linestyle="none", markersize=5, capsize=2, linewidth=1.2,
            )  # fmt: skip
            fine = np.geomspace(losses[0], losses[-1], 300)
            low, high = computed_band(variant, timeout_ps, fine, runs[-1]["messages"].mean())
            ax.fill_between(100 * fine, 100 * low, 100 * high, color=shade, alpha=0.15, linewidth=0)
            ax.plot(100 * fine, 100 * closed_form(variant, timeout_ps, fine), color=shade, linewidth=1.0)
            for loss, value in self.published.get((variant, timeout_ps), ()):
                ax.plot(100 * loss, 100 * value, "*", markersize=11, color=shade, zorder=5, markeredgecolor="white")
        messages = table.loc[table["quantity"] == "messages", "value"].max()
        ax.plot([], [], "o", color="0.4", label="mean of all runs, 95% interval")
        ax.fill_between([], [], color="0.4", alpha=0.25, label=f"80% of runs of {messages:.0f} messages (closed form)")
        ax.plot([], [], color="0.4", linewidth=1.0, label="closed form")
        ax.plot([], [], "*", color="0.1", markersize=10, label="value in the paper's text")


def computed_band(variant: str, timeout_ps: int, losses: Iterable[float], messages: float) -> npt.NDArray[np.float64]:
    """Return the 10% and 90% quantiles of a run's relative throughput by loss rate, for Poisson timeouts.

    The closed form gives the rate of timeouts and the time without them.
    """
    from scipy.stats import poisson  # slow to import

    rows = [
        table[table["variant"] == VARIANTS[variant]]
        for table in (GoBackNGoodput(timeout_ps=time_ps).evaluate(list(losses)) for time_ps in (timeout_ps, 0))
    ]
    mean_ps, quiet_ps = (row["time_ps"].to_numpy() for row in rows)
    alone_ps = mean_ps * rows[0]["goodput"].to_numpy()
    counts = poisson.ppf([[0.9], [0.1]], messages * (mean_ps - quiet_ps) / timeout_ps)
    return np.asarray(messages * alone_ps / (messages * quiet_ps + timeout_ps * counts))


def interval(runs: pd.DataFrame) -> tuple[float, float]:
    """Return the 95% confidence interval of `mean` from the runs' times, which loss cannot shorten."""
    times = 1.0 / runs[GOODPUT]
    error = _Z95 * float(times.std(ddof=1)) / np.sqrt(len(times)) if len(times) > 1 else 0.0
    return 1.0 / (times.mean() + error), 1.0 / max(times.mean() - error, 1.0)
