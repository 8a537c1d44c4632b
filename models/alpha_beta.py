"""Closed forms for collectives: a message of s bytes alone takes alpha + s beta; ranks share only their links.

==================  ===========================================================================================
ring, k slices      2 (n - 1) (a + s), s = S b / n, as whole chunks; with k slices of s each,
                    2 (n - 1) k s + a if k s >= a + s, else 2 (n - 1) (a + s) + (k - 1) s
reduce-scatter,     the same with n - 1 for 2 (n - 1)
all-gather
broadcast           (n - 1) (a + s) + (k - 1) s: a chain, s = S b / k
all-to-all          (n - 1) S b / n + a at once; (n - 1) (a + ack + S b / n) - ack one peer after the other
double binary tree  f S b + 2 depth (a + s) + 2 (g - 1) (a' + s'), as k grows: the busiest NIC sends f S; while the
                    trees fill and drain, a chunk has its links alone; s' on a quarter of an inner port, for either
                    tree in either direction. One GPU a node, n even: f = 2
hierarchical        2 (g - 1) (a' + S b' / g) inside the nodes, and a ring of S / g among them
==================  ===========================================================================================

With protocols LL and LL128, b and b' include their flags.

Assumption: links of one rate around one switch. Alpha includes their delay and the store-and-forward time of the first
packet. Every rank sends while it receives, so its link carries data and ACKs: beta includes both. Neglected: a chunk's
last packet may be short but has a whole header, and the first and last chunk meet no ACKs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pandas as pd

from rdmacc.errors.typed import check_types
from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Model, check_within, param, told
from rdmacc.results.frames import busbw_factor
from rdmacc.results.result import Result
from rdmacc.schemes import as_scheme
from rdmacc.show.style import COLOURS, canvas
from rdmacc.simulation.scenario import Scenario
from rdmacc.topology import star
from rdmacc.units import ps
from rdmacc.workload import nccl
from rdmacc.workload.nccl import pieces_of, tree_of_gpus, tree_parents

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CALLS = {
    "all-reduce": nccl.all_reduce, "reduce-scatter": nccl.reduce_scatter, "all-gather": nccl.all_gather,
    "all-to-all": nccl.all_to_all, "broadcast": nccl.broadcast,
}  # fmt: skip
SIZES = tuple(int(size) for size in np.geomspace(1e4, 1e9, 26))


@dataclass(frozen=True, kw_only=True, eq=False)
class AlphaBeta(Model):
    """A collective alone on hosts around one switch.

    >>> AlphaBeta(ranks=8, size_bytes="1MB").evaluate([1_000_000])["time_ps"].round().tolist()
    [184853760.0]
    """

    title: ClassVar[str] = "Collective, by alpha and beta"

    operation: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast"] = param(
        "all-reduce", "operation of the collective", choices=tuple(_CALLS)
    )
    ranks: int = param(8, "number of hosts", symbol="n", low=2, slider=(2, 64))
    size_bytes: Size = param("1MB", "buffer of a rank", symbol="S", low=1)
    settings: nccl.Nccl = field(default_factory=nccl.Nccl)
    """Settings of the run."""
    rate_bps: Rate = param("100Gbps", "rate of every link", low=1.0, slider=("10Gbps", "400Gbps"))
    delay_ps: Time = param("1us", "delay of every link", low=1000, slider=("100ns", "10us"))
    scheme: str = param("line-rate", "scheme, for packet sizes and for comparison")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(self)

    @property
    def alpha_ps(self) -> float:
        """Fixed time of a message: two links, and one full packet stored and forwarded."""
        return 2 * self.delay_ps + as_scheme(self.scheme).wire_bytes * 8e12 / self.rate_bps

    @property
    def beta_ps(self) -> float:
        """Time of a byte of data on a link, including its share of flags, header, and the ACK of an incoming byte."""
        scheme = as_scheme(self.scheme)
        ack = scheme.ack_bytes / getattr(scheme.recovery, "ack_every_packets", 1)
        return self._flags * (scheme.wire_bytes + ack) / scheme.payload_bytes * 8e12 / self.rate_bps

    @property
    def _flags(self) -> float:
        """Bytes sent per byte of data."""
        return float(self.settings.sent_bytes(4800)) / 4800

    @property
    def _inner_beta_ps(self) -> float:
        """Time of a byte of data on a GPU's port to the inner network."""
        return self._flags * 8e12 / self.settings.inner_rate_bps

    def evaluate(self, sizes: tuple[int, ...] | list[int] = SIZES) -> pd.DataFrame:
        """Return `size_bytes, time_ps, algbw_bps, busbw_bps`."""
        check_within("sizes", sizes, 0, 2**62)
        size = np.asarray(sizes, np.int64)
        time_ps = np.array([self._time_ps(int(one)) for one in size])
        algbw = size * 8e12 / time_ps
        busbw = algbw * busbw_factor(self.operation, self.ranks)
        return pd.DataFrame({"size_bytes": size, "time_ps": time_ps, "algbw_bps": algbw, "busbw_bps": busbw})

    def _time_ps(self, size: int) -> float:
        n, a, beta, how = self.ranks, self.alpha_ps, self.beta_ps, self.settings
        if self.operation == "all-to-all":
            part, back = size / n * beta, 2 * self.delay_ps + as_scheme(self.scheme).ack_bytes * 16e12 / self.rate_bps
            at_once = (n - 1) * part + a
            return at_once if how.rings >= n - 1 else max(at_once, (n - 1) * (a + back + part) / how.rings - back)
        if self.operation == "broadcast":
            k = len(pieces_of(size // how.rings, how, how.step_bytes))
            sigma = size * beta / k
            return (n - 1) * (a + sigma) + (k - 1) * sigma
        if self.operation == "all-reduce" and how.algorithm == "tree":
            k = len(pieces_of(size // (2 * how.rings), how, how.step_bytes))
            chunk = size / (2 * how.rings * k)
            hop_ps = how.inner_delay_ps + 4 * how.rings * chunk * self._inner_beta_ps
            inside = 2 * (how.hosts_per_node - 1) * hop_ps
            return self._busiest * size * beta + 2 * self.depth * (a + chunk * beta) + inside
        if self.operation == "all-reduce" and how.algorithm == "hierarchical":
            g, part = how.hosts_per_node, size / how.hosts_per_node
            inside = 2 * (g - 1) * (how.inner_delay_ps + part * self._inner_beta_ps)
            return inside + self._ring_ps(n // g, part, 2 * (n // g - 1))
        return self._ring_ps(n, size, (2 if self.operation == "all-reduce" else 1) * (n - 1))

    def _ring_ps(self, n: int, size: float, steps: int) -> float:
        """Return the time of a ring's steps, each with 1/n of the data."""
        a, k = self.alpha_ps, self.settings.slices
        sigma = size * self.beta_ps / (n * k)
        if k * sigma >= a + sigma:
            return steps * k * sigma + a
        return steps * (a + sigma) + (k - 1) * sigma

    @property
    def depth(self) -> int:
        """Links from the root of a tree of nodes to its farthest leaf."""
        nodes = self.ranks // self.settings.hosts_per_node
        parents = tree_parents(nodes)[0]

        def above(node: int) -> int:
            return 0 if parents[node] < 0 else 1 + above(parents[node])

        return max(above(node) for node in range(nodes))

    @property
    def _busiest(self) -> float:
        """Data that the busiest NIC sends in trees, relative to the buffer."""
        how, halves = self.settings, 2 * self.settings.rings
        sent = np.zeros(self.ranks)
        for half in range(halves):
            for rank, parent in enumerate(tree_of_gpus(self.ranks, how.hosts_per_node, half)):
                if parent >= 0 and parent // how.hosts_per_node != rank // how.hosts_per_node:
                    sent[[rank, parent]] += 1 / halves
        return float(sent.max())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw busbw over the size."""
        table = self.evaluate()
        with canvas(ax) as ax:
            ax.semilogx(table["size_bytes"], table["busbw_bps"] / 8e9, color=COLOURS["blue"], label=self.operation)
            ax.axhline(self.rate_bps / 8e9, color="0.4", linewidth=1, linestyle="--", label="link")
            ax.set(title=self.title, xlabel="size (bytes)", ylabel="busbw (GB/s)")
            ax.legend(loc="lower right")
        return ax

    def scenario(self) -> Scenario:
        """Return the equivalent scenario for a simulation."""
        names = [f"h{rank}" for rank in range(self.ranks)]
        work = _CALLS[self.operation](names, self.size_bytes, self.settings)
        return Scenario(network=star(self.ranks, self.rate_bps, ps(self.delay_ps)), workload=work, scheme=self.scheme)

    def predict(self, result: Result) -> pd.DataFrame:
        """Return time and busbw from the closed form."""
        return _tidy(self.evaluate([self.size_bytes]))

    def measure(self, result: Result) -> pd.DataFrame:
        """Return time and busbw from the simulation."""
        return _tidy(result.collectives)


def _tidy(table: pd.DataFrame) -> pd.DataFrame:
    parts = told("time", "ps", [0], table["time_ps"].iloc[:1]), told("busbw", "bps", [0], table["busbw_bps"].iloc[:1])
    return pd.concat(parts, ignore_index=True)
