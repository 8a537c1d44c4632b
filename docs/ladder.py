"""Draw docs/ladder.png: the four ways in which go-back-N ends up waiting for its timer (IGBN, figure 4).

Run as ``python docs/ladder.py [file]``.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt

import rdmacc
from rdmacc.faults import Script
from rdmacc.plotting import save, style

CASES = {
    "(a) the last packet is lost": [Script(message=0, psn=4)],
    "(b) the last ACK is lost": [Script(message=0, psn=5, kind="ack")],
    "(c) the NAK is lost": [Script(message=0, psn=2), Script(message=0, psn=2, kind="nak")],
    "(d) a packet is lost twice": [Script(message=0, psn=1, nth=1), Script(message=0, psn=1, nth=2)],
}


def main(path: str = "docs/ladder.png") -> None:
    """Simulate the four cases and draw them side by side."""
    network = rdmacc.topology.igbn_pair()
    work = rdmacc.messages([("h0", "h1", "5kB")])
    with style():
        figure, axes = plt.subplots(2, 2, figsize=(10.5, 18.0), height_ratios=(1.0, 1.5))
    figure.get_layout_engine().set(wspace=0.06, hspace=0.04)
    for ax, (title, losses) in zip(axes.flat, CASES.items(), strict=True):
        result = rdmacc.simulate(network, work, "line-rate", engine="simpy", faults=losses, trace=True)
        result.plot.ladder(nodes=["h0", "h1"], ax=ax)
        with style():
            ax.set_title(title, pad=32)
    save(figure, path)


if __name__ == "__main__":
    main(*sys.argv[1:])
