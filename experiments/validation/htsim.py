"""Validation against csg-htsim (github.com/Broadcom/csg-htsim): NDP and plain RoCE on the same flows."""

from __future__ import annotations

from rdmacc.experiments.validation.flows import flows_of, measure_acked, stored_flows, summary_rows, unfinished
from rdmacc.experiments.validation.references import CLOSE_RUNS, by_run, distributions
from ..api import *

SCHEMES = {name: preset("ndp-htsim")[name] for name in preset("ndp-htsim")}
WIDER = "ndp-1500, window 45"
SCHEMES[WIDER] = preset("ndp-htsim")["ndp-1500"].replace(name=WIDER, initial_window=45)
ROCE = tuple(preset("roce-htsim"))
SCHEMES |= {name: preset("roce-htsim")[name] for name in ROCE}
TWO = "two flows"
INCASTS = {
    "8 x 1 MB": (8, 1_000_000),
    "32 x 200 kB": (32, 200_000),
    "32 x 1 MB": (32, 1_000_000),
    "32 x 10 MB": (32, 10_000_000),
}
TO_ONE = (TWO, *INCASTS)
PERMUTATIONS = {"permutation, 1 MB": 1_000_000, "permutation, 2 MB": 2_000_000}
WEB_SEARCH = "web search, 50%"
NETWORKS = {
    "star": partial(topology.star, 64, rate="100Gbps", delay="1us"),
    "fat tree": partial(topology.fat_tree, 8, rate="100Gbps", delay="1us"),
}
LINKS = {"star": 2, "fat tree": 6}
"""Links from the senders to h32."""


def _flows(case: str) -> pd.DataFrame:
    if case == TWO:
        return workload.messages([("h0", "h32", 25_000_000, 0), ("h1", "h32", 12_500_000, ms(1))])
    if case in INCASTS:
        senders, size = INCASTS[case]
        return workload.incast([f"h{i}" for i in range(senders)], "h32", size)
    if case in PERMUTATIONS:
        return stored_flows("htsim_permutation").assign(size_bytes=PERMUTATIONS[case])
    return stored_flows("htsim_web_search_50")


def line_rate_ps(scheme: str, network: str, sizes: Any) -> float:
    """Return the time of flows to one receiver at line rate, from the first packet to the last ACK."""
    one = SCHEMES[scheme]
    packets = np.ceil(np.asarray(sizes) / one.payload_bytes).sum()
    links = LINKS[network]
    return float((packets + links - 1) * one.wire_bytes * 80 + 2 * links * us(1) + links * one.ack_bytes * 80)


def _incasts_on_the_star(table: pd.DataFrame, *, is_roce: bool) -> pd.DataFrame:
    """Return the runs with `least`, the last flow's completion time at line rate."""
    rows = summary_rows(table)
    chosen = (rows["network"] == "star") & rows["case"].isin(INCASTS) & (rows["scheme"].isin(ROCE) == is_roce)
    least = {
        name: line_rate_ps(scheme, "star", flows_of(table, str(name))["size_bytes"])
        for name, scheme in rows.loc[chosen, "scheme"].items()
    }
    return rows[chosen].assign(least=pd.Series(least))


def _at_line_rate(table: pd.DataFrame) -> Measured:
    """Compare with the line rate, and with pulls at 99% of it plus the trimmed headers."""
    rows = _incasts_on_the_star(table, is_roce=False)
    headers = rows["trimmed"] * rows["scheme"].map(lambda name: SCHEMES[name].ack_bytes) * 80
    most = rows["least"] / 0.99 + headers + us(4)
    ratios = rows["last FCT"] / rows["least"]
    note = f"{ratios.min():.4f} to {ratios.max():.4f} of the time at line rate"
    return Measured((rows["last FCT"] - rows["least"]) / (most - rows["least"]), note)


def _lossless(table: pd.DataFrame) -> pd.Series[float]:
    rows = summary_rows(table)
    return rows.loc[rows["scheme"].isin(ROCE), ["drops", "retransmissions", "PFC pauses"]].sum()


def _late(table: pd.DataFrame) -> pd.Series[float]:
    rows = _incasts_on_the_star(table, is_roce=True)
    return rows["last FCT"] - rows["least"]


class Htsim(Experiment):
    name = "validation.htsim"
    claims = (
        claim("validation-htsim-1a", measure=unfinished, band=Exactly(0)),
        claim("validation-htsim-2a", measure=_at_line_rate, band=Each(Between(0, 1), of="run")),
        claim("validation-htsim-3a", measure=_lossless,
              band=All({"drops": Exactly(0), "retransmissions": Exactly(0), "PFC pauses": MoreThan(0)})),
        claim("validation-htsim-3b", measure=_late, band=Each(Exactly(0), of="run")),
        claim("validation-htsim-4a", measure=partial(by_run, name="htsim", start="ndp"), band=CLOSE_RUNS),
        claim("validation-htsim-4b", measure=partial(by_run, name="htsim", start="roce-9000, star"), band=CLOSE_RUNS),
        claim("validation-htsim-4c", measure=partial(by_run, name="htsim", start="roce-9000, fat tree"),
              band=CLOSE_RUNS),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        on_tree = (TWO,) if check_scale(scale) == "quick" else (*TO_ONE, *PERMUTATIONS, WEB_SEARCH)
        cases = [("star", case) for case in TO_ONE] + [("fat tree", case) for case in on_tree]
        points = [
            self._point(name, network, case, seed) for name in SCHEMES if name != WIDER for network, case in cases
        ]
        return points + [self._point(WIDER, "fat tree", case, seed) for case in on_tree]

    @staticmethod
    def _point(name: str, network: str, case: str, seed: int) -> Point:
        cost = LINKS[network] * (40.0 if case == WEB_SEARCH else 10.0 if "10 MB" in case else 1.0)
        return Point.of(
            f"{name}, {network}, {case}", {"scheme": name, "network": network, "case": case},
            network=NETWORKS[network], workload=partial(_flows, case), scheme=SCHEMES[name], seed=seed, cost=cost,
        )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_acked(point, result, with_sizes=point.labels["case"] == WEB_SEARCH)

    def plot(self, table: pd.DataFrame) -> Figure:
        ran = table[table["case"] != TWO]
        panels = [
            distributions(
                "htsim", {name: f"{name}, {run}" for name in SCHEMES}, run, log="x" * run.endswith(WEB_SEARCH)
            )
            for run in dict.fromkeys(ran["network"] + ", " + ran["case"])
        ]
        return self.drawn(panels, table, " (dashed)", columns=4, size=(3, 2.6), legend="outside lower center")
