"""PowerTCP under web search at 60%, as in the abstract and in issue #21 of ns3-datacenter."""

from ..api import *
from .setup import LOOKS, fabric, scheme_of

RUNS = {"quick": {"paper": ms(2)}, "paper": {"paper": ms(12), "issue": ms(40)}}
LOAD, RACKS = 0.6, [[f"h{i}" for i in range(first, first + 32)] for first in (0, 32)]
SHORT_BYTES, LONG_BYTES = 10_000, 1_000_000
tails = partial(means_of, looks=LOOKS, quantity="short, p99")
"""Returns the mean tail of short messages at 60%, by scheme, in a set-up."""


def traffic(scale: str, setup: str, seed: int) -> pd.DataFrame:
    network, duration = fabric(4 if scale == "paper" else 2), ps(RUNS[scale][setup])
    if setup == "paper":
        return workload.poisson(network, "web_search", LOAD, of="uplink", duration=duration, seed=seed)
    pairs = ((RACKS[0], RACKS[0] + RACKS[1]), (RACKS[1], RACKS[1]))
    return workload.combine(*(
        workload.poisson(network, "web_search", LOAD / 4, duration=duration, senders=senders, receivers=receivers,
                         seed=2 * seed + i) for i, (senders, receivers) in enumerate(pairs)
    ))  # fmt: skip


def lower(rows: pd.DataFrame, *others: str) -> dict[str, float]:
    """Return PowerTCP's reduction of the tail relative to others."""
    found = tails(rows, setup="paper")
    return {name: reduction(found["PowerTCP"], found[name]) for name in others}


class Load(Experiment):
    name = "powertcp.load"
    seeding = Seeding.POOLED
    claims = (
        claim("powertcp-l-1", measure=lambda rows: lower(rows, "DCQCN", "TIMELY"),
              band=Each(Part(0.8), of="other scheme"), direction=Each(MoreThan(0))),
        claim("powertcp-l-2", measure=lambda rows: lower(rows, "HPCC"), band=Each(Part(0.33), of="other scheme"),
              direction=Each(MoreThan(0))),
        claim("powertcp-l-3", measure=lambda rows: (found := tails(rows, setup="issue"))["PowerTCP"] / found["HPCC"],
              band=MoreThan(1)),
        claim("powertcp-l-4", measure=lambda rows: rows[having(rows, quantity="unfinished")]["value"].sum(),
              band=Exactly(0)),
    )  # fmt: skip
    panels = (
        Bars(quantity="short, p99", over="setup", looks=LOOKS, unit="us", log="y", title="below 10 kB",
             label="99th percentile of the FCT"),
        Bars(quantity="long, p50", over="setup", looks=LOOKS, unit="ms", title="above 1 MB", label="median FCT"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + (6 if check_scale(scale) == "paper" else 1))
        for setup, name, one in product(RUNS[scale], LOOKS, seeds):
            yield Point.of(
                f"{name}, {setup}, seed {one}", {"scheme": name, "setup": setup, "seed": one},
                network=partial(fabric, 4 if scale == "paper" else 2), scheme=scheme_of(name), seed=one,
                workload=partial(traffic, scale, setup, one), until=ps(ms(500)),
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows = result.flows
        counted = flows[flows["start_ps"] > flows["start_ps"].max() // 4]
        short, long = (counted["fct_ps"][counted["size_bytes"].between(*ends)] for ends in
                       ((0, SHORT_BYTES), (LONG_BYTES, math.inf)))  # fmt: skip
        return tidy(point.name, {
            "short, p50": (short.quantile(0.5), "ps"), "short, p99": (short.quantile(0.99), "ps"),
            "long, p50": (long.quantile(0.5), "ps"), "short": (len(short), ""),
            "unfinished": ((flows["status"] != "finished").sum(), ""),
        })  # fmt: skip
