"""Validation against csg-htsim (github.com/Broadcom/csg-htsim): NDP and plain RoCE on the same flows.

A star of 64 hosts and a fat tree of 128 (k = 8), links of 100 Gb/s and 1 us, store and forward. Two flows to one
receiver (25 MB at 0, 12.5 MB at 1 ms), incasts of 8 and 32 flows to h32; on the fat tree also a permutation of 1 and of
2 MB, and 806 flows of web search at 50% load in 2 ms. "Quick" has the star, and the two flows on the fat tree.

NDP's schemes are those of `ndp-htsim`, packets of 9,000, 4,000 and 1,500 B, whose settings say where they are from;
1,500 on the fat tree also with a first window of 45 packets in place of 30. (On the star 32 such windows overflow the
queue of headers, and what is lost without a timeout is lost for good.) Their windows of 1,500 B (45 and 67 kB) are
below the fat tree's bandwidth-delay product, 150 kB, and 45 kB also below the star's, 53 kB: a single flow does not
fill its link.

Plain RoCE is that of `roce-htsim`, packets of 9,000 and 1,500 B: line rate, and PFC that pauses an ingress port above
15 MTU and resumes it below 12. Against an event model of csg-htsim's own rules (bytes count until they have been sent,
PAUSE takes the link's delay and nothing else) the incasts on the star end in the same picosecond and the sorted
completion times differ by 3.4% at most; which flow is served first among simultaneous ones differs.

A flow is complete when the ACK that covers it has reached the sender. Left to chance are the order of NDP's paths,
which packet is trimmed, and RoCE's paths, one a flow.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc import topology, workload
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.validation.flows import finished, flows_of, measure_acked, stored_flows, summary_rows
from rdmacc.plotting.style import COLOURS, ecdf, style
from rdmacc.presets.ndp_htsim import NDP_HTSIM
from rdmacc.presets.roce_htsim import ROCE_HTSIM
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.units import ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Htsim"]

SCHEMES = {name: NDP_HTSIM[name] for name in NDP_HTSIM}
WIDER = "ndp-1500, window 45"
SCHEMES[WIDER] = NDP_HTSIM["ndp-1500"].replace(name=WIDER, initial_window=45)
ROCE = tuple(ROCE_HTSIM)
SCHEMES |= {name: ROCE_HTSIM[name] for name in ROCE}
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
"""From the senders to h32."""


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
    """Return how long flows to one receiver take at line rate, from the first packet to the last ACK."""
    one = SCHEMES[scheme]
    packets = np.ceil(np.asarray(sizes) / one.payload_bytes).sum()
    links = LINKS[network]
    return float((packets + links - 1) * one.wire_bytes * 80 + 2 * links * us(1) + links * one.ack_bytes * 80)


def _at_line_rate(table: pd.DataFrame) -> Verdict:
    """Compare with the line rate, and with what pulls at 99% of it and the trimmed headers add."""
    rows = summary_rows(table)
    rows = rows[(rows["network"] == "star") & rows["case"].isin(INCASTS) & ~rows["scheme"].isin(ROCE)]
    ratios, holds = [], True
    for name, row in rows.iterrows():
        least = line_rate_ps(row["scheme"], "star", flows_of(table, str(name))["size_bytes"])
        most = least / 0.99 + row["trimmed"] * SCHEMES[row["scheme"]].ack_bytes * 80 + us(4)
        ratios.append(row["last FCT"] / least)
        holds &= least <= row["last FCT"] <= most
    return Verdict(f"{min(ratios):.4f} to {max(ratios):.4f} of line rate's", holds)


def _lossless(table: pd.DataFrame) -> Verdict:
    rows = summary_rows(table)
    rows = rows[rows["scheme"].isin(ROCE)]
    lost, again, pauses = (int(rows[name].sum()) for name in ("drops", "retransmissions", "PFC pauses"))
    return Verdict(f"{lost} packets lost, {again} sent again, {pauses} pauses", lost == again == 0 < pauses)


def _never_idle(table: pd.DataFrame) -> Verdict:
    rows = summary_rows(table)
    rows = rows[(rows["network"] == "star") & rows["case"].isin(INCASTS) & rows["scheme"].isin(ROCE)]
    late = {
        name: row["last FCT"] - line_rate_ps(row["scheme"], "star", flows_of(table, str(name))["size_bytes"])
        for name, row in rows.iterrows()
    }
    return Verdict(f"{min(late.values()):.0f} to {max(late.values()):.0f} ps later", set(late.values()) == {0.0})


@register_experiment
class Htsim(Experiment):
    """Incasts, permutations and web search under NDP and under plain RoCE."""

    name = "validation.htsim"
    title = "NDP and plain RoCE as in csg-htsim"
    description = "Validation: incasts, permutations and web search under NDP and RoCE, with csg-htsim's settings"
    claims = (
        Claim(
            id="validation-htsim-1a", place="NDP, section 3", quantity="flows finished", condition="without timeouts",
            published="all: the receiver hears of every packet", words="all", judge=finished,
        ),
        Claim(
            id="validation-htsim-2a", place="closed form", quantity="completion of the last flow of an incast",
            condition="NDP, star: the first windows together fill the link",
            published="all packets at line rate, and a round trip",
            words="no sooner; later by what pulls at 99% of the rate, trimmed headers and 4 us add at most",
            judge=_at_line_rate,
        ),
        Claim(
            id="validation-htsim-3a", place="IEEE 802.1Qbb", quantity="packets lost", condition="RoCE, all runs",
            published="none, by PFC", words="0 lost or sent again, and some pauses", judge=_lossless,
        ),
        Claim(
            id="validation-htsim-3b", place="closed form", quantity="completion of the last flow of an incast",
            condition="RoCE, star: what is paused at 12 MTU of each sender outlasts the pause",
            published="all packets at line rate, and a round trip", words="to the picosecond", judge=_never_idle,
        ),
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
        scenario = Scenario(
            topology=NETWORKS[network], workload=partial(_flows, case), scheme=SCHEMES[name], seed=seed
        )  # fmt: skip
        labels = {"scheme": name, "network": network, "case": case}
        cost = LINKS[network] * (40.0 if case == WEB_SEARCH else 10.0 if "10 MB" in case else 1.0)
        return Point(name=f"{name}, {network}, {case}", scenario=scenario, labels=labels, cost=cost)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_acked(point, result, with_sizes=point.labels["case"] == WEB_SEARCH)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        cases = table[["network", "case"]].drop_duplicates().itertuples(index=False)
        shown = [(network, case) for network, case in cases if case != TWO]
        with style():
            rows = -(-len(shown) // 4)
            figure, axes = plt.subplots(rows, 4, figsize=(12, 2.6 * rows), squeeze=False, layout="constrained")
            for axis, (network, case) in zip(axes.flat, shown, strict=False):
                for name, colour in zip(SCHEMES, COLOURS.values(), strict=False):
                    times = flows_of(table, f"{name}, {network}, {case}")["value"] / 1e6
                    if len(times):
                        axis.step(*ecdf(times), where="post", color=colour, label=name)
                axis.set(title=f"{network}, {case}", xlabel="completion time (µs)", ylim=(0, 1))
                if case == WEB_SEARCH:
                    axis.set(xscale="log")
            for row in axes:
                row[0].set_ylabel("share of flows")
            for axis in axes.flat[len(shown) :]:
                axis.set_axis_off()
            lines = {line.get_label(): line for axis in axes.flat for line in axis.lines}
            figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines))
            figure.suptitle(self.title)
        return figure
