"""Published results of nccl-tests on real machines."""

from dataclasses import dataclass

from rdmacc.workload.nccl import Nccl

_NOTES = {
    "NVIDIA/nccl#2409": "reported as slow: send/recv over one rail reached 13.1 of 50 GB/s",
    "nccl-tests#309": "expected, not measured: above the NICs, as a tree of two nodes is",
    "nccl-tests#119": "96 of 100 GB/s: NICs limit it",
    "NVIDIA/nccl#812": "192 of 200 GB/s: NICs limit it",
    "NVIDIA/nccl#1048": "86 of 100 GB/s; 96 was expected",
    "nccl-tests#232": "a tree of two nodes sends each byte once, where busbw counts a ring's",
    "nccl-tests#267": "48.5 of 50 GB/s: one NIC limits it",
}


@dataclass(frozen=True)
class Printed:
    """A published result of nccl-tests: busbw in GB/s, machine and source, and what is known of its limit."""

    machine: str
    hosts: int
    rate: str
    operation: str
    size: str
    settings: Nccl
    busbw_gbytes: float
    source: str

    @property
    def note(self) -> str:
        """What limits it, as far as the source says."""
        return _NOTES[self.source]

    @property
    def nodes(self) -> int:
        return self.hosts // self.settings.hosts_per_node

    @property
    def rate_bps(self) -> float:
        """Rate of a GPU's NIC."""
        return 1e9 * float(self.rate.removesuffix("Gbps"))

    @property
    def limit_gbytes(self) -> float:
        """NICs of a node together."""
        return self.settings.hosts_per_node * self.rate_bps / 8e9


_RINGS = Nccl(hosts_per_node=8, channels=8, chunk_bytes="2MiB", slices=2)
_TREES = Nccl(algorithm="tree", chunk_bytes="512KiB")
PRINTED = (
    Printed("2 x 8 H100, 400G", 16, "400Gbps", "all-reduce", "1GiB", _RINGS, 216.5, "NVIDIA/nccl#2409"),
    Printed("2 x 8 H100, 400G, as expected", 16, "400Gbps", "all-reduce", "1GiB", _RINGS, 470.0, "nccl-tests#309"),
    Printed("3 x 8 A100, 4 x 200G", 24, "100Gbps", "all-reduce", "1GiB", _RINGS, 96.0, "nccl-tests#119"),
    Printed("DGX A100, 8 x 200G", 16, "200Gbps", "all-reduce", "1GiB", _RINGS, 192.0, "NVIDIA/nccl#812"),
    Printed("2 x 8 A100, 4 x 200G", 16, "100Gbps", "all-reduce", "1GiB", _RINGS, 86.0, "NVIDIA/nccl#1048"),
    Printed("2 x 1 H100, tree", 2, "400Gbps", "all-reduce", "2MiB", _TREES, 18.53, "nccl-tests#232"),
    Printed("2 x 1 H100, tree", 2, "400Gbps", "all-reduce", "8MiB", _TREES, 36.24, "nccl-tests#232"),
    Printed("2 x 1 H100, tree", 2, "400Gbps", "all-reduce", "32MiB", _TREES, 41.31, "nccl-tests#232"),
    Printed("400G, one NIC", 8, "400Gbps", "all-to-all", "256MiB", Nccl(channels=4), 48.5, "nccl-tests#267"),
)
"""Four NICs of 200 Gb/s for eight GPUs are eight of 100 here. Where a size is not given, 1 GiB; of nodes, two."""
