"""Goodput of go-back-N and its improvements under random loss, in closed form.

For the setting of Wang et al., "Error Recovery of RDMA Packets in Data Center Networks": a message of n
packets, each packet and each reply lost with probability p, NAKs for one packet at least one NAK interval
apart. Derived here, not in the paper. With tau a packet's time, a message costs n tau and

- a loss that is NAKed: one round trip and one packet; there are n p / (1 - p) of them,
- in a share q = 1 - (1 - p)^2 of these, the NAK or the repetition is lost too: with CE this costs one NAK interval;
  without CE a timeout if no packet is left to trigger a NAK after the interval (a share interval / (n tau)), otherwise
  one interval,
- a lost last packet and a lost last ACK: a timeout each, with probability p each; with ST, which sends the
  last packet twice, p^2 in all.

Go-back-0 (GB0) sends until n packets in a row arrive: ((1 - p)^-n - 1) / p packets, in (1 - p)^-n - 1 failed passes;
NAKs and timeouts as above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Model, check_within, param
from rdmacc.show.style import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

VARIANTS = {
    "GBN": (False, False), "ST": (False, True), "CE": (True, False), "IGBN": (True, True), "GB0": (False, False),
}  # fmt: skip
"""Names of the variants: (has_ce, has_st)."""
_LINES = ("-", "--", ":", "-.", (0, (1, 3)))
LOSSES = (1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 1e-2)
_ENDLESS = 1e200
"""Upper bound of go-back-0's passes, which overflow floats for long messages; the goodput is 0 in any case."""


@dataclass(frozen=True, kw_only=True)
class GoBackNGoodput(Model):
    """Goodput over line rate against the loss rate.

    >>> table = GoBackNGoodput().evaluate([0.001, 0.01])
    >>> table[table.variant == "IGBN"].goodput.round(2).tolist()
    [0.97, 0.59]
    """

    title: ClassVar[str] = "Go-back-N under loss"

    rate_bps: Rate = param("40Gbps", "line rate", source="Table I", low=1.0, slider=("10Gbps", "400Gbps"))
    wire_bytes: Size = param("1072B", "packet on the wire", source="1 KiB and 48 B of headers", low=1)
    packets: int = param(
        4096, "packets of a message", symbol="n", source="Table I", low=1, slider=(64, 65_536), is_log=True
    )
    rtt_ps: Time = param(
        "4.5us", "round-trip time", symbol="RTT", source="Table I: 1 us for each hop", low=0, slider=("1us", "100us")
    )
    nak_interval_ps: Time = param(
        "500us", "least time between NAKs for a packet", source="Table I", low=0, slider=("10us", "2ms")
    )
    timeout_ps: Time = param("100ms", "ACK timeout", source="Table I", low=0, slider=("1ms", "500ms"))

    def evaluate(self, losses: Sequence[float] = LOSSES) -> pd.DataFrame:
        """Return `variant, loss, time_ps` (of a message) and `goodput` (over line rate)."""
        check_within("losses", losses, 0, 1)
        p = np.asarray(losses, np.float64)
        packet = self.wire_bytes * 8e12 / self.rate_bps
        alone = self.packets * packet
        stuck = min(1.0, self.nak_interval_ps / alone)
        frames = []
        for name, (has_ce, has_st) in VARIANTS.items():
            repeats, sent = self.packets * p / (1.0 - p), np.full(len(p), alone)
            if name == "GB0":
                with np.errstate(over="ignore"):
                    repeats = (1.0 - p) ** -float(self.packets) - 1.0
                repeats = np.minimum(repeats, _ENDLESS)
                sent = packet * np.divide(repeats, p, out=np.full(len(p), float(self.packets)), where=p > 0)
            again = repeats * (1.0 - (1.0 - p) ** 2)
            timeouts = (0.0 if has_ce else stuck) * again + (p**2 if has_st else 2 * p)
            intervals = again * (1.0 if has_ce else 1.0 - stuck)
            time = sent + repeats * (self.rtt_ps + packet) + intervals * self.nak_interval_ps
            time = time + timeouts * self.timeout_ps
            frames.append(pd.DataFrame({"variant": name, "loss": p, "time_ps": time, "goodput": alone / time}))
        return pd.concat(frames, ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw goodput over the loss rate, a curve for each variant."""
        table = self.evaluate(np.geomspace(1e-5, 2e-2, 60).tolist())
        with canvas(ax) as ax:
            for (name, rows), line in zip(table.groupby("variant", sort=False), _LINES, strict=True):
                ax.plot(100 * rows["loss"], 100 * rows["goodput"], linestyle=line, label=str(name))
            ax.set(
                title=self.title,
                xlabel="loss rate of packets and replies (%)",
                ylabel="goodput (% of line rate)",
                xscale="log",
            )
            ax.set_ylim(0, 102)
            ax.legend()
        return ax
