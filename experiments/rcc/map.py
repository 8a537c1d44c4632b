"""RCC's control theory against packets: over both gains, the margin as contours, the queue's oscillation as colour."""

from rdmacc.experiments.rcc.fig04 import ACCEPTABLE
from rdmacc.experiments.rcc.loops import FORMS, OSCILLATES, loop_scenario, measure_queue, swing
from rdmacc.models.rcc import RccFluid
from rdmacc.models.rcc_stability import RccLoop, phase_margin
from ..api import *
from .setup import *

_GAINS = {
    "quick": (np.geomspace(1e2, 1e5, 3), np.geomspace(1e3, 1e6, 3)),
    "paper": (np.geomspace(1e2, 1e5, 7), np.geomspace(1e3, 1e6, 7)),
}
"""K_p and K_d, 1/s."""
_LASTS_PS = {"quick": (ms(4), ms(1)), "paper": (ms(10), ms(2))}
"""Duration of packet runs and of the fluid model."""
FULL = 0.97
"""Use of the link below which packets count as unsteady."""
_OWN = "its own margin"
DELAYS = {0.0: "fluid", 1.0: "fluid, delayed"}
PANELS = {
    "fluid": ("(a) fluid model as printed: no delay", 0.0),
    "fluid, delayed": ("(b) fluid model, one RTT of delay", 1.0),
    "accumulating": ("(c) packets, equation (4) as printed", 1.0),
    "pd": ("(d) packets, without u(t − 1)", None),
}
"""Title, and feedback delay in RTTs of the margin drawn on the panel; None: the discrete loop."""


def grid_of(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return a quantity with rows by K_p and columns by K_d."""
    rows = scalars(table)
    return rows[rows["quantity"] == quantity].pivot(index="kp", columns="kd", values="value").sort_index()


def unsteady(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return a mask of gains whose queue oscillates, or whose packets leave the link idle."""
    found = grid_of(table, quantity) >= OSCILLATES
    return found | (grid_of(table, f"{quantity}: use") < FULL) if quantity in FORMS else found


def _right(table: pd.DataFrame, quantity: str, prediction: str) -> float:
    """Return the fraction of the grid on which a prediction is right."""
    oscillates = unsteady(table, quantity).to_numpy()
    called = grid_of(table, prediction).to_numpy()
    is_stable = called < 1 if prediction.startswith("radius") else called > 0
    return float((is_stable != oscillates).mean())


def _fluid(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        name: {
            words: _right(table, name, f"margin, delay {of:g}")
            for words, of in (("the other's margin", 1 - delay), (_OWN, delay))
        }
        for delay, name in DELAYS.items()
    }


def _packets(table: pd.DataFrame) -> Measured:
    plain, delayed = (_right(table, "accumulating", f"margin, delay {delay:g}") for delay in DELAYS)
    discrete, late = (_right(table, "accumulating", f"radius, accumulating, delay {rounds}") for rounds in (0, 1))
    note = f"the discrete loop {discrete:.0%}, one round later {late:.0%}"
    return Measured({"equation (12)": plain, "equation (12) with one RTT of delay": delayed}, note)


def _negative(table: pd.DataFrame) -> Measured:
    margin = grid_of(table, "margin, delay 0").to_numpy()
    oscillates = unsteady(table, "accumulating").to_numpy()
    found = {"margin below 0": oscillates[margin < 0], "margin above 30 degrees": oscillates[margin > ACCEPTABLE]}
    words = ", ".join(f"{each.sum()} of {len(each)}" for each in found.values())
    return Measured({name: each.mean() for name, each in found.items()}, words)


class RccMap(Experiment):
    name = "rcc.map"
    seeding = Seeding.NONE
    claims = (
        claim("rcc-m-1a", measure=_negative,
              band=All({"margin below 0": AtLeast(0.9), "margin above 30 degrees": AtMost(0.1)}), direction=Falls()),
        claim("rcc-m-1b", measure=_packets, band=Rises(), direction=Ordered("<=")),
        claim("rcc-m-2a", measure=_fluid, band=Each(All(Rises(), At(_OWN, AtLeast(0.9)))),
              direction=Each(At(_OWN, AtLeast(0.75)))),
        claim("rcc-m-2b",
              measure=lambda table: {
                  "equation (12)": _right(table, "pd", "margin, delay 0"),
                  "the discrete loop": _right(table, "pd", "radius, pd, delay 0"),
              }, band=All(Rises(), {"the discrete loop": AtLeast(0.9)}), direction=Rises()),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        lasts = dict(zip(("packets_ps", "fluid_ps"), _LASTS_PS[check_scale(scale)]))
        for kp, kd in product(*_GAINS[scale]):
            yield Point(name=f"K_p {kp:.4g}, K_d {kd:.4g}", labels={"kp": float(kp), "kd": float(kd), **lasts})

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        kp, kd = point.labels["kp"], point.labels["kd"]
        reference_s = BASE_RTT_PS * 1e-12 * (1 + DELTA / 2)
        loop = RccLoop(kp=kp, kd=kd, base_rtt_ps=BASE_RTT_PS, delta=DELTA)
        numbers: dict[str, tuple[float, str]] = {}
        for delay, name in DELAYS.items():
            margin = float(phase_margin(kp, kd, reference_s, delay * reference_s))
            numbers[f"margin, delay {delay:g}"] = (margin, "degrees")
            numbers[name] = (fluid_swing(kp, kd, delay, point.labels["fluid_ps"]), "target")
        for form in FORMS:
            for rounds in (0, 1):
                radius = loop.discrete_radius(is_accumulating=form == "accumulating", delay=rounds)
                numbers[f"radius, {form}, delay {rounds}"] = (radius, "")
            scenario = loop_scenario(point.labels["packets_ps"], kp=kp, kd=kd, pid_form=form, period="rtt")
            found = measure_queue(run(scenario))
            numbers[form] = found["swing"]
            numbers |= {f"{form}: {name}": value for name, value in found.items() if name != "swing"}
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        figure, axes = subplots(2, 2, figsize=(11, 8.4), sharex=True, sharey=True, layout="constrained")
        for ax, (quantity, (title, delay)) in zip(axes.flat, PANELS.items(), strict=True):
            mesh = _draw(ax, grid_of(table, quantity), unsteady(table, quantity), delay)
            ax.set_title(title)
        for ax in axes[1]:
            ax.set_xlabel("$K_d$ (1/s)")
        for ax in axes[:, 0]:
            ax.set_ylabel("$K_p$ (1/s)")
        figure.colorbar(
            mesh, ax=axes, shrink=0.8,
            label=f"swing of the queue (targets); × oscillates, above {OSCILLATES:g}, or leaves the link idle",
        )  # fmt: skip
        return self.headed(
            figure,
            "\n(white: 0°, black: 30° of phase margin, with the panel's delay, in (c) one RTT; white in (d): limit of"
            " the discrete loop; dotted: equation (12), 0°)",
            fontsize=11,
        )


def fluid_swing(kp: float, kd: float, delay: float, lasts_ps: int) -> float:
    """Return the swing of the fluid model's queue over the second half of a run."""
    fluid = RccFluid(
        kp=kp, kd=kd, feedback_rtts=delay, base_rtt_ps=BASE_RTT_PS, delta=DELTA, duration_ps=lasts_ps, step_ps=400_000,
        start=1.05, start_first=1.05,
    )  # fmt: skip
    frame = fluid.solve()
    return swing(pd.Series(frame["queue_bytes"].to_numpy(), frame["time_ps"]), lasts_ps / 2, TARGET_QUEUE_BYTES)


def _edges(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    step = np.sqrt(values[1] / values[0])
    return np.append(values / step, values[-1] * step)


def _draw(ax: Axes, grid: pd.DataFrame, is_unsteady: pd.DataFrame, delay: float | None) -> Any:
    """Draw a panel: the swing as colour, margins as contours, the preset's gains as a star."""
    from matplotlib.colors import LogNorm

    kd, kp = grid.columns.to_numpy(np.float64), grid.index.to_numpy(np.float64)
    swings = grid.to_numpy()
    mesh = ax.pcolormesh(_edges(kd), _edges(kp), np.clip(swings, 0.02, 5), cmap="cividis", norm=LogNorm(0.02, 5))
    for colour, is_near in (("0.15", swings >= 0.15), ("white", swings < 0.15)):
        rows, columns = np.nonzero(is_unsteady.to_numpy() & is_near)
        ax.plot(kd[columns], kp[rows], "x", color=colour, markersize=5, markeredgewidth=1)
    fine_kd, fine_kp = (np.geomspace(edges[0], edges[-1], 200) for edges in (_edges(kd), _edges(kp)))
    reference_s = BASE_RTT_PS * 1e-12 * (1 + DELTA / 2)
    x, y = np.meshgrid(fine_kd, fine_kp)
    plain = phase_margin(y, x, reference_s)
    if delay is None:
        a, b = y * reference_s, x * reference_s  # roots of z^2 - (1 - a - b) z - b: a limit where z = -1
        ax.contour(x, y, 2 - a - 2 * b, levels=[0.0], colors="white", linewidths=2)
    else:
        margin = phase_margin(y, x, reference_s, delay * reference_s)
        ax.contour(x, y, margin, levels=[0.0, 30.0], colors=["white", "black"], linewidths=2)
    if delay != 0.0:
        ax.contour(x, y, plain, levels=[0.0], colors="white", linewidths=1.5, linestyles=":")
    ax.plot(PID.kd, PID.kp, "*", color=COLOURS["vermilion"], markersize=14, markeredgecolor="white")
    log_axes(ax, "xy")
    ax.set(xlim=_edges(kd)[[0, -1]], ylim=_edges(kp)[[0, -1]])
    ax.grid(visible=False)
    return mesh
