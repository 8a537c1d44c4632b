"""Fair shares of one receiver's link: an incast, with or without a long flow, by processor sharing.

The ideal of receiver-driven schemes: every active sender immediately gets 1/n of the receiver's link. Dart's receiver
advertises this rate (Xue et al., IEEE/ACM ToN 2020, III-A and III-B).

Assumptions: a fluid model. All messages of the incast have one size and start together, so they end together. Shares
follow n without delay, so the link is never idle and never has a queue. Under a real scheme the FCT also includes the
time to learn n; until then, bytes that do not fit are lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Model, param
from rdmacc.models.ideal import wire_bytes
from rdmacc.show.style import COLOURS, canvas, draw_trace, time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class FairShare(Model):
    """k messages of one size, and optionally a long flow, on one link.

    Sizes count payload; the link carries payload and headers, the last packet's too.

    >>> FairShare(senders=4, message_bytes="64kB").share_bps
    20000000000.0
    """

    title: ClassVar[str] = "Fair shares"

    senders: int = param(8, "senders of the incast, each with one message", symbol="k", low=1, slider=(1, 64))
    message_bytes: Size = param("64kB", "payload of a message", low=1, slider=("8kB", "1MB"))
    has_long_flow: bool = param(True, "another sender, which never stops")
    line_bps: Rate = param("100Gbps", "the receiver's link", low=1.0, slider=("10Gbps", "400Gbps"))
    delay_ps: Time = param("0us", "time from a message's start to its first bit at the end of the link", low=0)
    payload_bytes: Size = param("1000B", "payload of a full packet", low=1)
    header_bytes: Size = param("48B", "headers of a packet", low=0)

    @property
    def n(self) -> int:
        """Active senders during the incast."""
        return self.senders + self.has_long_flow

    @property
    def share_bps(self) -> float:
        """Rate of each sender during the incast, on the wire: line / n."""
        return self.line_bps / self.n

    @property
    def efficiency(self) -> float:
        """Payload of a full packet over its bytes on the wire."""
        return self.payload_bytes / (self.payload_bytes + self.header_bytes)

    @property
    def message_wire_bytes(self) -> int:
        """Bytes on the wire of one message: its payload, and a header for each packet."""
        return int(wire_bytes(self.message_bytes, self.payload_bytes, self.header_bytes))

    @property
    def incast_ps(self) -> float:
        """Duration of the incast: wire bytes over line / n."""
        return self.message_wire_bytes * 8e12 / self.share_bps

    @property
    def fct_ps(self) -> float:
        """FCT of each message of the incast."""
        return self.delay_ps + self.incast_ps

    @property
    def ideal_fct_ps(self) -> float:
        """FCT of a message alone on the link."""
        return self.delay_ps + self.message_wire_bytes * 8e12 / self.line_bps

    def evaluate(self) -> pd.DataFrame:
        """Return the share of each kind of sender during the incast.

        Returns
        -------
        DataFrame
            One row for `kind` incast and, if there is one, long: `count`, `share_bps` (on the wire),
            `goodput_bps` (payload only), `size_bytes`, `wire_bytes`, `fct_ps`, `ideal_fct_ps`, `slowdown`.
            The last five are missing for the long flow, which does not end.
        """
        incast: dict[str, Any] = {
            "kind": "incast",
            "count": self.senders,
            "share_bps": self.share_bps,
            # A message's last packet may be short, so goodput is computed from its actual bytes.
            "goodput_bps": self.share_bps * self.message_bytes / self.message_wire_bytes,
            "size_bytes": self.message_bytes,
            "wire_bytes": self.message_wire_bytes,
            "fct_ps": self.fct_ps,
            "ideal_fct_ps": self.ideal_fct_ps,
            "slowdown": self.fct_ps / self.ideal_fct_ps,
        }
        goodput = self.share_bps * self.efficiency
        long = {"kind": "long", "count": 1, "share_bps": self.share_bps, "goodput_bps": goodput}
        return pd.DataFrame([incast, long] if self.has_long_flow else [incast], columns=list(incast))

    def curves(self) -> pd.DataFrame:
        """Return the rates over time; the incast starts at 0, with a third of its length before and after it.

        Returns
        -------
        DataFrame
            `kind` (incast: of one sender), `time_ps`, `rate_bps` on the wire, which holds until the next row.
        """
        lead = self.incast_ps / 3
        time = np.array([-lead, 0.0, self.incast_ps, self.incast_ps + lead])
        rates = {"incast": [0.0, self.share_bps, 0.0, 0.0]}
        if self.has_long_flow:
            rates["long"] = [self.line_bps, self.share_bps, self.line_bps, self.line_bps]
        frames = [pd.DataFrame({"kind": kind, "time_ps": time, "rate_bps": rate}) for kind, rate in rates.items()]
        return pd.concat(frames, ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the rates of one sender of the incast and of the long flow over time."""
        unit_ps, unit = time_unit(self.incast_ps)
        looks = {"incast": (f"each of {self.senders} senders", "vermilion"), "long": ("long flow", "blue")}
        with canvas(ax) as ax:
            for kind, curve in self.curves().groupby("kind", sort=False):
                label, colour = looks[str(kind)]
                look: dict[str, Any] = {"label": label, "color": COLOURS[colour]}
                draw_trace(ax, curve["time_ps"], curve["rate_bps"], unit_ps=unit_ps, scale=1e9, **look)
            ax.axhline(self.line_bps / 1e9, color="0.6", linewidth=1, linestyle=":")
            ax.set(title=f"{self.title}: line / {self.n} each", ylabel="rate on the wire (Gb/s)")
            ax.set_xlabel(f"time since the incast's start ({unit})")
            ax.set_ylim(bottom=0)
            ax.legend()
        return ax
