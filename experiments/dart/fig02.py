"""Dart, figure 2: two long flows to one receiver share its link."""

from ..api import *
from .setup import *

_N = f"Dasr.auss_n {RECEIVER}"
_OF_LINE = {"throughput / line": ("throughput", 1)}
_OF_HALF = {f"{name} / half": (f"rate of {name}", 2) for name in ("S1", "S2")}
_RATES = {
    ("long", "rate of S1"): ("S1", "blue"), ("long", "rate of S2"): ("S2", "vermilion", "--"),
    ("long", "throughput"): ("received, both", "0.5"),
}  # fmt: skip
_LINE, _HALF = AtLeast(0.97), Within(1, by=0.03)


def _in(phase: str, shares: Mapping[str, tuple[str, int]], rows: pd.DataFrame) -> dict[str, float]:
    """Return n and the rates of a phase, each relative to a share of the line."""
    rates = {name: row_of(rows, "long")[f"{of}, {phase}"] * parts / LINE_BPS for name, (of, parts) in shares.items()}
    return rates | {"n": row_of(rows, "long")[f"n, {phase}"]}


def _queue_growth(rows: pd.DataFrame) -> Measured:
    queue = format_size(round(row_of(rows, "long")["queue, settled"]))
    return Measured(row_of(rows, "long")["queue growth, settled"] / WIRE_BYTES, f"over the rest of the run, at {queue}")


class Figure2(Experiment):
    name = "dart.fig2"
    is_wide = True
    claims = (
        claim("dart-f2-1", measure=partial(_in, "alone", {"rate / line": ("rate of S1", 1), **_OF_LINE}),
              band=All({"rate / line": _LINE, "throughput / line": _LINE, "n": Exactly(1)})),
        claim("dart-f2-2", measure=partial(_in, "shared", {**_OF_HALF, **_OF_LINE}),
              band=All({"S1 / half": _HALF, "S2 / half": _HALF, "throughput / line": AtLeast(0.95), "n": Exactly(2)})),
        claim("dart-f2-2a", measure=lambda rows: (one := row_of(rows, "long"))["time to settle"] / one["base RTT"],
              band=AtMost(1)),
        claim("dart-f2-2b", measure=_queue_growth, band=Within(0, by=2)),
    )  # fmt: skip

    start_ps = us(500)
    """Start of the second flow."""
    until_ps = us(1500)
    every_ps = us(2)
    panels = (
        Traces(
            "", _RATES, by=("point", "quantity"), unit="Gb/s", label="rate", is_step=True, until_ps=until_ps,
            axes={"ylim": (0, 10.8)},
        ),
        Traces("n", {"long": ("n", "black")}, is_step=True, until_ps=until_ps, axes={"ylim": (0, 2.5)}, legend=None),
        Traces("queue", {"long": ("queue", "green")}, unit="KB", legend=None),
    )  # fmt: skip
    grid = MappingProxyType({"columns": 1, "size": (7, 2), "sharex": True})

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        network = fat_tree(4) if check_scale(scale) == "quick" else topology.dart_clos
        graph = network()
        far = other_pods(graph)
        senders = [far[0], far[-1]]  # in different pods
        towards = ports_towards(graph, RECEIVER)
        yield Point.of(
            "long",
            network=network,
            workload=workload.long_flows([(sender, RECEIVER) for sender in senders], start=[0, ps(self.start_ps)]),
            scheme=PRESET["dasr"], until=ps(self.until_ps), seed=seed,
            probes=(
                *(probes.rate(flow) for flow in range(2)),
                probes.field("host", RECEIVER, "Dasr.auss_n"),
                probes.field("flow", 1, "received_packets"),
                probes.throughput("tor0", RECEIVER, every="50us"),
                *(probes.queue(node, peer, every=ps(self.every_ps)) for node, peer in towards),
            ),
        )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan = result.plan
        rtt_ps = int(plan.host_base_rtt_ps.max())
        rates = {"S1": result.samples("rate 0"), "S2": result.samples("rate 1")}
        n, held = result.samples(_N), result.samples("received_packets 1")
        throughput = result.samples("throughput tor0->h0")
        watched = [watch.probe.name for watch in plan.watches if watch.field.name == "queue_bytes"]
        queue = pd.concat([result.samples(name) for name in watched], axis=1).sum(axis=1)
        arrival_ps = int(held.index[held > 0][0])
        half = LINE_BPS / 2
        settled_ps = max(settled(rate, arrival_ps, half, 0.03) for rate in rates.values())
        steady_ps = settled_ps + rtt_ps  # packets sent before have arrived
        late = queue[queue.index >= steady_ps]
        quarter = max(len(late) // 4, 1)
        alone_ps = int(n.index[n >= 1][0])  # S1's first packet has arrived
        numbers = {
            "base RTT": (rtt_ps, "ps"),
            "arrival of S2": (arrival_ps, "ps"),
            "rate of S1, alone": (worst_between(rates["S1"], alone_ps, arrival_ps, LINE_BPS), "bps"),
            "throughput, alone": (mean_between(throughput, alone_ps + rtt_ps, arrival_ps), "bps"),
            "n, alone": (worst_between(n, alone_ps, arrival_ps, 1), ""),
            "time to settle": (settled_ps - arrival_ps, "ps"),
            "rate of S1, shared": (worst_between(rates["S1"], settled_ps, self.until_ps, half), "bps"),
            "rate of S2, shared": (worst_between(rates["S2"], settled_ps, self.until_ps, half), "bps"),
            "throughput, shared": (mean_between(throughput, steady_ps, self.until_ps), "bps"),
            "n, shared": (worst_between(n, arrival_ps, self.until_ps, 2), ""),
            "queue, settled": (float(late.mean()), "bytes"),
            "queue growth, settled": (float(late.iloc[-quarter:].mean() - late.iloc[:quarter].mean()), "bytes"),
            "CNPs": (int(result.counters["cnps"]), ""),
        }
        curves = {f"rate of {name}": (rate, "bps") for name, rate in rates.items()}
        curves |= {"n": (n, ""), "queue": (queue, "bytes"), "throughput": (throughput, "bps")}
        return tidy(point.name, numbers, curves)
