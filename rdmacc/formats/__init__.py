"""Files of other simulators, read as workloads and networks, and written so that one scenario runs here and there.

===========================================  ===================================================================
:func:`from_goal`                            GOAL, as LogGOPSim and ATLAHS read it
:func:`from_chakra`                          Chakra execution traces, as ASTRA-sim reads them
:func:`from_htsim`, :func:`to_htsim`         htsim's connection matrix and topology
:func:`from_hpcc`, :func:`to_hpcc`           flows and topology of the HPCC simulator for ns-3
===========================================  ===================================================================

What a format can say and rdmacc cannot is an error that names it, with the file and the line.
"""

from __future__ import annotations

from rdmacc.formats.chakra import from_chakra
from rdmacc.formats.goal import from_goal
from rdmacc.formats.hpcc import from_hpcc, to_hpcc
from rdmacc.formats.htsim import from_htsim, to_htsim

__all__ = ["from_chakra", "from_goal", "from_hpcc", "from_htsim", "to_hpcc", "to_htsim"]
