"""rdmacc: congestion control and loss recovery in RDMA datacenter networks, simulated packet by packet.

>>> import rdmacc
>>> network = rdmacc.star(5, rate="100Gbps", delay="1us")
>>> work = rdmacc.incast(senders=["h1", "h2", "h3", "h4"], receiver="h0", size="64kB")
>>> result = rdmacc.simulate(network, work, "dcqcn")
>>> len(result.flows)
4
"""

from __future__ import annotations

from rdmacc import presets as presets  # they register the schemes
from rdmacc.sources import lazy_names

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_names(__name__)  # imported on first use: `__init__.pyi` lists them
