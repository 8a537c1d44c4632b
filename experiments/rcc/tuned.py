"""RCC: gains tuned by phase margin for other networks, tested in packets."""

from rdmacc.experiments.rcc.loops import FORMS, OSCILLATES, loop_scenario, swing, target_bytes
from rdmacc.models.rcc_stability import RccLoop, tune
from ..api import *
from .setup import *

RTTS_PS = {"quick": (us(4), BASE_RTT_PS), "paper": (us(4), BASE_RTT_PS, us(40))}
_LASTS_RTTS = {"quick": 250, "paper": 800}
GAINS = {
    "paper": "the paper's, for 12 us",
    "tuned": "39.8° without delay",
    "tuned for delay": "40° with one RTT of delay",
}
_COLOURS = {"paper": "vermilion", "tuned": "orange", "tuned for delay": "blue"}
PAPER_MARGIN, DELAYED_MARGIN = 39.8, 40.0


def gains_of(name: str, base_rtt_ps: int) -> RccLoop:
    """Return the loop with gains of a given kind for a base RTT."""
    rtt = ps(base_rtt_ps)
    if name == "tuned":
        return tune(rtt, margin=PAPER_MARGIN)
    if name == "tuned for delay":
        return tune(rtt, margin=DELAYED_MARGIN, feedback_rtts=1.0)
    return RccLoop(kp=PID.kp, kd=PID.kd, base_rtt_ps=base_rtt_ps)


def _point(gains: str, base_rtt_ps: int, form: str) -> str:
    return f"{gains}, {base_rtt_ps / 1e6:g} us, {form}"


def _swings(rows: pd.DataFrame, gains: str, form: str) -> pd.Series:
    rows = chosen(rows, gains=gains, form=form)
    return rows["swing"].set_axis([f"{rtt / 1e6:g} us" for rtt in rows["base_rtt_ps"]])


def _by_form(rows: pd.DataFrame) -> dict[str, dict[str, pd.Series]]:
    found = {words: _swings(rows, "tuned for delay", form) for form, words in FORMS.items()}
    return {
        "swing": found,
        _RATIO: {words: found[words] / _swings(rows, "tuned", form) for form, words in FORMS.items()},
    }


_CALM = Each(LessThan(OSCILLATES), "base RTT")
_RATIO = "over that without the delay in mind"


class Tuned(Experiment):
    name = "rcc.tuned"
    seeding = Seeding.NONE
    is_wide = True
    grid = MappingProxyType({"size": (4.2, 3.2), "sharey": True, "legend": "outside lower center"})
    more = "; a third flow joins halfway"
    claims = (
        claim("rcc-m-3a",
              measure=lambda rows: {GAINS[one]: _swings(rows, one, "accumulating") for one in ("paper", "tuned")},
              band=All({GAINS["tuned"]: _CALM, GAINS["paper"]: Some(AtLeast(OSCILLATES), of="the base RTTs")}),
              direction=At(GAINS["tuned"], _CALM)),
        claim("rcc-m-3b", measure=_by_form,
              band=All({"swing": Each(_CALM), _RATIO: Each(Each(LessThan(1), "base RTT"))}),
              direction=At("swing", Each(_CALM))),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for rtt_ps, gains, form in product(RTTS_PS[check_scale(scale)], GAINS, FORMS):
            loop, lasts_ps = gains_of(gains, rtt_ps), _LASTS_RTTS[scale] * rtt_ps
            scenario = loop_scenario(
                2 * lasts_ps, flows=3, starts=(0, 0, lasts_ps), base_rtt_ps=rtt_ps, kp=loop.kp, kd=loop.kd,
                pid_form=form, period="rtt",
            )  # fmt: skip
            labels = {"gains": gains, "base_rtt_ps": rtt_ps, "form": form, "kp": loop.kp, "kd": loop.kd}
            yield Point(name=_point(gains, rtt_ps, form), scenario=scenario, labels=labels, cost=rtt_ps)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        joins_ps, target = result.now_ps // 2, target_bytes(result)
        queue = result.samples("queue s0->s1")
        two, three = queue[queue.index <= joins_ps], queue[queue.index > joins_ps]
        loop = gains_of(point.labels["gains"], point.labels["base_rtt_ps"])
        delayed = loop.replace(feedback_rtts=1.0)
        arrived_ps = joins_ps + point.labels["base_rtt_ps"]  # when the third flow's first window is in the queue
        back = first_within(three, arrived_ps, target, 1.0) - joins_ps
        numbers = {
            "swing": (swing(two, joins_ps / 2, target), "target"),
            "mean queue": (two[two.index > joins_ps / 2].mean() / target, "target"),
            "settling": (back, "ps"),
            "target": (target, "bytes"),
            "margin": (loop.margins().phase_deg, "degrees"),
            "margin with delay": (delayed.margins().phase_deg, "degrees"),
        }
        step = max(1, len(queue) // 600)
        shown = queue.iloc[::step] / target
        return tidy(point.name, numbers, {"queue": (shown, "target")})

    def plot(self, table: pd.DataFrame) -> Figure:
        rtts = [int(rtt) for rtt in sorted(table["base_rtt_ps"].unique())]
        queue = partial(Traces, "queue", time_unit="ms", width=0.8, label="queue (targets)", levels={"_": 1.0})
        panels = []
        for form, rtt in product(FORMS, rtts):
            points = {gains: _point(gains, rtt, form) for gains in GAINS}
            margins = ", ".join(f"{scalar(table, one, 'margin with delay'):.0f}°" for one in points.values())
            title = f"{rtt / 1e6:g} us, {FORMS[form]}\nmargins with one RTT of delay: {margins}"
            looks = {one: (GAINS[gains], _COLOURS[gains]) for gains, one in points.items()}
            panels.append(queue(looks, title=title, axes={"ylim": (0, 8)}))
        return self.drawn(panels, table, columns=len(rtts))
