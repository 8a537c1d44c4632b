"""RCC's PID, read in different ways: equation (4) with and without its memory, and the meaning of "RTT"."""

from rdmacc.experiments.rcc.loops import FORMS, OSCILLATES, loop_scenario, measure_queue
from ..api import *
from .setup import *

_FLOWS = {"quick": (2, 4), "paper": (2, 4, 8, 16)}
_LASTS_PS = {"quick": ms(3), "paper": ms(10)}
PERIODS = {"rtt": "in each RTT", "base-rtt": "in each base RTT"}
_LOOKS = {
    (form, period, DELTA): (f"{FORMS[form]}, {PERIODS[period]}", colour, line)
    for form, period, colour, line in (
        ("accumulating", "rtt", "vermilion", "o-"), ("accumulating", "base-rtt", "orange", "o--"),
        ("pd", "rtt", "sky", "s-"), ("pd", "base-rtt", "blue", "s--"),
    )
}  # fmt: skip


def _point(flows: int, form: str, period: str, delta: float = DELTA) -> str:
    return f"{flows} flows, {form}, {period}" + (", one way" if delta != DELTA else "")


def _worst(rows: pd.DataFrame, form: str) -> dict[str, pd.Series]:
    """Return the worst value of each quantity over 2 to 16 flows, by period."""
    worst = {"Jain": "min", "use": "min", "mean queue": "max", "swing": "max"}
    return {words: chosen(rows, form=form, period=period, delta=DELTA).agg(worst) for period, words in PERIODS.items()}


def _more_flows(rows: pd.DataFrame) -> dict[str, Any]:
    printed = {
        f"{n} flows, {words}": one[["Jain", "use", "mean queue"]]
        for period, words in PERIODS.items()
        for n, one in chosen(rows, form="accumulating", period=period, delta=DELTA)
        .set_index("flows")
        .loc[4:]
        .iterrows()
    }
    return {_PRINTED: printed, _WITHOUT: _worst(rows, "pd")}


def _one_way(rows: pd.DataFrame) -> Measured:
    both = (DELTA, DELTA / 2)
    queue, short = (row_of(rows, _point(2, "accumulating", "rtt", delta))["mean queue in bytes"] for delta in both)
    use = [f"{row_of(rows, _point(2, 'pd', 'base-rtt', delta))['use']:.1%}" for delta in both]
    note = f"{short / 1e3:.1f} of {queue / 1e3:.1f} KB; use of the link without memory {use[1]} instead of {use[0]}"
    return Measured(short / queue, note)


_PRINTED, _WITHOUT = FORMS["accumulating"], FORMS["pd"]
_JAIN, _USE, _QUEUE = 0.95, 0.9, 2.0
_WORKS = All({"Jain": AtLeast(_JAIN), "use": AtLeast(_USE), "mean queue": AtMost(_QUEUE)})
"""Windows become equal, the link is used, and the queue, relative to the target, does not grow."""
_CALM = At("swing", LessThan(OSCILLATES))
_BROKEN = AnyOf({"Jain": LessThan(_JAIN), "use": LessThan(_USE), "mean queue": MoreThan(_QUEUE)})


class PidForms(Experiment):
    name = "rcc.readings"
    seeding = Seeding.NONE
    is_wide = True
    claims = (
        claim("rcc-x-3", measure=lambda rows: {words: _worst(rows, form) for form, words in FORMS.items()},
              band=At(_PRINTED, All(Some(_WORKS, of="the periods"), {PERIODS["rtt"]: _CALM})),
              direction=At(_WITHOUT, Some(_WORKS, of="the periods"))),
        claim("rcc-x-3a", measure=_more_flows, band=All({_PRINTED: Each(_BROKEN), _WITHOUT: Each(_WORKS)}),
              direction=All({_PRINTED: Some(_BROKEN), _WITHOUT: Each(_WORKS)})),
        claim("rcc-x-3b", measure=_one_way, band=Between(0.4, 0.65), direction=LessThan(1)),
    )  # fmt: skip

    panels = tuple(
        Lines(
            quantity=quantity, looks=_LOOKS, by=("form", "period", "delta"), over="flows", log="x", title=title,
            xlabel="flows through the link", axes={"ylim": (0, None)},
        )
        for quantity, title in (
            ("Jain", "Jain's index"), ("use", "use of the link"), ("mean queue", "mean queue (targets)"),
        )
    )  # fmt: skip
    grid = MappingProxyType({"legend": "outside lower center"})
    more = ", gains of the paper"

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        lasts_ps = _LASTS_PS[check_scale(scale)]
        cases = [(n, form, period, DELTA) for n in _FLOWS[scale] for form in FORMS for period in PERIODS]
        cases += [(2, "accumulating", "rtt", DELTA / 2), (2, "pd", "base-rtt", DELTA / 2)]
        for flows, form, period, delta in cases:
            scenario = loop_scenario(lasts_ps, flows=flows, pid_form=form, period=period, delta=delta)
            labels = {"flows": flows, "form": form, "period": period, "delta": delta}
            yield Point(name=_point(flows, form, period, delta), scenario=scenario, labels=labels)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        half = result.now_ps // 2
        flows = [result.samples(f"received_packets {i}") for i in range(point.labels["flows"])]
        got = pd.Series([float(one.iloc[-1] - one[one.index <= half].iloc[-1]) for one in flows]) * PAYLOAD_BYTES
        queue = result.samples("queue s0->s1")
        numbers = measure_queue(result) | {
            "Jain": (jain(got), ""),
            "least share": (got.min() / got.mean(), ""),
            "mean queue in bytes": (queue[queue.index > half].mean(), "bytes"),
        }
        return tidy(point.name, numbers)
