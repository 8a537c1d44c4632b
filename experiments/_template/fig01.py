"""Toy, figure 1: senders that start together share their receiver's link."""

from rdmacc.experiments.api import *

LOOKS = {"toy": ("Toy", "blue"), "dcqcn": ("DCQCN", "vermilion")}
PUBLISHED = {"toy": [(2, 1.1), (8, 1.1)]}
"""Completion times relative to a fair share, read off the figure to 0.05."""
START_PS = {"together": 0, "within a round trip": us(4)}


def incast(senders: int, within_ps: int, seed: int) -> pd.DataFrame:
    """Return the messages of an incast, each starting within some time."""
    flows = workload.incast([f"h{i}" for i in range(1, senders + 1)], "h0", "64kB")
    return flows.assign(start_ps=np.random.default_rng(seed).integers(0, within_ps + 1, senders))


def by_senders(rows: pd.DataFrame, quantity: str, scheme: str = "toy") -> dict[str, float]:
    """Return a quantity of a scheme by number of senders."""
    found = wide(rows)
    return {f"{row.senders} senders": row[quantity] for _, row in found[found["scheme"] == scheme].iterrows()}


def queues_of_most(rows: pd.DataFrame) -> dict[str, float]:
    """Return each scheme's longest queue with the most senders."""
    return {one: [*by_senders(rows, "queue, longest", one).values()][-1] for one in LOOKS}


class Figure1(Experiment):
    name = "toy.fig1"
    claims = (
        claim("toy-f1-1", measure=partial(by_senders, quantity="FCT over a fair share's"),
              band=Each(Within(1.1, share=0.1), of="number of senders")),
        claim("toy-f1-2", measure=queues_of_most, band=Lowest("toy")),
        claim("toy-f1-3", measure=partial(by_senders, quantity="queue, longest"), band=Each(AtMost(100e3))),
        claim("toy-f1-4", measure=lambda rows: wide(rows)["lost"].sum(), band=Exactly(0)),
    )  # fmt: skip
    panels = (
        Lines(quantity="FCT over a fair share's", over="senders", looks=LOOKS, published=PUBLISHED, title="(a)"),
        Traces(quantity="queue", looks={"toy, 8, together": LOOKS["toy"], "dcqcn, 8, together": LOOKS["dcqcn"]},
               unit="KB", title="(b) 8 senders"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        counts = (2, 8) if scale == "quick" else (2, 8, 32)
        for scheme, senders, start in product(LOOKS, counts, START_PS):
            yield Point.of(
                f"{scheme}, {senders}, {start}", {"scheme": scheme, "senders": senders, "start": start},
                network=partial(topology.star, senders + 1, rate="100Gbps", delay="1us"),
                workload=partial(incast, senders, START_PS[start], seed), scheme=preset("toy-2030")[scheme], seed=seed,
                probes=[probes.queue("s0", "h0")], cost=senders,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, queue = result.flows, result.samples("queue s0->h0")
        fair_ps = flows["ideal_fct_ps"].mean() + (point.labels["senders"] - 1) * 64 * result.plan.scheme.wire_bytes * 80
        numbers = {
            "FCT over a fair share's": (flows["fct_ps"].mean() / fair_ps, ""),
            "queue, longest": (queue.max(), "bytes"),
            "lost": ((flows["status"] != "finished").sum(), ""),
        }
        return tidy(point.name, numbers, {"queue": (queue, "bytes")})

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        rows = table[table["start"] == ("together" if reading == DEFAULT else reading)]
        return rows if len(rows) else None
