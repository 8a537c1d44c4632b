"""HPCC's testbed figure 10: slowdowns and queues under web search at 30 and 50%."""

from ..api import *
from .micro import LOOKS
from .setup import slowdowns

fabric = partial(topology.leaf_spine, 4, 1, 8, rate="25Gbps", fabric_rate="100Gbps", delay="1us")
LOADS, ARRIVE_PS, SHORT_BYTES = (0.3, 0.5), {"quick": ms(2), "paper": ms(200)}, 10_000


def traffic(load: float, arrive_ps: int, seed: int) -> pd.DataFrame:
    """Return web search at a load of the hosts' links."""
    return workload.poisson(fabric(), "web_search", load, duration=ps(arrive_ps), seed=seed)


def both(rows: pd.DataFrame, quantity: str, load: float) -> dict[str, float]:
    """Return a quantity of both schemes."""
    return means_of(rows, LOOKS, quantity=quantity, load=load)


def lower(rows: pd.DataFrame, load: float) -> float:
    """Return HPCC's reduction of the tail of short messages."""
    found = both(rows, "short, p99", load)
    return reduction(found["HPCC"], found["DCQCN"])


class Fig10(Experiment):
    name = "hpcc.fig10"
    claims = (
        claim("hpcc-f10-1", measure=partial(lower, load=0.5), band=Part(0.95), direction=MoreThan(0)),
        claim("hpcc-f10-2", measure=partial(lower, load=0.3), band=Part(0.79), direction=MoreThan(0)),
        claim("hpcc-f10-3", measure=lambda rows: both(rows, "queue, p99", 0.5)["HPCC"], band=Size(22.9e3)),
        claim("hpcc-f10-4", measure=lambda rows: both(rows, "queue, p99", 0.5)["DCQCN"], band=Size(2.1e6)),
        claim("hpcc-f10-5", measure=lambda rows: both(rows, "queue, p99", 0.5), band=Lowest("HPCC")),
    )  # fmt: skip
    panels = (
        Lines(
            quantity="short, p99", looks=LOOKS, over="load", title="below 10 kB", label="99th percentile of slowdown"
        ),
        Lines(
            quantity="queue, p99", looks=LOOKS, over="load", unit="KB", log="y", title="queue", label="99th percentile"
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        arrive_ps = ARRIVE_PS[check_scale(scale)]
        ports = [probes.queue(f"leaf{i // 8}", f"h{i}", every="2us") for i in range(32)]
        for load, scheme in product(LOADS, LOOKS):
            yield Point.of(
                f"{scheme}, {load:.0%}", {"scheme": scheme, "load": load, "end_ps": arrive_ps},
                network=fabric, workload=partial(traffic, load, arrive_ps, seed),
                scheme=preset("hpcc-ns3", "25Gbps")[scheme].replace(base_rtt_ps="9us"), seed=seed, until=ps(arrive_ps),
                probes=ports, cost=load,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        from_ps, found = point.labels["end_ps"] // 5, slowdowns(result, 8).dropna()
        slow = found["slowdown"][found["size_bytes"] <= SHORT_BYTES]
        waiting = np.concatenate(
            [(one := result.samples(f"queue leaf{i // 8}->h{i}"))[one.index > from_ps].to_numpy() for i in range(32)]
        )
        numbers = {
            "short, p99": (float(slow.quantile(0.99)), ""),
            "queue, p99": (float(np.quantile(waiting, 0.99)), "bytes"),
            "queue, p95": (float(np.quantile(waiting, 0.95)), "bytes"),
        }
        return tidy(point.name, numbers)
