"""HPCC's abstract on a micro-benchmark: a short flow joins a long one, an incast meets it, four flows share a link.

The abstract gives no set-up. In the manner of the paper's figure 9, hosts have 25 Gb/s and share a switch; links of
2 us make a round trip of about 9 us. The schemes are those of the authors' simulator (`hpcc-ns3`), HPCC with the
paper's five stages of additive increase. "Join": a flow of 1 MB joins a long one after 300 us. "Incast": 7 flows (at
paper scale 63 in another run) of 500 KB do. "Share": four long flows begin 1 ms apart. Not run: the testbed.

After the first runs two measurements were changed. Recovery was the time until the receiver had the long flow at 90% of
the line again: DCQCN's queue delivers that at once. Shares were taken from 10 to 20 ms, of flows that began together:
these stay in lock-step, and unequal, for good; and a gap between windows closes by N W_AI / W in each multiplicative
step, one round trip in six, which is a time constant of 35 ms here.
"""

from ..api import *

LOOKS = {"hpcc-mi5": ("HPCC", "blue"), "dcqcn": ("DCQCN", "vermilion")}
LINE_BPS, DELAY = 25e9, "2us"
JOIN_PS, EVERY_PS, SETTLE_PS = us(300), us(10), us(100)
BDP_BYTES = round(LINE_BPS * 9e-6 / 8)
CASES = {"join": (1, "1MB"), "incast of 7": (7, "500kB"), "incast of 63": (63, "500kB")}
SHARE = "share"
ENDS_PS = {"join": ms(3), "incast of 7": ms(4), "incast of 63": ms(14)}
SHARE_PS = {"quick": ms(20), "paper": ms(200)}


def flows_of(case: str) -> pd.DataFrame:
    """Return the messages of a case: the long flow first."""
    if case == SHARE:
        return workload.messages([(f"h{i}", "h0", "700MB", ms(i - 1)) for i in range(1, 5)])
    count, size = CASES[case]
    return workload.messages([("h1", "h0", "50MB"), *((f"h{i + 2}", "h0", size, JOIN_PS) for i in range(count))])


def by_case(rows: pd.DataFrame, quantity: str, scheme: str) -> pd.Series:
    """Return a number of a scheme by case."""
    found = wide(rows)
    return found[found["scheme"] == scheme].set_index("case")[quantity].dropna()


def both(rows: pd.DataFrame, quantity: str) -> dict[str, dict[str, float]]:
    """Return a number of both schemes, by case."""
    found = {name: by_case(rows, quantity, scheme) for scheme, (name, _) in LOOKS.items()}
    return {case: {name: values[case] for name, values in found.items()} for case in found["HPCC"].index}


@register_experiment
class Micro(Experiment):
    name = "hpcc.micro"
    title = "Joining, incast, fairness"
    description = "HPCC's abstract, on a micro-benchmark: a flow joins, an incast, four flows share a link"
    claims = (
        Claim(
            "hpcc-m-1", "abstract", "goodput of the long flow in the 1 ms after the last short flow over that before",
            "a flow of 1 MB, incasts", "quickly",
            quote="HPCC can quickly converge to utilize free bandwidth while avoiding congestion",
            measure=partial(both, quantity="recovered"), unit="%", chosen=Chosen.IN_SIGHT,
            band=Each(All(At("HPCC", AtLeast(0.9)), Highest("HPCC")), of="case"),
        ),
        Claim(
            "hpcc-m-2", "abstract", "mean queue over the BDP, from 100 us after the join to the last short flow's end",
            "a flow of 1 MB, incasts", "near-zero",
            quote="can maintain near-zero in-network queues for ultra-low latency",
            measure=lambda rows: by_case(rows, "queue, settled", "hpcc-mi5") / BDP_BYTES,
            band=Each(AtMost(0.05), of="case"), unit="%", chosen=Chosen.BY_RULE,
            expect={"quick": Outcome.HOLDS, "paper": Outcome.FAILS},
            why="63 first windows take the link 0.6 ms. And the least rate of the authors' simulator, 1 Gb/s, is too "
            "much for 63 flows: with 100 Mb/s the mean would be 139%.",
        ),
        Claim(
            "hpcc-m-3", "abstract", "goodput of each of four flows over its share", "100 to 200 ms", "fair",
            quote="HPCC is also fair and easy to deploy in hardware.",
            measure=lambda rows: {f"flow {i}": by_case(rows, f"share {i}", "hpcc-mi5")[SHARE] for i in range(4)},
            band=Each(Within(1, share=0.1), of="flow"), unit="x", chosen=Chosen.BY_RULE,
            too_small="The quick scale ends before the shares can meet.", expect=Outcome.FAILS,
            why="They close from 0.4 to 1.6 in the first 20 ms and then wander, with 7 packets in a window.",
        ),
        Claim(
            "hpcc-m-4", "abstract", "longest queue", "incasts", "little congestion",
            quote="compared to DCQCN and TIMELY, HPCC shortens flow completion times by up to 95%, causing little "
            "congestion even under large-scale incasts.",
            measure=partial(both, quantity="queue, longest"), band=Each(Lowest("HPCC"), of="case"), unit="KB",
        ),
    )  # fmt: skip
    panels = tuple(
        Traces(quantity=quantity, looks={f"{scheme}, {case}": look for scheme, look in LOOKS.items()}, unit=unit,
               time_unit="ms", title=f"{case}: {title}")
        for case, quantity, unit, title in (
            ("join", "goodput", "Gb/s", "the long flow"), ("join", "queue", "KB", "queue"),
            ("incast of 7", "queue", "KB", "queue"),
        )
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        cases = ("join", "incast of 7", SHARE) if check_scale(scale) == "quick" else (*CASES, SHARE)
        for scheme, case in product(LOOKS, cases):
            work, end_ps = partial(flows_of, case), ENDS_PS.get(case, SHARE_PS[scale])
            watched = [probes.goodput(i, every=ps(EVERY_PS)) for i in range(4 if case == SHARE else 1)]
            scenario = Scenario(
                network=partial(topology.star, 66, rate=bps(LINE_BPS), delay=DELAY), workload=work, seed=seed,
                scheme=preset("hpcc-ns3", "25Gbps")[scheme], until=ps(end_ps),
                probes=[*watched, probes.queue("s0", "h0")],
            )  # fmt: skip
            labels = {"scheme": scheme, "case": case, "end_ps": end_ps}
            yield Point(name=f"{scheme}, {case}", scenario=scenario, labels=labels, cost=end_ps / 1e9)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        queue, goodput = result.samples("queue s0->h0"), result.samples("goodput 0")
        if point.labels["case"] == SHARE:
            end_ps = point.labels["end_ps"]
            later = [mean_between(result.samples(f"goodput {i}"), end_ps // 2, end_ps) for i in range(4)]
            return tidy(point.name, {f"share {i}": (one / float(np.mean(later)), "") for i, one in enumerate(later)})
        flows = result.flows.iloc[1:]
        ended_ps = int((flows["start_ps"] + flows["fct_ps"]).max())
        before, after = (mean_between(goodput, at, at + span) for at, span in ((0, JOIN_PS), (ended_ps, ms(1))))
        spans = shown(queue, JOIN_PS + SETTLE_PS, ended_ps)
        numbers: dict[str, tuple[float, str]] = {
            "recovered": (after / before, ""),
            "queue, settled": (float(np.average(spans.iloc[:-1], weights=np.diff(spans.index))), "bytes"),
            "queue, longest": (queue.max(), "bytes"),
        }
        return tidy(point.name, numbers, {"goodput": (goodput, "bps"), "queue": (queue, "bytes")})
