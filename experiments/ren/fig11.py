"""REN, figure 11: figure 3 with one to four bursts. Set-up: `rdmacc.experiments.ren.bursts`."""

from rdmacc.experiments.ren.bursts import Bursts, burst_point, seeds_of
from ..api import *
from .setup import *

_SCHEMES = ("phost", "homa-2-levels", "homa", "ndp", "traditional", "ren", "ren-outstanding", "ren-packet")
_PUBLISHED = ("phost", "homa-2-levels", "ndp", "ren")
_BURSTS = (1, 2, 3, 4)
SLOT_MODEL = {1: 0.0, 2: 0.33, 3: 0.49, 4: 0.59}
"""Loss of utilisation in a model with slots of one packet: arrivals of a slot in random order, 42 packets of buffer,
lost packets are lost to the clock, links without delay."""


def _name(bursts: Hashable) -> str:
    return "1 burst" if bursts == 1 else f"{bursts} bursts"


def _by_bursts(values: pd.Series) -> dict[str, float]:
    return {_name(bursts): value for bursts, value in values.items()}


_GROWS = All(Ordered("<="), {_name(1): AtMost(0.1)} | {_name(bursts): Between(0.15, 0.6) for bursts in _BURSTS[1:]})


def _losses(table: pd.DataFrame) -> pd.DataFrame:
    """Return the mean share of the link lost after the bursts, by number of bursts and scheme."""
    rows = wide(table)
    lost = 1 - rows["throughput after"] / rows["throughput before"]
    return rows.assign(lost=lost).pivot_table(index="bursts", columns="scheme", values="lost")


def _occupancy(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    means = means_over(table, "occupancy", "bursts")
    return {_name(bursts): labelled(row.to_dict()) for bursts, row in means[list(_PUBLISHED)].iterrows()}


def _grows(table: pd.DataFrame) -> dict[str, dict[str, float | dict[str, float]]]:
    losses = _losses(table)[["phost", "homa-2-levels"]]
    return labelled(
        {name: {"lost": _by_bursts(one), "4 bursts less 1": one[4] - one[1]} for name, one in losses.items()}
    )


def _grows_by_grants(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    losses = _losses(table)
    own = losses["traditional"]
    off = float((own - pd.Series(SLOT_MODEL)).abs().max())
    return {"lost": _by_bursts(own), "off the model in slots": off, "REN": losses["ren"].max()}


class Figure11(Bursts):
    name = "ren.fig11"
    claims = (
        claim("ren-f11a-1", measure=_occupancy, band=Each(All(Lowest("REN"), {"REN": AtMost(0.1)})),
              direction=Each(Lowest("REN"))),
        claim("ren-f11b-1", measure=_grows, band=Each(At("lost", Rises())),
              direction=Each(At("4 bursts less 1", MoreThan(0)))),
        claim("ren-f11-a", measure=_grows_by_grants,
              band=All({"lost": _GROWS, "off the model in slots": AtMost(0.1), "REN": AtMost(0.02)})),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        times = "quick" if check_scale(scale) == "quick" else "tenth"
        for name, bursts in product(_SCHEMES, _BURSTS):
            yield from (burst_point(name, bursts, times, one) for one in seeds_of(name, scale, seed))

    def plot(self, table: pd.DataFrame) -> Figure:
        rows = wide(table)
        rows = rows.assign(lost=100 * (1 - rows["throughput after"] / rows["throughput before"]))
        rows = rows.assign(percent=100 * rows["occupancy"])
        figure, axes = subplots(1, 2, figsize=(11, 4.2))
        for ax, quantity in zip(axes, ("percent", "lost"), strict=True):
            for number, name in enumerate(_SCHEMES):
                label, colour, marker = LOOKS[name]
                line = "--" if name in ("homa", "ren-outstanding", "ren-packet", "traditional") else "-"
                found = rows[rows["scheme"] == name].groupby("bursts")[quantity]
                mean, places = found.mean(), found.mean().index + (number - 3.5) * 0.03
                draw_spread(
                    ax, places, mean, found.min(), found.max(), fmt=marker + line, color=colour, capsize=2,
                    linewidth=1.3, markersize=5, label="Homa, 8 levels" if name == "homa" else label,
                )  # fmt: skip
            ax.set(xlabel="bursty flows", xticks=_BURSTS)
        axes[1].plot(
            list(SLOT_MODEL), [100 * value for value in SLOT_MODEL.values()], ":", color="0.2", label="model in slots"
        )
        axes[0].set(
            title="(a) with the bursts", ylabel=f"buffer occupancy (% of {BUFFER_PACKETS:.1f} packets)", ylim=(-3, 105)
        )
        axes[1].set(title="(b) after the bursts", ylabel="loss of link utilisation (%)", ylim=(-3, 105))
        axes[1].legend(fontsize=8, loc="upper left", ncols=2)
        return self.headed(figure, " (mean, least and greatest of the runs)")
