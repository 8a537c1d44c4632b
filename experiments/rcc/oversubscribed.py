"""RCC, figure 13 on a fabric whose links have half the rate, so that each tier is oversubscribed by 2.

As we read V-A, the paper's fat tree is non-blocking: long queues form only at last hops. RCC's window there is at most
RCC-EWA's, so the PID gains little. Where the fabric is the bottleneck, the PID has work to do. V-A does not say how
many pods the switches form, so the fabric may well be oversubscribed. Loads of 30, 40 and 50% of the hosts' links fill
about 57, 76 and 95% of the ToRs' uplinks. Setup: `rdmacc.experiments.rcc.fat_tree`.
"""

from ..api import *
from .fat_tree import *
from .fct import *
from .setup import *

_NAME = "web_search"
_FABRIC = "200Gbps"
_LOADS = MappingProxyType({"quick": (0.3,), "paper": (0.3, 0.4, 0.5)})
_PARTS = VARIANTS[1:]
_TREES: dict[str, Callable[[], Graph]] = {
    "quick": partial(quick_tree, _FABRIC), "paper": partial(topology.rcc_fat_tree, fabric_rate=_FABRIC),
}  # fmt: skip


class FabricCase(FatTreeCase):
    """A run with slower links between the switches."""

    def tree(self, scale: str) -> Callable[[], Graph]:
        return _TREES[scale]

    def point(self, scale: str, seed: int) -> Point:
        point = super().point(scale, seed)
        return replace(point, name=f"{point.name}, 2:1")


_ALL = tuple(FabricCase(scheme, _NAME, load) for load in _LOADS["paper"] for scheme in VARIANTS)


_WHY = (
    "The PID works, and the more, the higher the load: short flows' slowdown is 27 to 45% lower than under RCC-EWA, and"
    " that of all flows 9 to 15% lower. Explicit windows take 2 to 7% off RCC-PID's average FCT, but nothing off its"
    " slowdowns, as last hops do not fill. Long flows pay for the short queues: the average FCT is 18 to 23% higher"
    " than under RCC-EWA."
)


def _claim(id_: str, words: str, quantity: str) -> Claim:
    return Claim(
        id_, "V-E-2", f"RCC's reduction of {words}", "over RCC-PID; RCC-EWA, 2:1 fabric",
        "of the average FCT: 28%; 19%", by=OURS,
        measure=partial(by_scheme, quantity=quantity, name=_NAME, schemes=_PARTS),
        band=LOWER_ON_AVERAGE, unit="%", expect=Outcome.FAILS, why=_WHY, too_small=FEW_FLOWS, needs=_ALL,
    )  # fmt: skip


@register_experiment
class Oversubscribed(FatTreeFigure):
    name = "rcc.oversubscribed"
    title = "RCC deep dive on an oversubscribed fabric"
    description = "slowdown and FCT, web search, 2:1 fabric: RCC, RCC-PID and RCC-EWA"
    claims = (
        _claim("rcc-o-1a", "the mean slowdown", "all slowdown"),
        _claim("rcc-o-2a", "short flows' mean slowdown", "short slowdown"),
        _claim("rcc-o-3a", "the average FCT", "all mean"),
    )

    def cases(self, scale: str) -> list[FabricCase]:
        return [FabricCase(scheme, _NAME, load) for load in _LOADS[scale] for scheme in VARIANTS]

    def draw(self, rows: pd.DataFrame) -> Figure:
        panels = {
            "all slowdown": ("all flows", "mean slowdown", 1.0),
            "short slowdown": ("flows below 100 KB", "mean slowdown", 1.0),
            "all mean": ("all flows", "average FCT (us)", 1e6),
        }
        loads, width = sorted(rows["load"].unique()), 0.26
        figure, axes = subplots(1, 3, figsize=(7.6 + 1.2 * len(loads), 3.6), layout="constrained")
        for ax, (quantity, (title, label, unit)) in zip(axes, panels.items(), strict=True):
            for place, scheme in enumerate(VARIANTS):
                at = np.arange(len(loads)) + width * (place - 1)
                values = means(rows, quantity, scheme, _NAME)[loads] / unit
                bars = ax.bar(at, values, width, color=COLOURS[LOOKS[scheme][1]], label=NAMES[scheme])
                ax.bar_label(bars, fmt=lambda value: f"{value:.{0 if value >= 100 else 1}f}", fontsize="x-small")
            ax.set_xticks(range(len(loads)), [f"{load:.0%}" for load in loads])
            ax.set(title=title, ylabel=label, xlabel="load of the hosts' links")
            ax.margins(y=0.12)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        figure.suptitle("RCC, figure 13 on a fabric oversubscribed by 2, web search")
        return figure
