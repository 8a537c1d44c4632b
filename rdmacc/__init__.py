"""rdmacc: congestion control and loss recovery in RDMA datacenter networks, simulated packet by packet.

>>> import rdmacc
>>> network = rdmacc.star(5, rate="100Gbps", delay="1us")
>>> work = rdmacc.incast(senders=["h1", "h2", "h3", "h4"], receiver="h0", size="64kB")
>>> result = rdmacc.simulate(network, work, "dcqcn")
>>> len(result.flows)
4
"""

from rdmacc.caching.sources import lazy_names  # must come first: it records the text of every later import

from rdmacc import presets as presets  # isort: skip - they register the schemes

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_names(__name__)  # imported on first use: `__init__.pyi` lists them
