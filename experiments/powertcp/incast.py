"""PowerTCP: an incast meets a long flow, 10:1 and, as in issue #8, 96:1; four flows share a link.

Hosts of 25 Gb/s on one switch, links of 1 us; the schemes of ns3-datacenter and of HPCC's simulator, on which it is
built. A long flow has the link; after 1 ms 10 (or 96) others begin together. "Short" are 64 kB each, "long" last to the
end, as in the issue, which starts all flows without an end; with an abstract alone, 64 kB is our choice. "Share": four
long flows begin 1 ms apart, and their goodput counts from 10 to 20 ms. The queue is "settled" 200 us after the incast
began.
"""

from __future__ import annotations

from ..api import *

LOOKS = {"powertcp": ("PowerTCP", "blue"), "theta-powertcp": ("theta-PowerTCP", "sky"), "hpcc": ("HPCC", "green"),
         "timely": ("TIMELY", "orange"), "dcqcn": ("DCQCN", "vermilion")}  # fmt: skip
JOIN_PS, SETTLE_PS, EVERY_PS = ms(1), us(200), us(10)
CASES = {"10:1, short": (10, "64kB"), "10:1, long": (10, "1GB"), "96:1, long": (96, "1GB")}
SHARE = "share"
QUOTE = (
    "PowerTCP leverages in-band network telemetry to react to changes in the network instantaneously without loss of "
    "throughput and while keeping queues short."
)


def scheme_of(name: str) -> Scheme:
    """Return a scheme of either simulator at 25 Gb/s."""
    return preset("powertcp-ns3" if "power" in name else "hpcc-ns3", "25Gbps")[name]


def flows_of(case: str) -> pd.DataFrame:
    """Return the messages of a case, the long flow first."""
    if case == SHARE:
        return workload.messages([(f"h{i}", "h0", "1GB", ms(i - 1)) for i in range(1, 5)])
    count, size = CASES[case]
    return workload.messages([("h1", "h0", "1GB"), *((f"h{i + 2}", "h0", size, JOIN_PS) for i in range(count))])


def of_case(rows: pd.DataFrame, quantity: str, *cases: str) -> dict[str, Any]:
    """Return a number of all schemes, by case."""
    found = {case: rows[having(rows, case=case, quantity=quantity)].set_index("scheme")["value"] for case in cases}
    return {case: {LOOKS[one][0]: float(values[one]) for one in LOOKS} for case, values in found.items()}


@register_experiment
class Incast(Experiment):
    name = "powertcp.incast"
    title = "Incasts of 10:1 and 96:1, and four flows"
    description = "PowerTCP: incasts meet a long flow, issue #8's among them; four flows share a link"
    seeding = Seeding.NONE
    claims = (
        Claim(
            "powertcp-i-1", "abstract", "bytes delivered over the link's in the 1 ms after an incast began", "10:1",
            "no loss of throughput", quote=QUOTE,
            measure=lambda rows: {case: one["PowerTCP"] for case, one in
                                  of_case(rows, "delivered", "10:1, short", "10:1, long").items()},
            band=Each(AtLeast(0.9), of="case"), unit="%", chosen=Chosen.BY_RULE,
        ),
        Claim(
            "powertcp-i-2", "abstract", "mean queue from 200 us to 1 ms after an incast began", "10:1",
            "short: the shortest", quote=QUOTE,
            measure=lambda rows: {case: {name: value for name, value in one.items() if name != "theta-PowerTCP"}
                                  for case, one in of_case(rows, "settled queue", "10:1, short", "10:1, long").items()},
            band=Each(Lowest("PowerTCP"), of="case"), unit="KB", expect=Outcome.FAILS,
            why="HPCC's queue is shorter by less than a packet: both are all but empty.",
        ),
        Claim(
            "powertcp-i-3", "ns3-datacenter, issue #8", "mean queue, last 1 ms", "96:1, long flows", "100 to 200 KB",
            by=OURS, measure=lambda rows: of_case(rows, "late queue", "96:1, long")["96:1, long"]["PowerTCP"],
            band=Between(100e3, 200e3), unit="KB", expect=Outcome.FAILS,
            why="The 96 first windows take milliseconds to drain: 287 KB on average in the first, 29 KB in the third.",
        ),
        Claim(
            "powertcp-i-4", "our reading of fairness", "goodput of each of four flows over its share", "10 to 20 ms",
            "the same", by=OURS, unit="x",
            measure=lambda rows: {f"flow {i}": of_case(rows, f"share {i}", SHARE)[SHARE]["PowerTCP"] for i in range(4)},
            band=Each(Within(1, share=0.1), of="flow"),
        ),
    )  # fmt: skip
    panels = tuple(
        Traces(quantity=quantity, looks={f"{name}, {case}": look for name, look in LOOKS.items()}, unit=unit,
               time_unit="ms", title=f"{case}: {title}")
        for case, quantity, unit, title in (
            ("10:1, short", "queue", "KB", "queue"), ("10:1, short", "goodput", "Gb/s", "the long flow"),
            ("96:1, long", "queue", "KB", "queue"),
        )
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        check_scale(scale)
        for name, case in product(LOOKS, (*CASES, SHARE)):
            end_ps = ms(20) if case == SHARE else ms(4)
            scenario = Scenario(
                network=partial(topology.star, 98, rate="25Gbps", delay="1us"), workload=partial(flows_of, case),
                scheme=scheme_of(name), until=ps(end_ps),
                probes=[probes.queue("s0", "h0", every=ps(us(2))), probes.throughput("s0", "h0", every=ps(EVERY_PS)),
                        *(probes.goodput(i, every=ps(EVERY_PS)) for i in range(4 if case == SHARE else 1))],
            )  # fmt: skip
            yield Point(name=f"{name}, {case}", scenario=scenario, labels={"scheme": name, "case": case})

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.labels["case"] == SHARE:
            late = [mean_between(result.samples(f"goodput {i}"), ms(10), ms(20)) for i in range(4)]
            return tidy(point.name, {f"share {i}": (one / float(np.mean(late)), "") for i, one in enumerate(late)})
        queue, sent = result.samples("queue s0->h0"), result.samples("throughput s0->h0")
        numbers: dict[str, tuple[float, str]] = {
            "delivered": (mean_between(sent, JOIN_PS, JOIN_PS + ms(1)) / 25e9, ""),
            "settled queue": (mean_between(queue, JOIN_PS + SETTLE_PS, JOIN_PS + ms(1)), "bytes"),
            "late queue": (mean_between(queue, ms(3), ms(4)), "bytes"),
            "queue, longest": (queue.max(), "bytes"),
        }
        curves = {"goodput": (result.samples("goodput 0").iloc[::5], "bps"), "queue": (queue.iloc[::10], "bytes")}
        return tidy(point.name, numbers, curves)
