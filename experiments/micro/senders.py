"""Micro-benchmarks of the sender-driven schemes, with their registered defaults."""

from rdmacc.probes import Probe
from ..api import *

SENDERS = (
    "line-rate", "dcqcn", "dcqcn-hpcc", "timely", "timely-patched", "timely-hpcc", "hpcc", "dctcp", "dctcp-hpcc",
    "infiniband-cc", "rcp", "swift",
)  # fmt: skip
LINE_BPS = 25e9
INCAST_BYTES = 64_000
_SAMPLES = 200
"""Samples of goodputs and queue per run."""
_two_bottlenecks = partial(topology.rcc_multi_bottleneck, rate=LINE_BPS, delay="2us", buffer="3MB")


def _star(hosts: int) -> Graph:
    return topology.star(hosts, rate=LINE_BPS, delay="1us", buffer=2_000_000 + hosts * 200_000)


def _near_and_far() -> Graph:
    """Return a star whose last host is ten times as far away."""
    graph = _star(3)
    graph.edges["h2", "s0"]["delay_ps"] = us(10)
    return graph


def _start_and_stop(flows: int, phase_ps: int) -> pd.DataFrame:
    """Return flows that start a phase apart and stop in reverse order, at equal shares of 90% of the link."""
    rows = []
    for number in range(flows):
        shares = [min(phase, 2 * flows - 2 - phase) + 1 for phase in range(number, 2 * flows - 1 - number)]
        size = int(sum(0.9 * LINE_BPS / 8 * phase_ps * 1e-12 / share for share in shares))
        rows.append((f"h{number + 1}", "h0", size, ps(number * phase_ps)))
    return workload.messages(rows)


def _received(flows: int, every_ps: int) -> list[Probe]:
    return [probes.field("flow", i, "received_packets", every_ps) for i in range(flows)]


def _cases(phase: int, incasts: Iterable[int]) -> Iterator[tuple[str, int, Any, Any, int | None, list[Probe]]]:
    """Yield kind, flows, network, workload, end and probes of each run."""
    for flows in (2, 4):
        until = (2 * flows - 1) * phase
        watch = [*_received(flows, until // _SAMPLES), probes.queue("s0", "h0", until // _SAMPLES // 5)]
        yield "convergence", flows, partial(_star, flows + 1), partial(_start_and_stop, flows, phase), until, watch
    for flows in incasts:
        watch = [probes.queue("s0", "h0", us(1))]
        work = partial(workload.incast, [f"h{i}" for i in range(1, flows + 1)], "h0", INCAST_BYTES)
        yield "incast", flows, partial(_star, flows + 1), work, None, watch
    near_and_far, pairs = [("h1", "h0"), ("h2", "h0")], _two_bottlenecks().graph["flows"]
    for kind, network, ends, gap, until in (
        ("RTT fairness", _near_and_far, near_and_far, 0, 4 * phase),
        ("two bottlenecks", _two_bottlenecks, pairs, 2 * phase, 6 * phase),
    ):
        work = partial(workload.messages, [(*pair, 10**11, ps(i * gap)) for i, pair in enumerate(ends)])
        yield kind, len(ends), network, work, until, _received(len(ends), until // _SAMPLES)


def _goodputs(result: Result, flows: int) -> list[pd.Series]:
    """Return each flow's goodput over the periods of its probe, in bit/s."""
    packets = [result.samples(f"received_packets {i}") for i in range(flows)]
    bits = 8e12 * result.plan.scheme.payload_bytes
    return [(bits * one.diff() / one.index.to_series().diff()).fillna(0.0) for one in packets]


def _lost_with_pfc(rows: pd.DataFrame) -> Measured:
    pfc = rows[~rows["scheme"].isin(["dctcp", "swift"])]
    return Measured(pfc["drops"].sum(), f"in {len(pfc)} runs")


class SenderSchemes(Experiment):
    name = "micro.senders"
    is_wide = True
    claims = (
        claim("micro-senders-1a", measure=_lost_with_pfc, band=Exactly(0)),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        phase = ms(2) if is_quick else ms(20)
        cases = list(_cases(phase, (8, 32) if is_quick else (8, 32, 256, 1000)))
        for name, (kind, flows, network, work, until, watch) in product(SENDERS, cases):
            cost = flows if until is None else 100.0 * until / phase
            yield Point.of(
                f"{name}, {kind} of {flows}", {"scheme": name, "kind": kind, "flows": flows, "phase_ps": phase},
                network=network, workload=work, scheme=name, seed=seed, until=until, probes=watch, cost=cost,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        kind, flows, phase = point.labels["kind"], point.labels["flows"], point.labels["phase_ps"]
        counters = result.counters
        numbers: dict[str, tuple[float, str]] = {
            "PFC pauses": (counters.pfc_pauses, ""),
            "drops": (counters.pfc_violations + counters.dropped_packets, ""),
        }
        curves: dict[str, tuple[pd.Series, str]] = {}
        if kind == "incast":
            wire = INCAST_BYTES + int(result.plan.packets[0]) * result.plan.scheme.header_bytes
            carried = result.plan.ideal_fct_ps[0] + (flows - 1) * wire * 8e12 / LINE_BPS
            fct = result.flows["fct_ps"]
            queue = result.samples("queue s0->h0")
            numbers |= {
                "FCT, median over the link's": (fct.median() / carried, ""),
                "FCT, p99 over the link's": (fct.quantile(0.99) / carried, ""),
                "queue, peak": (queue.max(), "bytes"),
            }
            curves["queue"] = (queue[queue.index <= fct.max()], "bytes")
            return tidy(point.name, numbers, curves)
        goodputs = _goodputs(result, flows)
        curves |= {f"goodput {i}": (series, "bps") for i, series in enumerate(goodputs, 1)}
        if kind == "convergence":
            halves = [((k + 0.5) * phase, (k + 1) * phase) for k in range(1, flows)]
            shares = [[mean_between(series, *half) for series in goodputs[: k + 2]] for k, half in enumerate(halves)]
            queue = result.samples("queue s0->h0")
            settled = pd.concat([between(queue, begin, end) for begin, end in halves])
            numbers |= {
                "Jain's index": (float(np.mean([jain(share) for share in shares])), ""),
                "goodput, all flows": (float(np.mean([sum(share) for share in shares])), "bps"),
                "queue, mean": (settled.mean(), "bytes"),
                "queue, p99": (settled.quantile(0.99), "bytes"),
            }
            curves["queue"] = (queue, "bytes")
        elif kind == "RTT fairness":
            near, far = (mean_between(series, 2 * phase, 4 * phase) for series in goodputs)
            numbers["near over far"] = (near / far if far else float("nan"), "")
        else:
            shares = [[mean_between(series, 5 * phase, 6 * phase) for series in goodputs]]
            numbers |= {f"goodput of flow {i}": (value, "bps") for i, value in enumerate(shares[0], 1)}
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        columns = {
            "convergence of 4": "4 flows: goodput (Gb/s)", "convergence of 2": "2 flows: queue (kB)",
            "incast of 32": "incast of 32: queue (kB)", "RTT fairness of 2": "RTT 1:10: goodput (Gb/s)",
            "two bottlenecks of 3": "two bottlenecks: goodput (Gb/s)",
        }  # fmt: skip
        panels = [
            _panel(table, f"{name}, {case}", "queue" in title, title if name == SENDERS[0] else "",
                   name if case == "convergence of 4" else "")
            for name, (case, title) in product(SENDERS, columns.items())
        ]  # fmt: skip
        more = ": 25 Gb/s, links of 1 us (two bottlenecks: 2 us)"
        size, place = (3.0, 1.45), "outside lower center"
        return self.drawn(panels, table, more, columns=len(columns), size=size, sharex="col", legend=place)


def _panel(table: pd.DataFrame, point: str, is_queue: bool, title: str, ylabel: str) -> Traces:
    """Return the panel of a scheme's queue or goodputs in a case."""
    number = partial(scalar, table, point)
    if ", incast" in point:
        ratio, pauses = number("FCT, p99 over the link's"), number("PFC pauses")
        note = f"p99 FCT {ratio:.2f} of the link's\n{pauses:.0f} pauses"
    elif is_queue:
        note = f"mean {number('queue, mean') / 1e3:.1f} kB"
    else:
        quantities = {"convergence": "Jain's index", "RTT fairness": "near over far"}
        note = "".join(f"{one} {number(one):.2f}" for kind, one in quantities.items() if f", {kind}" in point)
    flows = ("first flow (near)", "second (far)", "third", "fourth")[: int(point.rsplit(" ", 1)[1])]
    looks: dict[Any, tuple[str, str]] = {(point, "queue"): ("_", "black")}
    if not is_queue:
        looks = {(point, f"goodput {i}"): (*look,) for i, look in enumerate(zip(flows, COLOURS), 1)}
    return Traces(
        "", looks, by=("point", "quantity"), unit="KB" if is_queue else "Gb/s", title=title, width=0.9,
        time_unit="us" if ", incast" in point else "ms",
        axes={"ylabel": ylabel, **({} if is_queue else {"ylim": (0, 27)})},
        also=lambda ax, _: ax.text(0.98, 0.95, note, transform=ax.transAxes, ha="right", va="top", fontsize=7),
    )  # fmt: skip
