"""RCC, figure 14: the contributions of explicit windows and PID, with two bottlenecks."""

from ..api import *
from .multi_bottleneck import *
from .setup import *

SCHEMES = ("rcc-pid", "rcc-ewa", "rcc")


def _run(rows: pd.DataFrame, scheme: str) -> pd.Series:
    return chosen(rows, scheme=scheme).iloc[0]


def _rates(rows: pd.DataFrame, scheme: str, phase: int) -> list[float]:
    return [_run(rows, scheme)[f"goodput of flow {flow}, phase {phase}"] for flow in range(1, phase + 1)]


def _settling(rows: pd.DataFrame, scheme: str) -> pd.Series:
    """Return the RTTs until all paces are within 5% of their later means, after flows 2 and 3 join."""
    one = _run(rows, scheme)
    times = {f"after flow {phase}": one[f"settling, phase {phase}"] / one["base RTT"] for phase in (2, 3)}
    return pd.Series(times, dtype=np.float64).fillna(math.inf)


def _iterations(rows: pd.DataFrame) -> Measured:
    alone, both = _settling(rows, "rcc-pid"), _settling(rows, "rcc")
    words = " and ".join(f"{value:.0f}" for value in both)
    return Measured({"RCC-PID": alone, "longer than RCC": alone - both}, f"RCC {words}")


def _queues(rows: pd.DataFrame, *expected: float) -> dict[str, float]:
    """Return RCC-EWA's mean queue in the network relative to the expected one, with two and three flows."""
    queues = [_run(rows, "rcc-ewa")[f"queue in network, phase {phase}"] for phase in (2, 3)]
    return dict(zip(("two flows", "three flows"), np.divide(queues, expected)))


def _unfair(rows: pd.DataFrame) -> Measured:
    first, second, *_ = rates = _rates(rows, "rcc-ewa", 3)
    numbers = {"larger share": max(first / second, second / first), "queue": _queues(rows, BDP_BYTES, BDP_BYTES)}
    return Measured(numbers, f"{' / '.join(f'{rate / 1e9:.1f}' for rate in rates)} Gb/s")


def _as_windows_say(rows: pd.DataFrame) -> Measured:
    bdp = _run(rows, "rcc-ewa")["base RTT"] * LINE_BPS / 8e12
    windows = bdp * WIRE_BYTES / PAYLOAD_BYTES  # windows count payload
    expected = [2 * windows - bdp, 1.5 * windows - bdp]
    first, second, *_ = _rates(rows, "rcc-ewa", 3)
    words = " and ".join(f"{queue / 1e3:.1f}" for queue in expected)
    return Measured({"queue": _queues(rows, *expected), "flow 2 over flow 1": second / first}, f"by windows {words} KB")


def _right(rows: pd.DataFrame, scheme: str) -> float:
    right, wrong = (sum(_run(rows, scheme)[f"{word}, flow {flow}"] for flow in FLOWS) for word in ("right", "wrong"))
    return right / max(right + wrong, 1.0)


def _near_zero(rows: pd.DataFrame) -> dict[str, float]:
    longest = _run(rows, "rcc").filter(regex="^queue ").max()
    return {"longest queue over the target": longest / TARGET_QUEUE_BYTES, "right verdicts": _right(rows, "rcc")}


def _over_max_min(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        f"phase {phase}": {
            f"flow {flow}": rate / (GOODPUT_BPS * share)
            for flow, (rate, share) in enumerate(zip(_rates(rows, "rcc", phase), shares, strict=True), 1)
        }
        for phase, shares in enumerate(SHARES, 1)
    }


_SEVERAL = AtLeast(3)
_SHORT_QUEUE = {"longest queue over the target": AtMost(2)}


class Figure14(MultiBottleneck):
    name = "rcc.fig14"
    schemes = SCHEMES
    starts_ms, end_ms, quick = (0, 200, 300), 400, 50
    claims = (
        claim("rcc-f14-1", measure=_iterations,
              band=All({"RCC-PID": Each(_SEVERAL), "longer than RCC": Each(AtLeast(0))}),
              direction=At("RCC-PID", Some(_SEVERAL))),
        claim("rcc-f14-2", measure=_unfair, band=All({"larger share": AtLeast(1.5), "queue": Each(AtLeast(0.4))})),
        claim("rcc-f14-2a", measure=_as_windows_say,
              band=All({"queue": Each(Within(1, by=0.05)), "flow 2 over flow 1": Within(2, share=0.08)})),
        claim("rcc-f14-3", measure=_near_zero, band=All(_SHORT_QUEUE, {"right verdicts": AtLeast(0.9)}),
              direction=All(_SHORT_QUEUE)),
        claim("rcc-f14-3a", measure=_over_max_min, band=Each(Each(Within(1, by=0.1), "flow")),
              direction=Each(Each(Within(1, by=0.25), "flow"))),
        claim("rcc-f14-4", measure=lambda rows: {NAMES[scheme]: _right(rows, scheme) for scheme in SCHEMES},
              band=Each(AtLeast(0.9), "scheme"), direction=Each(MoreThan(0.5), "scheme")),
    )  # fmt: skip

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {}
        for scheme, (place, line) in product(SCHEMES, {"in network": "-", "last hop": ":"}.items()):
            name, colour = LOOKS[scheme]
            looks[point_name(table, scheme), f"queue {place}"] = (f"{name}, {place}", colour, line)
        words: dict[str, Any] = {"title": "(d) queues, means", "label": "queue", "unit": "KB", "time_unit": "ms"}
        queues = Traces("", looks, by=("point", "quantity"), legend={"fontsize": 7, "loc": "upper left"}, **words)
        panels = [*(goodput_panel(table, *one) for one in zip(SCHEMES, "abc", strict=True)), queues]
        more = "\n(crosses: congestion as each flow's receiver judged it; dotted: max-min shares)"
        figure = self.drawn(panels, table, more, columns=2, size=(5.5, 3.2), sharex=True)
        for ax, scheme in zip(figure.axes, SCHEMES):
            draw_types(ax, table, point_name(table, scheme))
        return figure
