"""Improved Go-Back-N, figure 3: what causes go-back-N's timeouts."""

from rdmacc.protocols.go_back_n import TIMEOUT_REASONS
from ..api import *
from .setup import *

PUBLISHED = {"timeouts_nak": 32, "timeouts_twice": 19, "timeouts_last_packet": 4, "timeouts_last_ack": 1}
"""Figure 3's percentages, 57.1, 33.9, 7.1 and 1.8, are these of 56 timeouts in 100 messages."""

_REASONS = {
    "timeouts_nak": "reason 3:\na NAK is lost",
    "timeouts_twice": "reason 4: the same\npacket is lost twice",
    "timeouts_last_packet": "reason 1: the last\npacket is lost",
    "timeouts_last_ack": "reason 2: the\nlast ACK is lost",
}


def shares(table: pd.DataFrame) -> pd.Series:
    """Return each reason's share of all timeouts."""
    totals = go_back_n_runs(table, 1e-2)[list(TIMEOUT_REASONS)].sum()
    return totals / totals.sum()


def _each(table: pd.DataFrame) -> dict[str, float]:
    share = shares(table)
    return {_REASONS[name].partition(":")[0]: share[name] for name in PUBLISHED}


def _per_message(table: pd.DataFrame) -> Measured:
    runs = go_back_n_runs(table, 1e-2)
    return Measured(rate_of_timeouts(runs), f"{runs['timeouts'].sum():.0f} timeouts")


class Figure3(LossSweep):
    name = "igbn.fig3"
    points_of = LossSweep
    claims = (
        claim("igbn-f3-1", measure=_each,
              band=All(
                  {"reason 3": Part(0.571), "reason 4": Part(0.339), "reason 1": Part(0.071), "reason 2": Part(0.018)},
                  Highest("reason 3"),
              )),
        claim("igbn-f3-2", measure=lambda table: shares(table)[["timeouts_nak", "timeouts_twice"]].sum(),
              band=Part(0.9)),
        claim("igbn-f3-3", measure=_per_message, band=Between(0.4, 0.65)),
        claim("igbn-f3-3a", measure=lambda table: go_back_n_runs(table, 1e-2)["timeouts_unasked"].sum(),
              band=Exactly(0)),
    )  # fmt: skip

    def settings(self, scale: str) -> list[Setting]:
        wanted = (GBN, ACK_TIMEOUT_PS, 1e-2)
        return [one for one in super().settings(scale) if (one.variant, one.timeout_ps, one.loss) == wanted]

    def plot(self, table: pd.DataFrame) -> Figure:
        table = first_reading(table)
        runs = go_back_n_runs(table, 1e-2)
        by_run = runs[list(PUBLISHED)].div(runs[list(PUBLISHED)].sum(axis=1), axis=0)
        low, high = np.percentile(by_run, [5, 95], axis=0)
        count = int(runs["timeouts"].sum())
        ours = shares(table)[list(PUBLISHED)].to_numpy()
        theirs = np.array(list(PUBLISHED.values())) / sum(PUBLISHED.values())
        x = np.arange(len(PUBLISHED))
        figure, ax = subplots(figsize=(7.5, 4.2))
        ax.bar(x - 0.2, 100 * theirs, 0.36, color=COLOURS["orange"], label="paper: 56 timeouts of 100 messages")
        ax.bar(x + 0.2, 100 * ours, 0.36, color=COLOURS["blue"], label=f"here: {count} timeouts")
        draw_spread(
            ax, x + 0.2, 100 * ours, 100 * low, 100 * high, linestyle="none", color="0.2", capsize=4,
            label=f"90% of {len(runs)} runs, each of {runs['messages'].iloc[0]:.0f} messages",
        )  # fmt: skip
        for place, values in ((x - 0.2, theirs), (x + 0.2, ours)):
            for at, value in zip(place, values, strict=True):
                ax.text(at - 0.03, 100 * value + 0.8, f"{100 * value:.1f}", ha="right", fontsize=8)
        ax.set(title=f"IGBN, figure 3: {self.title}, loss rate 1%", ylabel="share of timeouts (%)", ylim=(0, None))
        ax.set_xticks(x, [_REASONS[name] for name in PUBLISHED])
        ax.grid(visible=False, axis="x")
        ax.legend()
        return figure
