"""Dart, figures 1 and 15: a second flow joins, and both converge to half of the link."""

from ..api import *
from .setup import *

HALF_BPS = LINE_BPS / 2
RTT_PS = us(20) + 2 * PACKET_PS
"""Propagation and a full packet on two links; results are in base RTTs, which also include the ACK."""
_JOIN_PS = 15 * RTT_PS
_CONVERGED, _REACHED = 0.1, 0.05
ABOUT_ONE = AtMost(2)
"""RTTs that still count as Dart's single RTT."""
NAMES = {"dart": "Dart", "rcp": "RCP", "dcqcn": "DCQCN", "timely": "TIMELY"}


def points_for(names: tuple[str, ...], scale: str, seed: int) -> Iterator[Point]:
    """Yield a point for each scheme: one flow, then two."""
    lasting_rtts = 300 if check_scale(scale) == "quick" else 5000
    for name in names:
        yield Point.of(
            name, {"scheme": name},
            network=partial(topology.star, 3, rate=RATE, delay=DELAY, buffer=3 * BUFFER_PER_PORT),
            workload=workload.long_flows([("h1", RECEIVER), ("h2", RECEIVER)], start=[0, _JOIN_PS]),
            scheme=PRESET[name], until=_JOIN_PS + lasting_rtts * RTT_PS, seed=seed,
            probes=(
                *(probes.rate(flow) for flow in range(2)),
                *(probes.field("flow", flow, "received_packets") for flow in range(2)),
                probes.queue("s0", RECEIVER),
            ),
        )  # fmt: skip


def measure_convergence(point: Point, result: Result) -> pd.DataFrame:
    """Return times in ps since the second flow arrived, and both flows' rates and throughput."""
    rtt_ps = int(result.plan.qp_base_rtt_ps.max())
    held = [result.samples(f"received_packets {flow}") for flow in range(2)]
    arrival_ps = int(held[1].index[held[1] > 0][0])
    throughputs = [_throughput(packets, result, 2 * rtt_ps) for packets in held]
    scheme = result.plan.scheme
    if all(getattr(part, "is_paced", True) for part in scheme.components):
        rates = [result.samples(f"rate {flow}") for flow in range(2)]
    else:
        rates = [throughput * (scheme.wire_bytes / scheme.payload_bytes) for throughput in throughputs]
    numbers = {
        "base RTT": (rtt_ps, "ps"),
        "join": (arrival_ps, "ps"),
        "watched for": (result.now_ps - arrival_ps, "ps"),
        "converged": (_latest(settled(rate, arrival_ps, HALF_BPS, _CONVERGED) for rate in rates) - arrival_ps, "ps"),
        "reached": (_latest(first_within(rate, arrival_ps, HALF_BPS, _REACHED) for rate in rates) - arrival_ps, "ps"),
        "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
    }
    kept_ps = arrival_ps + 200 * rtt_ps
    curves = {}
    for flow, (rate, throughput) in enumerate(zip(rates, throughputs, strict=True), 1):
        curves[f"rate of flow {flow}"] = (shown(rate, 0, min(kept_ps, result.now_ps)), "bps")
        curves[f"throughput of flow {flow}"] = (throughput[throughput.index < kept_ps], "bps")
    return tidy(point.name, numbers, curves)


def _throughput(packets: pd.Series, result: Result, every_ps: int) -> pd.Series:
    """Return the rate at which a flow's payload arrives, averaged over equal intervals."""
    edges = np.arange(0, result.now_ps, every_ps)
    counts = packets.to_numpy()[np.searchsorted(packets.index, edges, side="right") - 1]
    payload_bits = 8e12 * result.plan.scheme.payload_bytes
    return pd.Series(np.diff(counts) * payload_bits / every_ps, index=pd.Index(edges[1:], name="time_ps"))


def _latest(times: Iterable[float]) -> float:
    return float(np.max([*times]))  # NaN if any is


def rtts(table: pd.DataFrame, name: str, quantity: str = "converged") -> float:
    """Return one of a scheme's times, in its base RTTs."""
    return scalar(table, name, quantity) / scalar(table, name, "base RTT")


def rtts_or_watched(table: pd.DataFrame, *names: str) -> Measured:
    """Return the convergence times of schemes, or the observed time if they did not converge."""
    taken = {name: rtts(table, name) for name in names}
    never = [NAMES[name] for name, value in taken.items() if np.isnan(value)]
    numbers = {
        NAMES[name]: rtts(table, name, "watched for") if np.isnan(value) else value for name, value in taken.items()
    }
    return Measured(numbers, f"not converged by then: {', '.join(never)}" if never else "")
