"""Read files of other simulators as workloads and networks, and write such files to run a scenario in both.

===========================================  ===================================================================
:func:`from_goal`                            GOAL, the format of LogGOPSim and ATLAHS
:func:`from_chakra`                          Chakra execution traces, the format of ASTRA-sim
:func:`from_htsim`, :func:`to_htsim`         htsim's connection matrix and topology
:func:`from_hpcc`, :func:`to_hpcc`           flows and topology of the HPCC simulator for ns-3
:func:`from_simai`                           SimAI's layers of a training step
:func:`from_nccl_log`                        the log of ``NCCL_DEBUG=INFO``: rings, trees, calls
:func:`from_nccl_tests`                      the table that nccl-tests print
:func:`from_collectives`                     a CSV of collectives: rank, op, size, start
===========================================  ===================================================================

If a file uses a feature that rdmacc lacks, an error names it, with the file and the line.
"""

from rdmacc.formats.chakra import from_chakra
from rdmacc.formats.goal import from_goal
from rdmacc.formats.hpcc import from_hpcc, to_hpcc
from rdmacc.formats.htsim import from_htsim, to_htsim
from rdmacc.formats.nccl_files import from_collectives, from_nccl_log, from_nccl_tests
from rdmacc.formats.simai import from_simai

__all__ = [
    "from_chakra", "from_collectives", "from_goal", "from_hpcc", "from_htsim", "from_nccl_log", "from_nccl_tests",
    "from_simai", "to_hpcc", "to_htsim",
]  # fmt: skip
