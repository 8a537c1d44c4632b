"""RCC, figure 4: the phase margin over both gains, by equation (12)."""

from rdmacc.models.rcc_stability import RccLoop, RccMarginSurface, draw_margins, share_above
from ..api import *
from .setup import *

BOX = {"kp_low": 1.0, "kp_high": 1e4, "kd_low": 1e3, "kd_high": 1e5}
"""K_p and K_d that "ensure an acceptable phase margin above 30 degrees" (IV)."""
_WIDE = {"kp_low": 1.0, "kp_high": 1e6, "kd_low": 1e2, "kd_high": 1e6}
_GRIDS = {"box": (BOX, 0.0), "box, with delay": (BOX, 1.0), "wide": (_WIDE, 0.0)}
"""Gains and feedback delay in RTTs, by point."""
ACCEPTABLE = 30.0


def surface_of(table: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return the grid of a point: `kp, kd, phase_margin_deg`."""
    rows = table[(table["point"] == point) & (table["quantity"] == "phase margin")]
    return rows[["kp", "kd"]].assign(phase_margin_deg=rows["value"]).reset_index(drop=True)


def _default(table: pd.DataFrame) -> Measured:
    margin, delayed = (scalar(table, point, "margin of the default") for point in ("box", "box, with delay"))
    return Measured(margin, f"{delayed:.1f} degrees with one RTT of feedback delay")


def _least(table: pd.DataFrame) -> Measured:
    surface = surface_of(table, "box")
    kp, kd, margin = surface.to_numpy()[int(surface["phase_margin_deg"].to_numpy().argmin())]
    share = share_above(surface, ACCEPTABLE)
    return Measured(margin, f"at K_p = {kp:g}, K_d = {kd:g}; above {ACCEPTABLE:g} degrees on {share:.1%} of the box")


def _margin(table: pd.DataFrame, kp: float, kd: float) -> float:
    surface = surface_of(table, "box")
    nearest = (np.log(surface["kp"] / kp).abs() + np.log(surface["kd"] / kd).abs()).idxmin()
    return float(surface["phase_margin_deg"][nearest])


def _wrong_signs(table: pd.DataFrame) -> Measured:
    surface = surface_of(table, "wide")
    ratio = surface["kp"] / (2 * surface["kd"])
    wrong = ((surface["phase_margin_deg"] < 0) != (ratio > 1))[abs(ratio - 1) > 1e-9]
    return Measured(wrong.sum(), f"of {len(wrong)}, {(ratio > 1).sum()} of them with K_p > 2 K_d")


def _acceptable(table: pd.DataFrame) -> dict[str, float]:
    points = {"without delay": "box", "with one RTT of delay": "box, with delay"}
    return {words: share_above(surface_of(table, point), ACCEPTABLE) for words, point in points.items()}


class Figure4(Experiment):
    name = "rcc.fig4"
    seeding = Seeding.NONE
    claims = (
        claim("rcc-f4-1", measure=_default, band=MoreThan(ACCEPTABLE)),
        claim("rcc-f4-2", measure=_least, band=MoreThan(ACCEPTABLE)),
        claim("rcc-f4-3",
              measure=lambda table: {
                  f"K_d = {kd:g}": {f"K_p = K_d / {ratio}": _margin(table, kd / ratio, kd) for ratio in (1, 10, 100)}
                  for kd in (1e3, 1e4)
              }, band=Each(Rises(), "K_d")),
        claim("rcc-f4-4",
              measure=lambda table: {
                  f"K_p = {kp:g}, K_d = {kd:g}": 1 - _margin(table, 10 * kp, 10 * kd) / _margin(table, kp, kd)
                  for kd in (1e3, 1e4)
                  for kp in (kd / 100, kd / 10)
              }, band=Each(AtLeast(0.1)), direction=Each(MoreThan(0))),
        claim("rcc-f4-5", measure=lambda table: scalar(table, "box", "R_ref"), band=Exactly(13.2e6)),
        claim("rcc-f4-6", measure=_wrong_signs, band=Exactly(0)),
        claim("rcc-f4-6a", measure=_acceptable, band=Falls()),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        steps = 41 if check_scale(scale) == "quick" else 101
        return [Point(name=name, labels={"steps": steps}) for name in _GRIDS]

    def compute(self, point: Point) -> pd.DataFrame:
        gains, delay = _GRIDS[point.name]
        surface = RccMarginSurface(
            base_rtt_ps=BASE_RTT_PS, delta=DELTA, feedback_rtts=delay, points=point.labels["steps"], **gains
        )
        loop = RccLoop(kp=PID.kp, kd=PID.kd, base_rtt_ps=BASE_RTT_PS, delta=DELTA, feedback_rtts=delay)
        numbers = {
            "margin of the default": (loop.margins().phase_deg, "degrees"),
            "R_ref": (round(loop.reference_s * 1e12), "ps"),
        }
        grid = surface.evaluate()
        rows = grid[["kp", "kd"]].assign(value=grid["phase_margin_deg"], point=point.name, quantity="phase margin",
                                         time_ps=pd.NA, unit="degrees")  # fmt: skip
        return pd.concat([tidy(point.name, numbers), typed(rows[[*TABLE_COLUMNS, "kp", "kd"]])], ignore_index=True)

    def plot(self, table: pd.DataFrame) -> Figure:
        titles = {"box": "as in the paper: no feedback delay", "box, with delay": "with one RTT of feedback delay"}
        figure, axes = subplots(1, 2, figsize=(11, 4.2), sharey=True)
        for ax, (point, title) in zip(axes, titles.items(), strict=True):
            grid = surface_of(table, point).pivot(index="kp", columns="kd", values="phase_margin_deg")
            filled = draw_margins(ax, grid.index.to_numpy(), grid.columns.to_numpy(), grid.to_numpy(), -30.0)
            ax.plot(PID.kd, PID.kp, "*", color=COLOURS["vermilion"], markersize=14, clip_on=False)
            value = scalar(table, point, "margin of the default")
            ax.annotate(
                f"default: {value:.1f}°", (PID.kd, PID.kp), (-12, -14), textcoords="offset points", ha="right",
                fontsize=9, bbox={"facecolor": "white", "edgecolor": "none", "pad": 2},
            )  # fmt: skip
            share = share_above(surface_of(table, point), ACCEPTABLE)
            log_axes(ax, "xy")
            ax.set(xlabel="$K_d$ (1/s)", title=f"{title}: > 30° on {share:.1%}")
        axes[0].set_ylabel("$K_p$ (1/s)")
        figure.colorbar(filled, ax=axes, label="phase margin (°)")
        title = self.title.replace("K_p", "$K_p$").replace("K_d", "$K_d$")
        figure.suptitle(f"RCC, figure 4: {title}", x=0.01, ha="left", fontsize=12)
        return figure
