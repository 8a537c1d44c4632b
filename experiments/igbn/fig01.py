"""Improved Go-Back-N, figure 1: the network, and its base RTT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc import topology
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.lone_message import POINT, LoneMessage
from rdmacc.plotting.style import style
from rdmacc.sweep.tidy import scalar
from rdmacc.units import us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1"]

_HOPS = 4
"""There and back."""


def _base_rtt(table: pd.DataFrame) -> Verdict:
    rtt = scalar(table, POINT, "base RTT")
    propagation = _HOPS * scalar(table, POINT, "propagation delay per hop")
    measured = f"{rtt / 1e6:.3f} us, {propagation / 1e6:g} us of it propagation"
    return Verdict(measured, propagation == us(4) and us(4) < rtt < us(5))


@register_experiment
class Figure1(LoneMessage):
    """Two hosts and a switch."""

    name = "igbn.fig1"
    title = "Network topology"
    description = "Improved Go-Back-N, figure 1: two hosts and a switch; the base RTT"
    claims = (
        Claim(
            id="igbn-f1-a",
            place="II-B, table I",
            quantity="base RTT",
            condition="two links of 40 Gb/s and 1 us each way",
            published="(follows from table I)",
            words="4 us and the packets' time on the links, below 5 us",
            judge=_base_rtt,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, ax = plt.subplots(figsize=(7, 3))
            topology.draw(topology.igbn_pair(), ax)
            rtt, whole = (round(scalar(table, POINT, name)) for name in ("base RTT", "time of a message"))
            ax.set_title(
                f"IGBN, figure 1: {self.title}\n"
                f"base RTT {rtt / 1e6:.3f} µs; a message of 4 MiB takes {whole / 1e6:.2f} µs",
                fontsize=10,
            )
        return figure
