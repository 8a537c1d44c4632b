"""HPCC's figure 11 in the manner of its authors: slowdowns under Hadoop, with incasts and at 50%, and under web search.

Two of the five pods of the authors' fat tree (fat.txt of their simulator: 100 Gb/s to servers, 400 Gb/s above, 1 us a
link, 32 MB a switch), 128 servers, and the simulator's schemes; HPCC without stages of additive increase (maxStage 0):
the authors' page of results says that the paper's 5 is a typo for its simulations. Loads count payload, as there. With
"incast", 60 random servers send 500 kB each to a random one, again and again, 2% of the servers' links (the authors in
issue #36). Messages arrive for 3, 1.2 and 1 ms, not 100 (quick: 0.2 ms on 32 servers, one incast of 20); those of the
first fifth do not count, and all finish. A slowdown is over the FCT of the message alone, without telemetry. "Small" is
below 120 KB, "short" below 200 KB, "long" above 1 MB; "+w" has a window. Quotes are of the page of results that goes
with the paper (hpcc-group.github.io, results.md), which runs eta = 99% where we keep the paper's 95%; figure 11's
claims are the paper's in our words. Its latencies and the share of time in pause are not measured.
"""

from rdmacc.workload import LoadDefinition
from ..api import *

LOOKS = {"hpcc": ("HPCC", "blue"), "dcqcn": ("DCQCN", "vermilion"), "dcqcn-vwin": ("DCQCN+w", "orange"),
         "timely": ("TIMELY", "green"), "timely-vwin": ("TIMELY+w", "sky"), "dctcp": ("DCTCP", "purple")}  # fmt: skip
OTHERS = ("DCQCN", "TIMELY", "DCQCN+w", "TIMELY+w", "DCTCP")
INCAST, BUSY, WEB = "hadoop, 30% and incast", "hadoop, 50%", "web search, 30%"
CASES = {INCAST: ("hadoop", 0.3, 0.02, us(3000)), BUSY: ("hadoop", 0.5, 0.0, us(1200)),
         WEB: ("web_search", 0.3, 0.0, us(1000))}  # fmt: skip
PODS, QUICK_PS = {"quick": (2, 2, 8, 2, 4), "paper": (2, 4, 16, 4, 16)}, us(200)
EDGES = (0, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
RANGES = {"short": (0, 200_000), "small": (0, 120_000), "long": (1_000_000, math.inf)}
SEEDS = {"quick": 1, "paper": 6}
MUCH, FEW = AtLeast(0.1), "The quick scale has too few messages for a tail."


def tree(scale: str) -> Graph:
    """Return two pods; at quick scale small ones."""
    return topology.clos(*PODS[scale], rate="100Gbps", fabric_rate="400Gbps", delay="1us", buffer="32MB")


def traffic(case: str, scale: str, seed: int) -> pd.DataFrame:
    """Return a case's messages."""
    sizes, load, incast, arrive_ps = CASES[case]
    fabric, of = tree(scale), LoadDefinition("host", header_bytes=0)
    duration = ps(arrive_ps if scale == "paper" else QUICK_PS)
    found = workload.poisson(fabric, sizes, load, of=of, duration=duration, seed=seed)
    if not incast:
        return found
    until: dict[str, Any] = {"duration": duration} if scale == "paper" else {"count": 1}
    degree = 60 if scale == "paper" else 20
    more = workload.incasts(fabric, degree, "500kB", load=incast, of=of, seed=seed + 1000, **until)
    return workload.combine(found, more)


def numbers(rows: pd.DataFrame, quantity: str, case: str) -> dict[str, float]:
    """Return a number of a case by scheme: the mean over the seeds, the largest over sizes."""
    found = rows[having(rows, case=case, quantity=quantity)].groupby(["scheme", "size"])["value"].mean()
    if not len(found):
        raise NotJudged(f"no run of {case}")
    return {name: float(found[scheme].max()) for scheme, (name, _) in LOOKS.items()}


def lower(rows: pd.DataFrame, quantity: str, *cases: str, others: Sequence[str] = OTHERS) -> dict[str, float]:
    """Return how much lower HPCC's number is than that of others."""
    found = {case: numbers(rows, quantity, case) for case in cases}
    return {f"{case}: {name}": reduction(one["HPCC"], one[name]) for case, one in found.items() for name in others}


@register_experiment
class Fig11(Experiment):
    name = "hpcc.fig11"
    title = "Slowdowns under Hadoop and web search"
    description = "HPCC, figure 11: slowdowns and PFC pauses under Hadoop, with incasts and at 50%, and web search"
    seeding = Seeding.POOLED
    claims: tuple[Claim, ...] = (
        Claim(
            "hpcc-f11-1", "figure 11(a), (c)", "95th percentile of small messages' slowdown, reduction by HPCC",
            "Hadoop", "much lower than all others", measure=lambda rows: lower(rows, "small, p95", INCAST, BUSY),
            band=Each(MUCH), direction=Each(MoreThan(0)), unit="%", chosen=Chosen.BY_RULE, too_small=FEW,
        ),
        Claim(
            "hpcc-f11-2", "figure 11(b)", "PFC pauses", INCAST, "DCQCN and TIMELY; not HPCC, almost never +w",
            measure=lambda rows: numbers(rows, "pauses", INCAST), too_small=FEW,
            band=All({"DCQCN": MoreThan(0), "TIMELY": MoreThan(0), "HPCC": Exactly(0), "DCQCN+w": Exactly(0)}),
            expect=Outcome.FAILS,
            why="28 under HPCC, 34 under DCQCN+w, 353 under TIMELY+w, 2,702 and more without a window: sixty first "
            "windows of a BDP make 9 MB at one port, and incasts overlap.",
        ),
        Claim(
            "hpcc-f11-3", "section 5.3", "median of long messages' slowdown over the others' mean", BUSY, "1.24 x",
            measure=lambda rows: (found := numbers(rows, "long, p50", BUSY))["HPCC"]
            / float(np.mean([found[name] for name in OTHERS])),
            band=Size(1.24), direction=MoreThan(1), unit="x", chosen=Chosen.BY_RULE, too_small=FEW,
        ),
        Claim(
            "hpcc-f11-4", "issue #36", "largest 95th percentile of DCQCN's slowdown over sizes", "Hadoop",
            "about 5, 60 to 70 with incasts; 8 and 120 in the issue", unit="x", chosen=Chosen.BY_RULE, too_small=FEW,
            measure=lambda rows: {one: numbers(rows, f"p95, {one}", one)["DCQCN"] for one in (BUSY, INCAST)},
            band=All({BUSY: Size(5), INCAST: Between(40, 93)}), expect=Outcome.FAILS,
            why="7.9 at 50% is the issue's 8, not the paper's 5. With incasts 284, because a few incasts fill most of "
            "these 3 ms.",
        ),
        Claim(
            "hpcc-f11-5", "the authors' results", "99th percentile of short messages' slowdown, reduction by +w",
            "all runs", "much better", band=Each(MUCH), direction=Each(MoreThan(0)), unit="%", chosen=Chosen.BY_RULE,
            quote="In the paper, we already show that DCQCN+w and TIMELY+w is much better than DCQCN and TIMELY, so "
            "here we only compare with their +w versions.", too_small=FEW,
            measure=lambda rows: {f"{case}: {name}": reduction(found[f"{name}+w"], found[name]) for case in CASES
                                  for found in [numbers(rows, "short, p99", case)] for name in ("DCQCN", "TIMELY")},
        ),
        Claim(
            "hpcc-f11-6", "the authors' results", "99th percentile of short messages' slowdown, reduction by HPCC",
            WEB, "significant", band=Each(MUCH), unit="%", chosen=Chosen.BY_RULE, too_small=FEW,
            quote="HPCC significantly improves the FCT for flows < 200KB, especially at the tail.",
            measure=lambda rows: lower(rows, "short, p99", WEB, others=OTHERS[2:]),
        ),
        Claim(
            "hpcc-f11-7", "the authors' results", "median of long messages' slowdown", WEB, "longest under HPCC",
            quote="HPCC-INT has longer FCT for long flows, which is expected because of the INT overhead", unit="x",
            measure=lambda rows: numbers(rows, "long, p50", WEB), band=Highest("HPCC"), chosen=Chosen.BY_TEXT,
            too_small=FEW,
        ),
    )  # fmt: skip
    panels = (
        *(Lines(quantity=f"p95, {case}", looks=LOOKS, over="size", log="xy", title=case, xlabel="size up to (bytes)",
                label="95th percentile of the slowdown") for case in CASES),
        Bars(quantity="long, p50", looks=LOOKS, over="case", title="above 1 MB", label="median slowdown"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + SEEDS[check_scale(scale)])
        cases = CASES if scale == "paper" else (INCAST, WEB)
        for one, case, name in product(seeds, cases, LOOKS):
            scenario = Scenario(
                network=partial(tree, scale),
                workload=partial(traffic, case, scale, one),
                scheme=preset("hpcc-ns3")[name],
                seed=one,
                until=ps(ms(500)),
            )
            labels = {"scheme": name, "case": case, "seed": one}
            yield Point(name=f"{name}, {case}, seed {one}", scenario=scenario, labels=labels, cost=CASES[case][3] / 1e9)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, wire = result.flows, preset("hpcc-ns3")["dcqcn"].wire_bytes / result.plan.scheme.wire_bytes
        counted = flows[flows["start_ps"] > flows["start_ps"].max() // 5]
        slow = counted["fct_ps"].astype(float) / (counted["ideal_fct_ps"].astype(float) * wire)
        found = {"pauses": (float(result.counters["pfc_pauses"]), "")}
        for name, ends in RANGES.items():
            some = slow[counted["size_bytes"].between(*ends)]
            found |= {f"{name}, p{q}": (float(some.quantile(q / 100)), "") for q in (50, 95, 99)}
        parts = [tidy(point.name, found).assign(size=0)]
        for least, most in pairwise(EDGES):
            some = slow[counted["size_bytes"].between(least, most, inclusive="right")]
            value = {f"p95, {point.labels['case']}": (float(some.quantile(0.95)), "")}
            parts += [tidy(point.name, value).assign(size=most)] if len(some) else []
        return pd.concat(parts, ignore_index=True)
