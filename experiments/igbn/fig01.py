"""Improved Go-Back-N, figure 1: the network, and its base RTT."""

from rdmacc.experiments.igbn.lone_message import POINT, LoneMessage
from ..api import *

_HOPS = 4
"""Links of a round trip."""


def _base_rtt(table: pd.DataFrame) -> dict[str, float]:
    propagation = _HOPS * scalar(table, POINT, "propagation delay per hop")
    return {"base RTT": scalar(table, POINT, "base RTT"), "propagation": propagation}


class Figure1(LoneMessage):
    name = "igbn.fig1"
    claims = (
        claim("igbn-f1-a", measure=_base_rtt,
              band=All({"base RTT": All(MoreThan(us(4)), LessThan(us(5))), "propagation": Exactly(us(4))})),
    )  # fmt: skip

    def plot(self, table: pd.DataFrame) -> Figure:
        figure, ax = subplots(figsize=(7, 3))
        topology.draw(topology.igbn_pair(), ax)
        rtt, whole = (round(scalar(table, POINT, name)) for name in ("base RTT", "time of a message"))
        ax.set_title(
            f"IGBN, figure 1: {self.title}\nbase RTT {rtt / 1e6:.3f} us; a message of 4 MiB takes {whole / 1e6:.2f} us",
            fontsize=10,
        )
        return figure
