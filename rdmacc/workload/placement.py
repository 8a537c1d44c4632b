"""Jobs: named workloads, placed on different hosts of one network."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.typed import typed
from rdmacc.workload.choice import Hosts
from rdmacc.workload.compose import combine
from rdmacc.workload.frame import Host, checked_whole, host_names, messages, stream

PLACEMENTS = ("packed", "random", "round-robin")
PLACEMENT = 37
"""Purpose of the random stream that places jobs."""


@typed
def job(workload: pd.DataFrame, *, name: str, placement: Sequence[Host] | None = None) -> pd.DataFrame:
    """Return a workload as a job: its rows get a name, for `result.jobs`, and new hosts if `placement` is given.

    `placement` has a new host for each host of the workload: h0, h1, ... by number, others in order of appearance.
    """
    frame = messages(workload)
    if placement is not None:
        ranks = ranks_of(frame)
        places = host_names("placement", placement)[: len(ranks)]
        if len(places) < len(ranks) or len(set(places)) < len(places):
            raise ConfigError("placement", placement, f"{len(ranks)} different hosts, one for each host of the job")
        to = dict(zip(ranks, places, strict=True))
        for end in ("src", "dst"):
            frame[end] = pd.Series([to[host] for host in frame[end]], frame.index, dtype=object)
    return frame.assign(job=name)


@typed
def jobs(
    hosts: Hosts,
    parts: Mapping[str, pd.DataFrame],
    placement: str = "packed",
    *,
    hosts_per_node: int = 1,
    seed: int = 0,
) -> pd.DataFrame:
    """Return several jobs, workloads by name, on one network, each on its own hosts.

    ============  ========================================================================
    packed        jobs one after the other, in the order of the hosts
    round-robin   hosts are dealt to the jobs in turn; a job that has enough drops out
    random        the hosts are shuffled, by `seed`, then packed
    ============  ========================================================================

    `hosts_per_node` consecutive hosts stay together: the GPUs of a node.
    """
    if placement not in PLACEMENTS:
        raise ConfigError("placement", placement, f"one of {', '.join(PLACEMENTS)}; job() takes a list of hosts")
    if not parts:
        raise ConfigError("parts", parts, "at least one job")
    listed, size = host_names("hosts", hosts), checked_whole("hosts_per_node", hosts_per_node, 1)
    nodes = [listed[first : first + size] for first in range(0, len(listed) - size + 1, size)]
    frames = {name: messages(part) for name, part in parts.items()}
    needs = {name: -(-len(ranks_of(frame)) // size) for name, frame in frames.items()}
    if sum(needs.values()) > len(nodes):
        raise ConfigError("hosts", f"{len(nodes)} nodes", f"at least the {sum(needs.values())} that the jobs need")
    if placement == "random":
        nodes = [nodes[i] for i in stream(seed, PLACEMENT).permutation(len(nodes)).tolist()]
    order = [name for name, count in needs.items() for _ in range(count)]
    if placement == "round-robin":
        order = [name for turn in range(max(needs.values())) for name, count in needs.items() if turn < count]
    places: dict[str, list[Host]] = {name: [] for name in frames}
    for name, members in zip(order, nodes, strict=False):
        places[name] += members
    return combine(*(job(frame, name=name, placement=places[name]) for name, frame in frames.items()))


def ranks_of(frame: pd.DataFrame) -> list[Host]:
    """Return the hosts of a workload: h0, h1, ... by number, others in order of first appearance."""
    found = pd.unique(pd.Series(np.stack([frame["src"], frame["dst"]], axis=1).ravel(), dtype=object)).tolist()
    if all(isinstance(host, str) and host[:1] == "h" and host[1:].isdigit() for host in found):
        return sorted(found, key=lambda host: int(host[1:]))
    return found
