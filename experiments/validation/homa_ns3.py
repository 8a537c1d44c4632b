"""Validation against Homa's port to ns-3 (github.com/serhatarslan-hub/HomaL4Protocol-ns-3): the same runs."""

from rdmacc.experiments.validation.flows import lines_by_size, measure_delivered, stored_flows
from rdmacc.experiments.validation.references import CLOSE_RUNS, by_run, distributions, dots, inexact
from ..api import *

DELAYS = {"10G": "250ns", "100G": "1us"}
INCASTS = {
    f"{senders} x {name}": (senders, size)
    for senders in (8, 32)
    for name, size in (("1 MB", 1_000_000), ("200 kB", 200_000))
}
W5 = {f"W5, {load}%, run {run}": f"{load}_{run}" for load in (50, 80) for run in (0, 1)}
_BUFFER = "1GB"
"""Above the port limits, so it is never reached."""

_MANY_BYTES = 4000 * 1502

_fabric = partial(
    topology.leaf_spine, 9, 4, 16, rate="10Gbps", fabric_rate="40Gbps", delay="250ns", buffer=_BUFFER,
)  # fmt: skip


def _nothing_lost(table: pd.DataFrame) -> dict[str, float]:
    rows = wide(table)
    stars = rows[rows["case"].isin(INCASTS)]
    return {"drops": float(stars["drops"].sum()), "unfinished": float(rows["unfinished"].sum())}


def _late(table: pd.DataFrame) -> dict[str, float]:
    """Return the excess of the last completion over all bytes' time on the receiver's link (1,201 ns per 1,502 B)."""
    last_ps = wide(table).filter(regex=r"^FCT of flow").max(axis=1)
    found = {}
    for case in ("8 x 200 kB", "8 x 1 MB"):
        senders, size = INCASTS[case]
        packets, rest = divmod(size, 1460)
        carried = senders * (packets * 1201 + (rest + 42) * 8 // 10)
        found[case] = float(last_ps[f"{case}, 10G"]) - ns(carried + 1201 + 2 * 250)
    return found


class HomaNs3(Experiment):
    name = "validation.homa_ns3"
    claims = (
        claim("validation-homa-1a", measure=_nothing_lost, band=Each(Exactly(0))),
        claim("validation-homa-2a", measure=_late, band=Each(Exactly(0))),
        claim("validation-homa-3a", measure=partial(inexact, name="homa_ns3", start=tuple(INCASTS)),
              band=Each(Exactly(0), of="run")),
        claim("validation-homa-3b", measure=partial(by_run, name="homa_ns3", start="W5"), band=CLOSE_RUNS),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        for rate, (case, (senders, size)) in product(DELAYS, INCASTS.items()):
            homa = preset("homa-ns3").at(f"{rate}bps")["homa"]
            yield Point.of(
                f"{case}, {rate}", {"case": case, "rate": rate},
                network=partial(topology.star, senders + 1, rate=f"{rate}bps", delay=DELAYS[rate], buffer=_BUFFER),
                workload=partial(workload.incast, [f"h{i}" for i in range(senders)], f"h{senders}", size),
                scheme=homa.replace(**({"DropTail.limit_bytes": _MANY_BYTES} if senders == 32 else {})), seed=seed,
            )  # fmt: skip
        for case, trace in () if is_quick else W5.items():
            work, homa = partial(stored_flows, f"homa_ns3_w5_{trace}"), preset("homa-ns3").at("10Gbps")["homa"]
            yield Point.of(
                case, {"case": case, "rate": "10G"}, network=_fabric, workload=work, scheme=homa, seed=seed, cost=100.0
            )

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        drops: dict[str, tuple[float, str]] = {"drops": (result.counters.dropped_packets, "")}
        return measure_delivered(point, result, drops, with_sizes=point.labels["case"] in W5)

    def plot(self, table: pd.DataFrame) -> Figure:
        panels: list[Panel] = [
            dots("homa_ns3", {case: f"{case}, {rate}" for case in INCASTS}, f"incasts, {rate[:-1]} Gb/s", log="y")
            for rate in DELAYS
        ]
        if table["case"].isin(W5).any():
            looks = {case: (case, colour) for case, colour in zip(W5, COLOURS)}
            panels.append(lines_by_size("FCT", looks, "case", unit="ms", title="W5 on 144 hosts"))
            panels.append(distributions("homa_ns3", {case: case for case in W5}, "W5", log="x", legend=None))
        return self.drawn(panels, table, " (orange, dashed)", size=(3.7, 3.6))
