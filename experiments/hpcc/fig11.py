"""HPCC's figure 11 by its authors' method: slowdowns under Hadoop, with incasts and at 50%, and under web search."""

from ..api import *
from .setup import BUSY, CASES, INCAST, PODS, SEEDS, WEB, slowdowns, traffic, tree

LOOKS = {"hpcc": ("HPCC", "blue"), "dcqcn": ("DCQCN", "vermilion"), "dcqcn-vwin": ("DCQCN+w", "orange"),
         "timely": ("TIMELY", "green"), "timely-vwin": ("TIMELY+w", "sky"), "dctcp": ("DCTCP", "purple")}  # fmt: skip
OTHERS = ("DCQCN", "TIMELY", "DCQCN+w", "TIMELY+w", "DCTCP")
EDGES = (0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
RANGES = {"short": (0, 200_000), "small": (0, 120_000), "long": (1_000_000, math.inf)}
MUCH = AtLeast(0.1)


def numbers(rows: pd.DataFrame, quantity: str, case: str) -> dict[str, float]:
    """Return a quantity of a case by scheme: the mean over seeds, the largest over sizes."""
    found = rows[having(rows, case=case, quantity=quantity)].groupby(["scheme", "size"])["value"].mean()
    if not len(found):
        raise NotJudged(f"no run of {case}")
    return {name: float(found[scheme].max()) for scheme, (name, _) in LOOKS.items()}


def lower(rows: pd.DataFrame, quantity: str, *cases: str, others: Sequence[str] = OTHERS) -> dict[str, float]:
    """Return HPCC's reduction of a quantity relative to others."""
    found = {case: numbers(rows, quantity, case) for case in cases}
    return {f"{case}: {name}": reduction(one["HPCC"], one[name]) for case, one in found.items() for name in others}


class Fig11(Experiment):
    name = "hpcc.fig11"
    seeding = Seeding.POOLED
    claims: tuple[Claim, ...] = (
        claim("hpcc-f11-1", measure=lambda rows: lower(rows, "small, p95", INCAST, BUSY), band=Each(MUCH),
              direction=Each(MoreThan(0))),
        claim("hpcc-f11-2", measure=lambda rows: numbers(rows, "pauses", INCAST),
              band=All({"DCQCN": MoreThan(0), "TIMELY": MoreThan(0), "HPCC": Exactly(0), "DCQCN+w": Exactly(0)})),
        claim("hpcc-f11-3",
              measure=lambda rows: (found := numbers(rows, "long, p50", BUSY))["HPCC"]
              / float(np.mean([found[name] for name in OTHERS])), band=Size(1.24), direction=MoreThan(1)),
        claim("hpcc-f11-4",
              measure=lambda rows: {one: numbers(rows, f"p95, {one}", one)["DCQCN"] for one in (BUSY, INCAST)},
              band=All({BUSY: Size(5), INCAST: Between(40, 93)})),
        claim("hpcc-f11-5",
              measure=lambda rows: {f"{case}: {name}": reduction(found[f"{name}+w"], found[name]) for case in CASES
                                    for found in [numbers(rows, "short, p99", case)] for name in ("DCQCN", "TIMELY")},
              band=Each(MUCH), direction=Each(MoreThan(0))),
        claim("hpcc-f11-6", measure=lambda rows: lower(rows, "short, p99", WEB, others=OTHERS[2:]), band=Each(MUCH)),
        claim("hpcc-f11-7", measure=lambda rows: numbers(rows, "long, p50", WEB), band=Highest("HPCC")),
    )  # fmt: skip
    grid = MappingProxyType({"legend": "outside lower center"})
    panels = (
        *(Lines(quantity=f"p95, {case}", looks=LOOKS, over="size", log="xy", title=case, xlabel="size up to (bytes)",
                label="95th percentile of the slowdown") for case in CASES),
        Bars(quantity="long, p50", looks=LOOKS, over="case", title="above 1 MB", label="median slowdown"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + SEEDS[check_scale(scale)])
        for one, case, name in product(seeds, CASES if scale == "paper" else (INCAST, WEB), LOOKS):
            yield Point.of(
                f"{name}, {case}, seed {one}", {"scheme": name, "case": case, "tree": scale, "seed": one},
                network=partial(tree, scale), workload=partial(traffic, case, scale, one), until=ps(ms(500)), seed=one,
                scheme=preset("hpcc-ns3")[name], cost=CASES[case][3] / 1e9,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        _, racks, hosts, *_ = PODS[point.labels["tree"]]
        found, case = slowdowns(result, hosts, racks), point.labels["case"]
        tails = [(f"{name}, p{q}", ends, q, 0) for name, ends in RANGES.items() for q in (50, 95, 99)]
        tails += [(f"p95, {case}", (least + 1, most), 95, most) for least, most in pairwise(EDGES)]
        parts = [tidy(point.name, {"pauses": (float(result.counters["pfc_pauses"]), "")}).assign(size=0)]
        for name, ends, q, size in tails:
            some = found["slowdown"][found["size_bytes"].between(*ends)]
            parts += [tidy(point.name, {name: (float(some.quantile(q / 100)), "")}).assign(size=size)] * (len(some) > 0)
        return pd.concat(parts, ignore_index=True)
