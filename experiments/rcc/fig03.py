"""RCC, figure 3: the PID controller, drawn from the implementation and run step by step."""

from rdmacc.experiments.rcc.receiver import RccReceiver
from ..api import *
from .setup import *

FORMS = {"pd": ("without u(t - 1)", "blue"), "accumulating": ("equation (4) as printed", "vermilion")}

SAMPLES_US = np.round(np.concatenate([
    np.linspace(15.2, 13.2, 4), np.linspace(13.2, 15.2, 6), np.full(6, 15.2), np.linspace(15.2, 12.6, 8),
    np.full(12, 12.6),
]), 6)  # fmt: skip
"""One sample per update; the first ones put the flow under PID."""


def _params(form: str) -> Any:
    return PRESET["rcc"].replace(pid_form=form, period="packet", late_samples=1, anti_windup=False).control[0]


def by_handlers(form: str) -> tuple[list[float], list[float]]:
    """Return u and the window at each update, from the handlers."""
    one = RccReceiver(params=_params(form), used=0.5)
    control, windows = [], []
    for sample in SAMPLES_US:
        windows.append(float(one.take(round(sample * 1e6))))
        control.append(float(one.receiver.control))
    return control, windows


def by_equations(form: str) -> tuple[list[float], list[float]]:
    """Return the same from equations (2) to (5), with K_i = 0 and no predecessor of the first error."""
    rcc = _params(form)
    target_s = BASE_RTT_PS * 1e-12 * (1 + rcc.delta / 2)
    u, window, last = 0.0, float(BDP_BYTES), float(SAMPLES_US[0] * 1e-6 - target_s)
    control, windows = [], []
    for sample in SAMPLES_US:
        error = sample * 1e-6 - target_s
        step = PID.kp * error + PID.kd * (error - last)
        u, last = (u + step if form == "accumulating" else step), error
        window = min(window * (1 - np.tanh(u)), float(BDP_BYTES))
        control.append(u)
        windows.append(window)
    return control, windows


def _off_equations(table: pd.DataFrame) -> dict[str, float]:
    names = {"u": "u", "window": "windows (bytes)"}
    return {
        words: max(scalar(table, form, f"largest difference of {'the ' * (name == 'window')}{name}") for form in FORMS)
        for name, words in names.items()
    }


def _memory(table: pd.DataFrame) -> dict[str, Any]:
    u = {form: curve(table, form, "u") for form in FORMS}
    steady = PID.kp * (SAMPLES_US[-1] * 1e-6 - TARGET_RTT_PS * 1e-12)
    held = {words: u[form].iloc[15] for form, (words, _) in FORMS.items()}
    return {"u without memory over K_p e": u["pd"].iloc[-1] / steady, "u after six samples 2 us late": held}


class Figure3(Experiment):
    name = "rcc.fig3"
    seeding = Seeding.NONE
    claims = (
        claim("rcc-f3-1a", measure=_off_equations,
              band=All({"u": AtMost(1e-9), "windows (bytes)": AtMost(len(SAMPLES_US))})),
        claim("rcc-f3-1b", measure=_memory,
              band=All({
                  "u without memory over K_p e": Within(1, share=1e-5),
                  "u after six samples 2 us late": All(Each(MoreThan(0)), Rises()),
              })),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [Point(name=form, labels={"form": form}) for form in FORMS]

    def compute(self, point: Point) -> pd.DataFrame:
        control, windows = by_handlers(point.name)
        expected_u, expected_w = by_equations(point.name)
        numbers = {
            "largest difference of u": (np.abs(np.subtract(control, expected_u)).max(), ""),
            "largest difference of the window": (np.abs(np.subtract(windows, expected_w)).max(), "bytes"),
            "K_p": (PID.kp, "1/s"),
            "K_d": (PID.kd, "1/s"),
            "target": (TARGET_RTT_PS, "ps"),
        }
        updates = pd.Index(np.arange(len(SAMPLES_US)) * BASE_RTT_PS, name="time_ps")
        curves = {
            "sample": (pd.Series(SAMPLES_US * 1e6, updates), "ps"),
            "u": (pd.Series(control, updates), ""),
            "window": (pd.Series(windows, updates), "bytes"),
        }
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        target = scalar(table, "pd", "target")
        update: dict[str, Any] = {"clock": lambda *_: (0, BASE_RTT_PS), "time_unit": "updates", "legend": None}
        panels = (
            Sketch(title="the loop, with the preset's gains", how=_draw_loop),
            Traces("sample", {"pd": ("RTT", "black")}, unit="us", label="RTT", title="delay", levels={"_": target},
                   **update, axes={"ylim": (12, 16)}),
            Traces("u", FORMS, title="control", **update),
            Traces("window", FORMS, unit="KB", title="window", **(update | {"legend": {"fontsize": 8}})),
        )  # fmt: skip
        return self.drawn(panels, table, columns=2, size=(5.5, 3))


def _draw_loop(ax: Axes, table: pd.DataFrame) -> None:
    kp, kd, target = (scalar(table, "pd", name) for name in ("K_p", "K_d", "target"))
    blocks = {
        "rtt": (0.0, 1.0, "RTT(t)", "0.6"),
        "error": (2.4, 1.0, f"e = RTT\n− {target / 1e6:.1f} us\n(3)", COLOURS["sky"]),
        "p": (4.9, 2.0, f"P: {kp:g}/s\n× e", COLOURS["orange"]),
        "d": (4.9, 0.0, f"D: {kd:g}/s\n× Δe", COLOURS["orange"]),
        "u": (7.3, 1.0, "u: sum\n(4)", COLOURS["green"]),
        "w": (9.8, 1.0, "W ← W ×\n(1 − tanh u)\n(5)", COLOURS["blue"]),
    }
    pairs = (("rtt", "error"), ("error", "p"), ("error", "d"), ("p", "u"), ("d", "u"), ("u", "w"))
    draw_blocks(ax, blocks, [(*pair, "") for pair in pairs], (0.95, 0.55))
    ax.plot([9.8, 9.8, 0.0], [0.4, -1.0, -1.0], color="0.3", linewidth=1.2)
    ax.annotate("", (0.0, 0.4), (0.0, -1.0), arrowprops={"arrowstyle": "-|>", "shrinkA": 0, "color": "0.3"})
    ax.text(4.9, -1.4, "network: windows change the queue, and with it the RTT", ha="center", fontsize=8)
    ax.set_ylim(-1.5, 2.7)
