"""Networks as :class:`networkx.Graph` objects: builders, the papers' own networks, measures and a drawing.

A node has a ``kind``, "host" or "switch"; a switch has ``buffer_bytes`` (int, shared by its ports), and a host may have
``rate_bps`` (float, its highest sending rate on a link). An edge is a full-duplex link with ``rate_bps`` (float, each
direction) and ``delay_ps`` (int, propagation). ``graph.graph`` holds the ``name``, the ``tiers`` (lists of node names,
from the hosts upwards, used only by :func:`draw`) and a dumbbell's two ``sides`` (used only by :func:`bisection_bps`).
Any graph that :func:`validate` accepts works; the builders are conveniences.

>>> network = rcc_fat_tree()
>>> info = describe(network)
>>> info.base_rtt_ps, info.oversubscription
(12266880, 1.0)
"""

from rdmacc.topology.base import Graph, add_host, add_link, add_switch, completed, hosts, switches, validate
from rdmacc.topology.bounds import default_buffer_bytes
from rdmacc.topology.builders import clos, dumbbell, fat_tree, leaf_spine, multi_plane, rail_optimised, star
from rdmacc.topology.direct import dragonfly
from rdmacc.topology.drawing import draw
from rdmacc.topology.files import from_graphml, from_node_link
from rdmacc.topology.measures import TopologyInfo, base_rtt_ps, bdp_bytes, bisection_bps, describe
from rdmacc.topology.papers import (
    dart_clos,
    dart_testbed,
    igbn_pair,
    rcc_dumbbell,
    rcc_fat_tree,
    rcc_multi_bottleneck,
    rcc_testbed,
    ren_leaf_spine,
    ren_testbed,
)

__all__ = [
    "Graph", "TopologyInfo", "add_host", "add_link", "add_switch", "base_rtt_ps", "bdp_bytes", "bisection_bps", "clos",
    "completed", "dart_clos", "dart_testbed", "default_buffer_bytes", "describe", "dragonfly", "draw", "dumbbell",
    "fat_tree", "from_graphml", "from_node_link", "hosts", "igbn_pair", "leaf_spine", "multi_plane", "rail_optimised",
    "rcc_dumbbell", "rcc_fat_tree", "rcc_multi_bottleneck", "rcc_testbed", "ren_leaf_spine", "ren_testbed", "star",
    "switches", "validate",
]  # fmt: skip
