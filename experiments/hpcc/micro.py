"""HPCC's abstract on a micro-benchmark: a short flow joins a long one, an incast meets it, four flows share a link."""

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
    if case == SHARE:
        return workload.messages([(f"h{i}", "h0", "700MB", ms(i - 1)) for i in range(1, 5)])
    count, size = CASES[case]
    return workload.messages([("h1", "h0", "50MB"), *((f"h{i + 2}", "h0", size, JOIN_PS) for i in range(count))])


def by_case(rows: pd.DataFrame, quantity: str, scheme: str) -> pd.Series:
    found = wide(rows)
    return found[found["scheme"] == scheme].set_index("case")[quantity].dropna()


def both(rows: pd.DataFrame, quantity: str) -> dict[str, dict[str, float]]:
    """Return a quantity of both schemes, by case."""
    found = {name: by_case(rows, quantity, scheme) for scheme, (name, _) in LOOKS.items()}
    return {case: {name: values[case] for name, values in found.items()} for case in found["HPCC"].index}


class Micro(Experiment):
    name = "hpcc.micro"
    claims = (
        claim("hpcc-m-1", measure=partial(both, quantity="recovered"),
              band=Each(All(At("HPCC", AtLeast(0.9)), Highest("HPCC")), of="case")),
        claim("hpcc-m-2", measure=lambda rows: by_case(rows, "queue, settled", "hpcc-mi5") / BDP_BYTES,
              band=Each(AtMost(0.05), of="case")),
        claim("hpcc-m-3",
              measure=lambda rows: {f"flow {i}": by_case(rows, f"share {i}", "hpcc-mi5")[SHARE] for i in range(4)},
              band=Each(Within(1, share=0.1), of="flow")),
        claim("hpcc-m-4", measure=partial(both, quantity="queue, longest"), band=Each(Lowest("HPCC"), of="case")),
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
            yield Point.of(
                f"{scheme}, {case}", {"scheme": scheme, "case": case, "end_ps": end_ps},
                network=partial(topology.star, 66, rate=bps(LINE_BPS), delay=DELAY), workload=work, seed=seed,
                scheme=preset("hpcc-ns3", "25Gbps")[scheme], until=ps(end_ps),
                probes=[*watched, probes.queue("s0", "h0")], cost=end_ps / 1e9,
            )  # fmt: skip

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
