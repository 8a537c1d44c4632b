"""RCC: where the PID starts to oscillate in packets, and why before its discrete loop."""

from rdmacc.experiments.rcc.loops import FORMS, OSCILLATES, loop_scenario, measure_queue, recursion
from rdmacc.models.rcc_stability import RccLoop
from ..api import *
from .setup import *

KP = 1e4
_KD = {"quick": (5e4, 1e5, 1.2e5, 1.5e5), "paper": tuple(1e4 * step for step in range(4, 17))}
_LASTS_PS = {"quick": ms(4), "paper": ms(20)}
NOISE_S = WIRE_BYTES * 8 / LINE_BPS / 2
"""Half of a packet's time on the link."""
CURVES = {
    "packets": ("packets", "blue", "o-"),
    "at once": ("recursion (2) to (5)", "orange", "s--"),
    "increases late": ("increases a round late, samples ± ½ packet", "vermilion", "^:"),
}


def _swings(rows: pd.DataFrame, form: str, quantity: str) -> pd.Series:
    return chosen(rows, form=form).set_index("kd")[quantity].sort_index()


def limit_of(rows: pd.DataFrame, form: str, quantity: str) -> float:
    """Return the largest K_d of the sweep without oscillation up to it; 0 if the smallest oscillates."""
    swings = _swings(rows, form, quantity)
    calm = (swings < OSCILLATES).to_numpy()
    count = len(calm) if calm.all() else int(calm.argmin())
    return float(swings.index[count - 1]) if count else 0.0


def linear_limit(form: str) -> float:
    """Return the largest K_d with all roots of the discrete loop inside the unit circle."""
    from scipy.optimize import brentq  # slow to import

    def beyond(kd: float) -> float:
        loop = RccLoop(kp=KP, kd=kd, base_rtt_ps=BASE_RTT_PS, delta=DELTA)
        return loop.discrete_radius(is_accumulating=form == "accumulating") - 1

    return float(brentq(beyond, 1e4, 3e5))


def _over_linear(rows: pd.DataFrame, form: str) -> float:
    return limit_of(rows, form, "packets") / linear_limit(form)


def _earlier(rows: pd.DataFrame) -> Measured:
    found = {name: limit_of(rows, "accumulating", name) for name in CURVES}
    late, packets = found["increases late"], found["packets"]
    numbers = {_LINEAR: _over_linear(rows, "accumulating"), _LATE: late / packets if packets else math.inf}
    words = "; ".join(f"{CURVES[name][0]} up to {kd:.3g}" for name, kd in found.items())
    return Measured(numbers, f"{words}; roots {linear_limit('accumulating'):.3g}")


def _draw_roots(form: str, ax: Axes, _: pd.DataFrame) -> None:
    ax.axvline(linear_limit(form), color="0.3", linewidth=1, linestyle="--")


_LINEAR = "packets over the limit of the roots"
_LATE = "recursion with late increases over packets"


class Limits(Experiment):
    name = "rcc.limits"
    seeding = Seeding.NONE
    is_wide = True
    claims = (
        claim("rcc-m-4a", measure=_earlier, band=All({_LINEAR: LessThan(0.9), _LATE: Within(1, by=0.2)}),
              direction=At(_LINEAR, LessThan(1))),
        claim("rcc-m-4b", measure=lambda rows: _over_linear(rows, "pd"), band=Within(1, by=0.2)),
        claim("rcc-m-4c",
              measure=lambda rows: {words: _swings(rows, form, "packets")[PID.kd] for form, words in FORMS.items()},
              band=All({FORMS["accumulating"]: LessThan(OSCILLATES), FORMS["pd"]: AtLeast(OSCILLATES)})),
    )  # fmt: skip
    panels = tuple(
        Lines(
            looks=CURVES, by="quantity", where={"form": form}, over="kd", title=title, xlabel="$K_d$ (1/s)",
            label="swing of the queue (targets)", levels={"_": OSCILLATES}, axes={"ylim": (0, None)},
            also=partial(_draw_roots, form),
        )
        for form, title in FORMS.items()
    )  # fmt: skip
    grid = MappingProxyType({"sharey": True, "legend": "outside lower center"})
    more = f", $K_p$ = {KP:g}/s (dotted: counts as oscillation; dashed: the roots)"

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        lasts_ps = _LASTS_PS[check_scale(scale)]
        for form, kd in product(FORMS, _KD[scale]):
            scenario = loop_scenario(lasts_ps, kp=KP, kd=kd, pid_form=form, period="rtt")
            yield Point(name=f"{form}, K_d {kd:g}", scenario=scenario, labels={"form": form, "kd": float(kd)})

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        kd, is_accumulating = point.labels["kd"], point.labels["form"] == "accumulating"
        rtt_s = int(result.plan.qp_base_rtt_ps[0]) * 1e-12
        found = measure_queue(result)
        numbers = {"packets": found["swing"], "mean queue": found["mean queue"], "use": found["use"]}
        for name, late, noise_s in (("at once", False, 0.0), ("increases late", True, NOISE_S)):
            swing = recursion(
                KP, kd, is_accumulating=is_accumulating, increases_late=late, noise_s=noise_s, rtt_s=rtt_s
            )
            numbers[name] = (swing, "target")
        return tidy(point.name, numbers)
