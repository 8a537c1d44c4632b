"""PowerTCP in a permutation: each host of a rack sends to one of the next rack."""

from rdmacc.models.max_min import fair_times
from ..api import *
from .setup import LOOKS, fabric, scheme_of

PODS, SIZES, SEEDS = {"quick": 2, "paper": 4}, {"quick": "0.4MB", "paper": "4MB"}, {"quick": 1, "paper": 6}
FROM_PS, RACK = {"quick": us(50), "paper": ms(1)}, 32
OTHERS = ("HPCC", "TIMELY", "DCQCN")


def flows(scale: str, seed: int) -> pd.DataFrame:
    """Return a message from each host to one of the next rack."""
    draw, hosts = np.random.default_rng(seed), 64 * PODS[scale]
    to = [(first + RACK + one) % hosts for first in range(0, hosts, RACK) for one in draw.permutation(RACK)]
    return workload.messages([(f"h{i}", f"h{other}", SIZES[scale]) for i, other in enumerate(to)])


def of(rows: pd.DataFrame, quantity: str) -> dict[str, float]:
    return means_of(rows, LOOKS, quantity=quantity)


class Permutation(Experiment):
    name = "powertcp.permutation"
    seeding = Seeding.POOLED
    claims = (
        claim("powertcp-p-1", measure=lambda rows: of(rows, "rate")["PowerTCP"], band=AtLeast(0.9)),
        claim("powertcp-p-2", measure=lambda rows: {name: of(rows, "queue")[name] for name in ("PowerTCP", *OTHERS)},
              band=Lowest("PowerTCP")),
        claim("powertcp-p-3",
              measure=lambda rows: {name: reduction((found := of(rows, "mean FCT"))["PowerTCP"], found[name])
                  for name in OTHERS}, band=Each(AtLeast(0.1), of="other scheme"), direction=Each(MoreThan(0))),
        claim("powertcp-p-4", measure=lambda rows: of(rows, "fairness")["PowerTCP"], band=AtLeast(0.9)),
        claim("powertcp-p-5", measure=lambda rows: rows[having(rows, quantity="unfinished")]["value"].sum(),
              band=Exactly(0)),
    )  # fmt: skip
    grid = MappingProxyType({"legend": "outside lower center"})
    panels = (
        Bars(quantity="rate", looks=LOOKS, unit="%", title="rate", label="rate over the max-min fair one"),
        Bars(quantity="queue", looks=LOOKS, unit="KB", log="y", title="uplinks", label="mean queue"),
        Bars(quantity="mean FCT", looks=LOOKS, unit="ms", title="completion", label="mean FCT"),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        racks = 2 * PODS[check_scale(scale)]
        uplinks = [probes.queue(f"tor{i}", f"agg{i // 2 * 2 + j}", every="10us") for i in range(racks) for j in (0, 1)]
        for name, one in product(LOOKS, range(seed, seed + SEEDS[scale])):
            yield Point.of(
                f"{name}, seed {one}", {"scheme": name, "from_ps": FROM_PS[scale], "seed": one},
                network=partial(fabric, PODS[scale]), workload=partial(flows, scale, one), scheme=scheme_of(name),
                seed=one, until=ps(ms(200)), probes=uplinks,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        done, (_, fair_ps) = result.flows, fair_times(result.plan)
        share = (fair_ps / done["fct_ps"]).to_numpy(float)
        until_ps = int(done["fct_ps"].quantile(0.1))
        queues = [
            mean_between(one, point.labels["from_ps"], until_ps)
            for one in (result.samples(probe.name) for probe in result.watched)
        ]
        return tidy(point.name, {
            "rate": (share.mean(), ""), "fairness": (jain(share), ""), "queue": (float(np.mean(queues)), "bytes"),
            "mean FCT": (done["fct_ps"].mean(), "ps"), "last FCT": (done["fct_ps"].max(), "ps"),
            "unfinished": ((done["status"] != "finished").sum(), ""),
        })  # fmt: skip
