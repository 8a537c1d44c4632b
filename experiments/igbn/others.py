"""Improved Go-Back-N, sections II-A and V: go-back-0 and IRN, which the paper describes without a figure."""

from rdmacc.experiments.igbn.drawing import LOSS_AXES, closed_form
from rdmacc.experiments.igbn.fig06 import LOOKS
from ..api import *
from .setup import *

_ONE_PERCENT = 1e-2


def _above_computed(table: pd.DataFrame) -> Measured:
    means = {loss: mean_at(table, "go-back-0", LONG, loss) for loss in (1e-5, 1e-4, 5e-4)}
    gaps = {f"p = {loss:g}": value - closed_form("go-back-0", LONG, [loss])[0] for loss, value in means.items()}
    return Measured(gaps, "mean " + ", ".join(show(value, "%") for value in means.values()))


def _selective(table: pd.DataFrame) -> dict[str, float]:
    improved = closed_form(IGBN, LONG, [_ONE_PERCENT])[0]
    return {"IRN": mean_at(table, "irn", LONG, _ONE_PERCENT), "IGBN, closed form": improved}


class OtherRecoveries(LossSweep):
    name = "igbn.others"
    claims = (
        claim("igbn-x-2a", measure=_above_computed, band=Each(Within(0, by=0.03), of="loss rate")),
        claim("igbn-x-3a", measure=lambda table: rate_of_timeouts(runs_of(table, "irn", LONG, _ONE_PERCENT)),
              band=MoreThan(0.1)),
        claim("igbn-x-3b", measure=_selective, band=Highest("IRN")),
    )  # fmt: skip

    def settings(self, scale: str) -> list[Setting]:
        every = (1e-5, 1e-4, 5e-4, 1e-3, 1e-2) if scale == "quick" else LOSSES
        # At higher rates, a whole message hardly ever gets through.
        whole = [Setting("go-back-0", LONG, loss) for loss in every if loss <= 1e-3]
        return whole + [Setting("irn", LONG, loss) for loss in every]

    def runs(self, setting: Setting, scale: str) -> int:
        return 1 if scale == "quick" else 6

    def scheme(self, setting: Setting) -> Scheme:
        if setting.variant == "irn":
            return preset("irn-2018")["irn"].replace(payload_bytes=preset("igbn-2019")["go-back-n"].payload_bytes)
        return super().scheme(setting)

    def plot(self, table: pd.DataFrame) -> Figure:
        figure, ax = subplots(figsize=(7.5, 4.4))
        fine = np.geomspace(1e-5, 1e-2, 80)
        for variant in (*VARIANTS, "go-back-0"):
            colour = COLOURS[LOOKS[variant][0] if variant in LOOKS else "purple"]
            ax.plot(
                100 * fine, 100 * closed_form(variant, LONG, fine), color=colour, linewidth=1.0,
                label=f"{TITLES.get(variant, 'Go-Back-0')} (closed form)",
            )  # fmt: skip
        for variant, name, colour, marker in (("go-back-0", "Go-Back-0", "purple", "v"), ("irn", "IRN", "black", "P")):
            losses = np.sort(table.loc[table["variant"] == variant, "loss"].unique())
            runs = [runs_of(table, variant, LONG, loss)[GOODPUT] for loss in losses]
            means = np.array([1.0 / (1.0 / one).mean() for one in runs])
            least, most = [100 * one.min() for one in runs], [100 * one.max() for one in runs]
            draw_spread(
                ax, 100 * losses, 100 * means, least, most, color=COLOURS[colour], marker=marker, capsize=2,
                linewidth=1.2, linestyle="--" if variant == "irn" else "none", label=f"{name} (simulated, all runs)",
            )  # fmt: skip
        log_axes(ax, "x")
        ax.set(title=f"IGBN, sections II-A and V: {self.title}", **LOSS_AXES)
        ax.legend(loc="lower left", fontsize=8)
        return figure
