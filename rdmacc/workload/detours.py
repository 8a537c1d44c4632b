"""Minimal and Valiant routing over a dragonfly, as paths of messages."""

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.topology.base import Graph
from rdmacc.topology.direct import dragonfly_route
from rdmacc.typed import typed
from rdmacc.workload.frame import messages, stream

DETOURS = 150
"""Purpose of the random stream."""


@typed
def dragonfly_paths(workload: pd.DataFrame, network: Graph, routing: str = "minimal", seed: int = 0) -> pd.DataFrame:
    """Return a workload with a path over a dragonfly for each message; its replies take the path in reverse.

    Source: Kim et al., "Technology-driven, highly-scalable dragonfly topology", ISCA 2008, section 4. "minimal" takes
    the direct link between the groups of sender and receiver. "valiant" goes through a third group, drawn at random for
    each message; within a group it is minimal too. A message has one path for all its packets: split a message to send
    it along several. Kim et al. need two or three virtual channels to rule out deadlocks, which lossless networks here
    do not have for this: prefer schemes that do not pause links.

    Parameters
    ----------
    workload : DataFrame
        As :func:`messages` returns it.
    network : networkx.Graph
        A :func:`rdmacc.topology.dragonfly`.
    routing : {"minimal", "valiant"}
        Which paths.
    seed : int
        Random seed.

    Raises
    ------
    ConfigError
        If the network is no dragonfly, has no third group, or lacks a host of the workload.

    Examples
    --------
    >>> from rdmacc import messages, topology
    >>> from rdmacc.workload import dragonfly_paths
    >>> network = topology.dragonfly(2, 1, 1)
    >>> dragonfly_paths(messages([("h0", "h3", "1MB")]), network)["path"][0]
    ('h0', 'g0r0', 'g1r1', 'h3')
    """
    if routing not in ("minimal", "valiant"):
        raise ConfigError("routing", routing, "minimal or valiant")
    found = messages(workload)
    draws = stream(seed, DETOURS).random(len(found))
    paths = []
    for src, dst, draw in zip(found["src"], found["dst"], draws, strict=True):
        direct = dragonfly_route(network, src, dst)
        if routing == "valiant":
            direct = _detour(network, direct, draw)
        paths.append(tuple(direct))
    found["path"] = paths
    found["ack_path"] = [path[::-1] for path in paths]
    return found


def _detour(network: Graph, direct: list[str], draw: float) -> list[str]:
    """Return a path through a third group instead, if the ends are in two groups."""
    a, _, h = network.graph["dragonfly"]
    ends = {int(name[1:].partition("r")[0]) for name in (direct[1], direct[-2])}
    if len(ends) == 1:
        return direct
    others = sorted(set(range(a * h + 1)) - ends)
    if not others:
        raise ConfigError("network", network.graph["name"], "at least three groups, for a detour through the third")
    return dragonfly_route(network, direct[0], direct[-1], others[int(draw * len(others))])
