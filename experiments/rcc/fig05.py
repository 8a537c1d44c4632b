"""RCC, figure 5: four flows join a last hop one after another, then leave."""

from ..api import *
from .setup import *

SIZES = (4_400_000_000, 2_200_000_000, 1_100_000_000, 270_000_000)
INTERVAL_PS = ms(100)
SCHEMES = ("rcc", "hpcc")
PUBLISHED_BPS = 95e9
"""Total goodput of the last hop: 100 x 0.95."""
QUICK = 100
FLOWS = range(1, len(SIZES) + 1)
_SHOWN = 600
"""Stored samples per curve."""


def processor_sharing(
    capacity_bps: float, sizes: tuple[int, ...] = SIZES, interval_ps: int = INTERVAL_PS
) -> list[float]:
    """Return completion times in ps if active flows share a link equally."""
    left: dict[int, float] = {}  # of the active flows, as time on the whole link
    done, now = [math.nan] * len(sizes), 0.0
    for started in range(len(sizes) + 1):
        begin = started * interval_ps if started < len(sizes) else math.inf
        while left and now < begin:
            first = min(left, key=left.__getitem__)
            step = min(left[first] * len(left), begin - now)
            left = {flow: time - step / len(left) for flow, time in left.items()}
            now += step
            if now < begin:
                done[first] = now
                del left[first]
        if started < len(sizes):
            left[started], now = sizes[started] * 8e12 / capacity_bps, begin
    return done


def events_of(result: Result) -> list[tuple[str, int, list[int]]]:
    """Return the start and end of each flow: (name, time, flows active afterwards)."""
    flows = result.flows
    starts = flows["start_ps"].tolist()
    ends = [start + fct for start, fct in zip(starts, flows["fct_ps"].tolist(), strict=True)]
    moments = [(f"flow {i} starts", starts[i - 1]) for i in FLOWS] + [(f"flow {i} ends", ends[i - 1]) for i in FLOWS]
    return [
        (name, time, [i for i in FLOWS if starts[i - 1] <= time < ends[i - 1]])
        for name, time in sorted(moments, key=lambda item: item[1])
    ]


def _converged(result: Result, flows: list[int], begin: int, end: int, share_bps: float) -> float:
    """Return the time until all paces were within 5% of a share at once; NaN if they never were."""
    paces = [result.samples(f"rate {flow - 1}") for flow in flows]
    inside = [pace[(pace.index >= begin) & (pace.index < end)] for pace in paces]
    near = np.all([abs(pace.to_numpy() / share_bps - 1) <= 0.05 for pace in inside], axis=0)
    return float(inside[0].index[near.argmax()] - begin) if near.any() else float("nan")


def _steady(goodputs: list[pd.Series], flows: list[int], begin: int, end: int) -> pd.DataFrame:
    """Return the flows' goodput in a phase without its first and last tenth."""
    edge = (end - begin) // 10
    kept = {flow: goodputs[flow - 1] for flow in flows}
    frame = pd.DataFrame(kept)
    return frame[(frame.index > begin + edge) & (frame.index <= end - edge)]


def _judged(rows: pd.DataFrame, scheme: str, words: str) -> pd.Series:
    """Return the numbers of a scheme whose names start with some words, by the rest of the name."""
    found: pd.Series = row_of(rows, scheme).filter(regex=f"^{words}").astype(np.float64)
    return found.rename(lambda name: name.removeprefix(words))


def _convergence(rows: pd.DataFrame) -> dict[str, pd.Series]:
    own, other = (_judged(rows, scheme, "convergence after ") / row_of(rows, scheme)["base RTT"] for scheme in SCHEMES)
    return {"RCC": own, "RCC, at ends": own.filter(regex="ends$"), "HPCC": other.fillna(np.inf)}


_SOON = At("RCC", Each(AtMost(3), "event"))


def _fairness(rows: pd.DataFrame) -> dict[str, Any]:
    own, other = (_judged(rows, scheme, "Jain ") for scheme in SCHEMES)
    swing = [_judged(rows, scheme, "swing ").max() for scheme in SCHEMES]
    above = (own - other).mean()
    return {"HPCC's Jain index": other, "RCC's above, on average": above, "HPCC's swing above": swing[1] - swing[0]}


def _completion(rows: pd.DataFrame) -> Measured:
    factor = row_of(rows, "rcc")["times as fast"]
    found = {flow: row_of(rows, "rcc")[f"flow {flow} complete"] * factor for flow in FLOWS}
    ratios = {f"flow {flow}": found[flow] / ideal for flow, ideal in zip(FLOWS, processor_sharing(PUBLISHED_BPS))}
    return Measured(ratios, f"{', '.join(f'{time / 1e9:.1f}' for time in found.values())} ms, unscaled")


class Figure5(Experiment):
    name = "rcc.fig5"
    is_wide = True
    claims = (
        claim("rcc-f5-1",
              measure=lambda rows: pd.concat([_judged(rows, "rcc", f"goodput with {n}, ") * n for n in FLOWS]),
              band=Each(Within(PUBLISHED_BPS, share=0.03), "flow"),
              direction=Each(Within(PUBLISHED_BPS, share=0.1), "flow")),
        claim("rcc-f5-2", measure=lambda rows: _judged(rows, "rcc", "Jain "), band=Each(AtLeast(0.9975), "phase"),
              direction=Each(AtLeast(0.99), "phase")),
        claim("rcc-f5-3", measure=_convergence,
              band=All({"RCC, at ends": Each(AtMost(2), "event"), "HPCC": Each(AtLeast(3), "event")}), direction=_SOON),
        claim("rcc-f5-4", measure=_fairness,
              band=All({"HPCC's Jain index": Each(LessThan(0.998), "phase"), "HPCC's swing above": MoreThan(0)}),
              direction=All(dict.fromkeys(("RCC's above, on average", "HPCC's swing above"), MoreThan(0)))),
        claim("rcc-f5-5", measure=_completion, band=Each(Within(1, by=0.03), "flow")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        factor = QUICK if check_scale(scale) == "quick" else 1
        every = us(20) if scale == "quick" else ms(1)
        flows = [(f"h{i}", "h4", size // factor, i * INTERVAL_PS // factor) for i, size in enumerate(SIZES)]
        for name in SCHEMES:
            yield Point.of(
                name, {"scheme": name, "factor": factor},
                network=topology.rcc_dumbbell, workload=partial(workload.messages, flows), scheme=PRESET[name],
                seed=seed,
                probes=[
                    *(received(flow, every) for flow in range(4)),
                    *(probes.rate(flow, "1us") for flow in range(4)),
                    probes.queue("s0", "s1", "1us"),
                ],
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        goodputs = [goodput(result, flow) for flow in range(4)]
        hpcc: Any = PRESET["hpcc"].control[0]
        whole = hpcc.eta if point.name == "hpcc" else 1.0
        numbers: dict[str, tuple[float, str]] = {
            "base RTT": (int(result.plan.qp_base_rtt_ps[0]), "ps"),
            "times as fast": (point.labels["factor"], ""),
            "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
        }
        for flow, (start, fct) in enumerate(zip(result.flows["start_ps"], result.flows["fct_ps"], strict=True), 1):
            numbers[f"flow {flow} complete"] = (float(start + fct), "ps")
        events = events_of(result)
        for (name, begin, flows), (_, end, _) in pairwise(events):
            share = whole * LINE_BPS / len(flows)
            numbers[f"convergence after {name}"] = (_converged(result, flows, begin, end, share), "ps")
            steady = _steady(goodputs, flows, begin, end)
            if not len(steady):
                continue
            for flow in flows:
                numbers[f"goodput with {len(flows)}, flow {flow}, {name}"] = (steady[flow].mean(), "bps")
            swing = float((steady.std(ddof=0) / steady.mean()).max())
            numbers[f"swing with {len(flows)}, {name}"] = (swing, "")
            if len(flows) > 1:
                indices = [jain(row) for row in steady.to_numpy()]
                numbers[f"Jain with {len(flows)}, {name}"] = (min(indices), "")
        queue = result.samples("queue s0->s1")
        step = max(1, len(queue) // _SHOWN)
        binned = queue.groupby(np.arange(len(queue)) // step).max()
        curves = {f"goodput of flow {flow}": (goodputs[flow - 1], "bps") for flow in FLOWS}
        curves["queue"] = (pd.Series(binned.to_numpy(), queue.index[::step]), "bytes")
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        flows = list(zip(FLOWS, ("blue", "vermilion", "green", "orange"), strict=True))
        panels = [
            Traces(
                looks={(scheme, f"goodput of flow {flow}"): (f"flow {flow}", colour) for flow, colour in flows},
                by=("point", "quantity"), unit="Gb/s", label="goodput", time_unit="ms",
                title=f"({letter}) {NAMES[scheme]}",
                levels={f"_{n}": PUBLISHED_BPS / n for n in FLOWS}, axes={"ylim": (0, 105)},
            )
            for scheme, letter in zip(SCHEMES, "ab", strict=True)
        ]  # fmt: skip
        looks, title = {scheme: LOOKS[scheme] for scheme in SCHEMES}, "(c) peak queue of each interval"
        queue = Traces("queue", looks, unit="KB", time_unit="ms", width=1, title=title)
        figure = self.drawn([*panels, queue], table, " (dotted: 95/N Gb/s; bars: ends by processor sharing)")
        done = [time / scalar(table, "rcc", "times as fast") / 1e9 for time in processor_sharing(PUBLISHED_BPS)]
        for ax in figure.axes[:2]:
            ax.plot(done, np.full(4, 1.5), "|", color="0.3", markersize=12)
        return figure
