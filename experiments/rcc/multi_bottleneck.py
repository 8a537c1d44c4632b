"""RCC, figures 1 and 14: three flows, a bottleneck in the network and one at the last hop."""

from rdmacc.interface import IN_NETWORK, LAST_HOP
from ..api import *
from .setup import *

FLOWS = (1, 2, 3)
IN_THE_NETWORK, LAST_HOP_PORT = ("s0", "s1"), ("s1", "h3")
TYPES = {LAST_HOP: "last hop", IN_NETWORK: "in network"}
SHARES = ((1.0,), (0.5, 0.5), (0.5, 0.5, 0.5))
"""Max-min shares of the link, by phase and flow."""

_COLOURS = ("blue", "vermilion", "green")
_BINS = 400
_PLACES = {1: (IN_NETWORK, LAST_HOP), 2: (IN_NETWORK,), 3: (LAST_HOP,)}
"""Kinds of congestion on each flow's path."""


class MultiBottleneck(Experiment):
    """The three flows under some schemes of the preset; at quick scale `quick` times as fast."""

    is_wide = True
    schemes: Sequence[str]
    seeds = 1
    """Number of seeds at paper scale."""
    starts_ms: tuple[int, ...]
    end_ms: int
    quick: int

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_paper = check_scale(scale) == "paper"
        factor, every = (1, ms(1)) if is_paper else (self.quick, us(100))
        flows = topology.rcc_multi_bottleneck().graph["flows"]
        starts = [ms(start) // factor for start in self.starts_ms]
        for name, one in product(self.schemes, range(seed, seed + (self.seeds if is_paper else 1))):
            watched = [received(flow, every) for flow in range(3)]
            watched += [probes.rate(flow, "1us") for flow in range(3)]
            watched += [probes.queue(*port, "1us") for port in (IN_THE_NETWORK, LAST_HOP_PORT)]
            if name.startswith("rcc"):
                watched += [probes.field("flow", flow, "Rcc.congestion") for flow in range(3)]
            yield Point.of(
                f"{name}, seed {one}", {"scheme": name, "seed": one},
                network=topology.rcc_multi_bottleneck, scheme=PRESET[name], seed=one, probes=watched,
                workload=workload.long_flows(flows, size="100GB", start=starts), until=ms(self.end_ms) // factor,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        """Return goodput, shares, times to settle, queues and RCC's verdicts, phase by phase."""
        rtt_ps = int(result.plan.qp_base_rtt_ps[0])
        goodputs = [goodput(result, flow) for flow in range(3)]
        queues = {"in network": result.samples("queue s0->s1"), "last hop": result.samples("queue s1->h3")}
        numbers: dict[str, tuple[float, str]] = {"base RTT": (rtt_ps, "ps")}
        for phase, (begin, end) in enumerate(pairwise([*result.flows["start_ps"].tolist(), result.now_ps]), 1):
            middle = (begin + end) // 2
            means = [mean_between(goodputs[flow], middle, end) for flow in range(phase)]
            for flow, value in enumerate(means, 1):
                numbers[f"goodput of flow {flow}, phase {phase}"] = (value, "bps")
            numbers[f"Jain, phase {phase}"] = (jain(means), "")
            numbers[f"off max-min, phase {phase}"] = (_time_off(goodputs, phase, begin, end), "ps")
            numbers[f"settling, phase {phase}"] = (_settling(result, phase, begin, end), "ps")
            for name, queue in queues.items():
                late, all_of_it = between(queue, middle, end), between(queue, begin, end)
                numbers[f"queue {name}, phase {phase}"] = (late.mean(), "bytes")
                numbers[f"swing {name}, phase {phase}"] = (late.std(ddof=0), "bytes")
                numbers[f"peak {name}, phase {phase}"] = (all_of_it.max(), "bytes")
        curves = {f"goodput of flow {flow}": (goodputs[flow - 1], "bps") for flow in FLOWS}
        for name, queue in queues.items():
            curves[f"queue {name}"] = (_means(queue, result.now_ps), "bytes")
        if point.labels["scheme"].startswith("rcc"):
            found, types = _verdicts(result)
            numbers |= found
            curves |= {f"type of flow {flow}": (types[flow], "") for flow in FLOWS}
        return tidy(point.name, numbers, curves)


def _time_off(goodputs: list[pd.Series], phase: int, begin: int, end: int) -> float:
    """Return the time for which some flow of a phase was 20% or more off its max-min share."""
    inside = [between(goodputs[flow], begin, end) for flow in range(phase)]
    off = [abs(one / (GOODPUT_BPS * share) - 1) >= 0.2 for one, share in zip(inside, SHARES[phase - 1], strict=True)]
    return float(np.any(off, axis=0).sum() * np.diff(goodputs[0].index[:2])[0])


def _settling(result: Result, phase: int, begin: int, end: int) -> float:
    """Return the time until every pace was first within 5% of its mean in the second half of the phase."""
    times = []
    for flow in range(phase):
        pace = result.samples(f"rate {flow}")
        later = mean_between(pace, (begin + end) // 2, end)
        times.append(first_within(between(pace, begin, end), begin, later, 0.05) - begin)
    return float(np.max(times))


def _verdicts(result: Result) -> tuple[dict[str, tuple[float, str]], dict[int, pd.Series]]:
    """Return the durations of right and wrong verdicts, and the longest verdict in each time bin."""
    starts = result.flows["start_ps"].tolist()
    since = {IN_NETWORK: starts[1], LAST_HOP: starts[2]}
    numbers: dict[str, tuple[float, str]] = {}
    types = {}
    edges = np.linspace(0, result.now_ps, _BINS + 1).astype(np.int64)
    for flow in FLOWS:
        trace = result.samples(f"Rcc.congestion {flow - 1}")
        right = wrong = 0.0
        for kind in TYPES:
            stood = time_in(trace, kind, 0, result.now_ps)
            late = time_in(trace, kind, since[kind], result.now_ps) if kind in _PLACES[flow] else 0.0
            right, wrong = right + late, wrong + stood - late
        numbers[f"right, flow {flow}"], numbers[f"wrong, flow {flow}"] = (right, "ps"), (wrong, "ps")
        stood_in = np.array([_by_bin(trace, kind, edges) for kind in TYPES])
        kinds = np.where(stood_in.any(axis=0), np.array([*TYPES])[stood_in.argmax(axis=0)], 0)
        types[flow] = pd.Series(kinds, index=pd.Index(edges[1:], name="time_ps"))
    return numbers, types


def _by_bin(trace: pd.Series, kind: int, edges: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray:
    times = np.append(trace.index.to_numpy(), edges[-1])
    stood = np.concatenate([[0.0], np.cumsum(np.diff(times) * (trace.to_numpy() == kind))])
    return np.diff(np.interp(edges, times, stood))


def _means(samples: pd.Series, end_ps: int) -> pd.Series:
    """Return means over time bins, indexed by their ends."""
    width = end_ps // _BINS
    bins = np.minimum((samples.index.to_numpy() - 1) // width, _BINS - 1)
    means = samples.groupby(bins).mean()
    return pd.Series(means.to_numpy(), index=pd.Index((means.index.to_numpy() + 1) * width, name="time_ps"))


# Drawing


def goodput_panel(table: pd.DataFrame, scheme: str, letter: str) -> Traces:
    """Return the panel of the three flows' goodput over time, with their max-min shares."""
    point = point_name(table, scheme)
    return Traces(
        looks={(point, f"goodput of flow {flow}"): (f"flow {flow}", one) for flow, one in zip(FLOWS, _COLOURS)},
        by=("point", "quantity"), title=f"({letter}) {NAMES[scheme]}", label="goodput", unit="Gb/s", time_unit="ms",
        levels={f"_{share}": GOODPUT_BPS * share for share in (1.0, 0.5)}, axes={"ylim": (0, 125), "xlim": (0, None)},
    )  # fmt: skip


def draw_types(ax: Axes, table: pd.DataFrame, point: str) -> None:
    """Draw RCC's verdicts as crosses above the goodput, one row per kind of congestion."""
    for (kind, name), height in zip(TYPES.items(), (107, 117), strict=True):
        for flow, colour in zip(FLOWS, _COLOURS, strict=True):
            types = curve(table, point, f"type of flow {flow}")
            at = types.index[types == kind] / 1e9
            ax.plot(at, np.full(len(at), height + flow - 2), "x", color=COLOURS[colour], markersize=4)
        ax.annotate(name, (0.01, height), xycoords=("axes fraction", "data"), fontsize=8, va="center")


def point_name(table: pd.DataFrame, scheme: str) -> str:
    return str(table["point"].array[having(table, scheme=scheme)][0])
