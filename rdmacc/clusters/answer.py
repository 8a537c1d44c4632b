"""How long a collective takes on a cluster, and how far to trust the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pandas as pd

from rdmacc.show.tables import html_table, text_table
from rdmacc.units import format_size, format_time
from rdmacc.workload.nccl import Nccl
from rdmacc.workload.nccl_tuning import predictions

if TYPE_CHECKING:
    from rdmacc.clusters.cluster import Cluster

__all__ = ["Answer"]

NOT_MODELLED = (
    "start of kernels, copies and reductions inside a GPU (NCCL's own model adds 7 us and more), PCIe and host memory",
    "contention inside the inner network beyond a GPU's port; reductions in switches (SHARP, NVLS)",
    "other traffic, errors of links, a NIC's limits of queue pairs and of messages per second",
)
"""What an answer leaves out."""


@dataclass(frozen=True, eq=False)
class Answer:
    """How long a collective takes on a cluster; print it.

    Attributes
    ----------
    cluster : Cluster
        The cluster.
    operation : str
        Such as "all_reduce".
    size_bytes : int
        Data per GPU.
    nccl : Nccl
        Algorithm, protocol and parameters of the collective.
    seeds : int
        Number of draws of ECMP's paths.
    frame : DataFrame
        By scheme: `time_ps, algbw_gbytes, busbw_gbytes`, means over the seeds; `fastest_ps, slowest_ps`; `max_min_ps`,
        the mean time under max-min fair sharing; `max_min_error`, its mean error against packets on the same paths,
        and the extremes `least_error, most_error`.
    """

    cluster: Cluster
    operation: str
    size_bytes: int
    nccl: Nccl
    seeds: int
    frame: pd.DataFrame = field(repr=False)

    @property
    def choice(self) -> str:
        """How NCCL would run it, and the time that NCCL's own model predicts."""
        how, words = self.nccl, [f"{self.nccl.rings} channels"]
        if how.chunk_bytes:
            words.append(f"chunks of {format_size(how.chunk_bytes)} in {how.slices} slice{'s' * (how.slices > 1)}")
        if how.pxn:
            words.append("PXN")
        nodes = self.cluster.nodes * self.cluster.gpus // how.hosts_per_node
        known = predictions(self.operation.replace("_", "-"), self.size_bytes, nodes, how, self.cluster.rate_bps)
        said = [
            f"{row['algorithm']} {row['protocol']} {format_time(round(row['time_us'] * 1e6), 3)}"
            for row in known.to_dict("records")
        ]
        named_so = f"{how.algorithm}, {how.protocol}, " if said else ""
        return named_so + ", ".join(words) + (f" (NCCL's model: {'; '.join(said[:3])})" if said else "")

    @property
    def beside(self) -> str:
        """The nearest machine with a published busbw."""
        one = self.cluster.nearest(self.operation)
        if one is None:
            return "no published busbw of this operation is at hand"
        return f"{one.busbw_gbytes:g} GB/s on {one.machine} ({one.source}; {one.note})"

    def _cells(self) -> list[list[str]]:
        def shown(time_ps: float) -> str:
            return "" if math.isnan(time_ps) else format_time(round(time_ps), 4)

        def error(row: Any) -> str:
            spread = f" ({row.least_error:+.1%} to {row.most_error:+.1%})" if self.seeds > 1 else ""
            return "" if math.isnan(row.max_min_error) else f"{row.max_min_error:+.1%}{spread}"

        rows: Any = self.frame.itertuples()
        return [
            [
                row.scheme, shown(row.time_ps), f"{shown(row.fastest_ps)} to {shown(row.slowest_ps)}",
                f"{row.algbw_gbytes:.1f}", f"{row.busbw_gbytes:.1f}", shown(row.max_min_ps), error(row),
            ]
            for row in rows
        ]  # fmt: skip

    @property
    def _headers(self) -> list[str]:
        drawn = "one draw of paths" if self.seeds == 1 else f"over {self.seeds} draws of paths"
        return ["scheme", "time", drawn, "algbw (GB/s)", "busbw (GB/s)", "max-min", "its error"]

    @property
    def _title(self) -> str:
        return f"{self.operation} of {format_size(self.size_bytes)} on {self.cluster.text}"

    def __str__(self) -> str:
        table = text_table(self._headers, self._cells())
        left_out = "\n".join(f"not modelled: {line}" for line in NOT_MODELLED)
        return f"{self._title}\nas NCCL runs it: {self.choice}\n{table}\npublished: {self.beside}\n{left_out}"

    def _repr_html_(self) -> str:
        lines = [f"as NCCL runs it: {self.choice}", f"published: {self.beside}"]
        lines += [f"not modelled: {line}" for line in NOT_MODELLED]
        return html_table(self._headers, self._cells(), self._title) + "".join(f"<div>{line}</div>" for line in lines)
