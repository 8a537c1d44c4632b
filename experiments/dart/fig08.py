"""Dart, figure 8: the parts of the convergence time. Setup: `rdmacc.experiments.dart.testbed`."""

from rdmacc.experiments.dart.testbed import epoch_point, measure_epochs, parts_of_epochs
from ..api import *


def _ratio(table: pd.DataFrame) -> float:
    means = parts_of_epochs(table, "epochs").mean()
    return float(means["t_f'"] / means["t_f"])


class Figure8(Experiment):
    name = "dart.fig8"
    claims = (
        claim("dart-f8-1", measure=_ratio, band=Between(1, 1.1), direction=AtLeast(1)),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [epoch_point("epochs", 16 if check_scale(scale) == "quick" else 1024, True, seed)]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_epochs(point, result, result.plan.seed)

    def plot(self, table: pd.DataFrame) -> Figure:
        means = parts_of_epochs(table, "epochs").mean() / 1e6
        heights = {"LFS": 2.0, "SFS": 1.0, "R": 0.0}
        figure, ax = subplots(figsize=(8, 3.4))
        for name, height in heights.items():
            ax.axhline(height, color="0.8", linewidth=1, zorder=0)
            ax.text(-0.6, height, name, ha="right", va="center")
        times = np.cumsum([0, means["t_f"], means["t_cpu"], means["t_b"], means["t_f'"]])
        legs = (
            ("t_f", "SFS", "R", "blue"), ("t_cpu", "R", "R", "orange"), ("t_b", "R", "LFS", "green"),
            ("t_f'", "LFS", "R", "vermilion"),
        )  # fmt: skip
        for (name, start, end, colour), begin, until in zip(legs, times[:-1], times[1:], strict=True):
            ends = ((until, heights[end]), (begin, heights[start]))
            arrow = {"arrowstyle": "-|>", "color": COLOURS[colour], "linewidth": 2}
            ax.annotate("", *ends, arrowprops=arrow)
            middle = ((begin + until) / 2, (heights[start] + heights[end]) / 2)
            ax.annotate(
                f"${name}$ {means[name]:.1f} us".replace("_cpu", "_{cpu}"), middle, xytext=(0, 7),
                textcoords="offset points", color=COLOURS[colour], fontsize=10, ha="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )  # fmt: skip
        spans = (("convergence", 0, 3, 2.55), ("as measured, at R", 1, 4, -0.55))
        for label, first, last, height in spans:
            ends = ((times[last], height), (times[first], height))
            ax.annotate("", *ends, arrowprops={"arrowstyle": "<->", "color": "0.3"})
            ax.text(
                (times[first] + times[last]) / 2, height + 0.08, f"{label}: {times[last] - times[first]:.1f} us",
                ha="center", fontsize=9,
            )  # fmt: skip
        ax.set(title=f"Dart, figure 8: {self.title}", xlabel="time since SFS starts (us), means over all epochs")
        ax.set(ylim=(-0.8, 2.9), yticks=[], xlim=(-2.5, times[-1] + 1))
        ax.grid(visible=False)
        return figure
