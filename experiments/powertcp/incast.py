"""PowerTCP: incasts meet a long flow on ns3-datacenter's network, issue #8's among them; four flows share a link."""

from ..api import *
from .setup import LOOKS, fabric, scheme_of

JOIN_PS, SETTLE_PS, EVERY_PS, BDP_BYTES = ms(1), us(200), us(10), round(25e9 * 29e-6 / 8)
SHARE, LONG, TEN, ASKED = "share", "96:1, long", ("10:1, short", "10:1, long"), ("PowerTCP", "HPCC", "TIMELY", "DCQCN")
FIRST, LAST = [f"h{i}" for i in range(1, 11)], [f"h{i}" for i in range(32, 128)]
REST = [f"h{i}" for i in range(1, 256) if i != 16]
CASES = {"10:1, short": [(FIRST, "64kB")], "10:1, long": [(FIRST, "1GB")], LONG: [(LAST, "1GB")],
         "255:1": [(FIRST, "1GB"), (REST, "2800B")]}  # fmt: skip
ENDS_PS, SHARE_PS = {LONG: ms(10)}, {"quick": ms(20), "paper": ms(100)}


def flows_of(case: str) -> pd.DataFrame:
    if case == SHARE:
        return workload.messages([(f"h{i}", "h32", "1GB", ms(i)) for i in range(4)])
    joining = [(host, "h16", size, JOIN_PS) for hosts, size in CASES[case] for host in hosts]
    return workload.messages([("h0", "h16", "1GB"), *joining])


def of_case(rows: pd.DataFrame, quantity: str, *cases: str, names: Sequence[str]) -> dict[str, dict[str, float]]:
    found = {case: means_of(rows, LOOKS, case=case, quantity=quantity) for case in cases}
    return {case: {name: one[name] for name in names} for case, one in found.items()}


def own(rows: pd.DataFrame, quantity: str, *cases: str) -> dict[str, float]:
    return {case: one["PowerTCP"] for case, one in of_case(rows, quantity, *cases, names=("PowerTCP",)).items()}


class Incast(Experiment):
    name = "powertcp.incast"
    seeding = Seeding.NONE
    claims = (
        claim("powertcp-i-1", measure=lambda rows: own(rows, "delivered", *TEN), band=Each(AtLeast(0.9), of="case")),
        claim("powertcp-i-2", measure=lambda rows: of_case(rows, "settled queue", *TEN, names=ASKED),
              band=Each(Lowest("PowerTCP"), of="case")),
        claim("powertcp-i-3", measure=lambda rows: own(rows, "late queue", LONG)[LONG], band=Between(100e3, 200e3)),
        claim("powertcp-i-4",
              measure=lambda rows: {f"flow {i}": own(rows, f"share {i}", SHARE)[SHARE] for i in range(4)},
              band=Each(Within(1, share=0.1), of="flow")),
        claim("powertcp-i-5", measure=lambda rows: own(rows, "late queue", "255:1")["255:1"] / BDP_BYTES,
              band=AtMost(0.05)),
    )  # fmt: skip
    panels = tuple(
        Traces(quantity="queue", looks={f"{name}, {case}": look for name, look in LOOKS.items()}, unit="KB",
               time_unit="ms", title=f"{case}: queue")
        for case in ("10:1, long", "255:1", LONG)
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        ends_ps = ENDS_PS | {SHARE: SHARE_PS[check_scale(scale)]}
        for name, case in product(LOOKS, (*CASES, SHARE)):
            end_ps, last = ends_ps.get(case, ms(6)), ("tor1", "h32") if case == SHARE else ("tor0", "h16")
            yield Point.of(
                f"{name}, {case}", {"scheme": name, "case": case, "end_ps": end_ps},
                network=partial(fabric, 2 if case == LONG else 4), workload=partial(flows_of, case),
                scheme=scheme_of(name), until=ps(end_ps),
                probes=[probes.queue(*last, every=ps(us(2))), probes.throughput(*last, every=ps(EVERY_PS)),
                        *(probes.goodput(i, every=ps(EVERY_PS)) for i in range(4 if case == SHARE else 1))],
                cost=end_ps / 1e9,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.labels["case"] == SHARE:
            end_ps = point.labels["end_ps"]
            late = [mean_between(result.samples(f"goodput {i}"), end_ps // 2, end_ps) for i in range(4)]
            return tidy(point.name, {f"share {i}": (one / float(np.mean(late)), "") for i, one in enumerate(late)})
        queue, sent = result.samples("queue tor0->h16"), result.samples("throughput tor0->h16")
        numbers: dict[str, tuple[float, str]] = {
            "delivered": (mean_between(sent, JOIN_PS, JOIN_PS + ms(1)) / 25e9, ""),
            "settled queue": (mean_between(queue, JOIN_PS + SETTLE_PS, JOIN_PS + ms(1)), "bytes"),
            "late queue": (mean_between(queue, point.labels["end_ps"] - ms(2), point.labels["end_ps"]), "bytes"),
            "queue, longest": (queue.max(), "bytes"),
        }
        curves = {"goodput": (result.samples("goodput 0").iloc[::5], "bps"), "queue": (queue.iloc[::10], "bytes")}
        return tidy(point.name, numbers, curves)
