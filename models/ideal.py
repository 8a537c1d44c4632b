"""Bounds for any scheme, and the mean of a fair one: base FCT and M/G/1 processor sharing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Model, check_within, param
from rdmacc.show.style import COLOURS, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZES = tuple(int(size) for size in np.geomspace(1e3, 1e7, 25))


def wire_bytes(sizes: npt.ArrayLike, payload_bytes: int = 1000, header_bytes: int = 48) -> npt.NDArray[np.int64]:
    """Return messages' bytes on the wire, with a header for each packet.

    Examples
    --------
    >>> wire_bytes([1, 1000, 1001]).tolist()
    [49, 1048, 1097]
    """
    payload = np.asarray(sizes, np.int64)
    return payload + -(-payload // payload_bytes) * header_bytes


@dataclass(frozen=True, kw_only=True)
class ProcessorSharing(Model):
    """One link that all flows share equally, Poisson arrivals: M/G/1 processor sharing.

    A flow of wire size x takes x / (C (1 - rho)) on average, whatever the distribution of sizes (Kleinrock 1967): the
    slowdown of the transfer is 1 / (1 - rho) for all sizes; latency dilutes it for small ones.

    >>> ProcessorSharing(load=0.5, latency_ps=0).evaluate([10_000]).slowdown.tolist()
    [2.0]
    """

    title: ClassVar[str] = "M/G/1 processor sharing"

    load: float = param(0.5, "offered wire bytes over capacity", symbol="rho", low=0.0, high=0.999, slider=(0.05, 0.95))
    capacity_bps: Rate = param("100Gbps", "the link", symbol="C", low=1.0, slider=("10Gbps", "400Gbps"))
    latency_ps: Time = param("4us", "time of a message besides its transmission", low=0, slider=("0us", "50us"))
    payload_bytes: Size = param("1000B", "payload of a full packet", low=1)
    header_bytes: Size = param("48B", "headers of a packet", low=0)

    def evaluate(self, sizes: Sequence[int] = SIZES) -> pd.DataFrame:
        """Return `size_bytes, ideal_fct_ps, fct_ps, slowdown`: FCT alone on the link, mean FCT, and their ratio."""
        check_within("sizes", sizes, 0, 2**62)
        payload = np.asarray(sizes, np.int64)
        transfer = wire_bytes(payload, self.payload_bytes, self.header_bytes) * 8e12 / self.capacity_bps
        ideal = transfer + self.latency_ps
        fct = transfer / (1.0 - self.load) + self.latency_ps
        return pd.DataFrame({"size_bytes": payload, "ideal_fct_ps": ideal, "fct_ps": fct, "slowdown": fct / ideal})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the mean slowdown over size, and the limit 1 / (1 - rho)."""
        table, limit = self.evaluate(), 1.0 / (1.0 - self.load)
        with canvas(ax) as ax:
            ax.plot(table["size_bytes"] / 1e3, table["slowdown"], color=COLOURS["blue"], label="mean slowdown")
            ax.axhline(limit, color="0.4", linewidth=1, linestyle="--", label=f"1 / (1 - rho) = {limit:.2f}")
            ax.set(
                title=f"{self.title}, load {100 * self.load:.0f}%",
                xlabel="message size (kB)",
                ylabel="FCT / FCT alone",
                xscale="log",
            )
            ax.set_ylim(0.9, 1.05 * limit + 0.1)
            ax.legend()
        return ax
