"""Combine workloads in parallel or in sequence, place jobs on hosts, and set paths on a dragonfly."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.topology.base import Graph
from rdmacc.topology.direct import dragonfly_route
from rdmacc.workload.checks import positions
from rdmacc.workload.columns import no_delays, split_ids
from rdmacc.workload.frame import PERIOD, Host, Hosts, checked_whole, host_names, messages, stream

_MOST_PAIRS = 50_000_000


def combine(*workloads: pd.DataFrame) -> pd.DataFrame:
    """Return the workloads combined into one, running in parallel.

    Messages are renumbered 0 to M - 1 in the given order, and `after` is adjusted. Groups and collectives are
    renumbered so that no two workloads share one.

    Parameters
    ----------
    *workloads : DataFrame
        Frames as :func:`messages` returns them.
    """
    if not workloads:
        raise ConfigError("workloads", workloads, "at least one workload")
    parts: list[pd.DataFrame] = []
    first = groups = collectives = 0
    for workload in workloads:
        part = messages(workload)
        waiting, wanted, counts = positions(part["after"], part.index)
        part["after"] = split_ids((wanted + first).tolist(), waiting, counts, len(part))
        codes, names = pd.factorize(part["group"], sort=True)
        part["group"] = pd.arrays.IntegerArray(codes.astype(np.int64) + groups, codes < 0)
        if "collective" in part and part["collective"].notna().any():
            part["collective"] += collectives
            collectives = int(part["collective"].max()) + 1
        parts.append(part)
        first += len(part)
        groups += len(names)
    if any("delay_ps" in part for part in parts):
        for part in parts:
            if "delay_ps" not in part:
                part["delay_ps"] = no_delays(part["after"])
    whole = pd.concat(parts, ignore_index=True)
    whole.index = whole.index.rename("message")
    if any(part.attrs.get("sizes") for part in parts):
        whole.attrs["sizes"] = {name: source for part in parts for name, source in part.attrs.get("sizes", {}).items()}
    whole.attrs.pop(PERIOD, None)
    if all(PERIOD in part.attrs for part in parts):
        begins, ends = zip(*(part.attrs[PERIOD] for part in parts), strict=True)
        whole.attrs[PERIOD] = (min(begins), max(ends))
    return whole


def sequence(*workloads: pd.DataFrame) -> pd.DataFrame:
    """Return the workloads combined into one, each starting when the previous one is complete.

    Messages that wait for no other then wait for the final messages of the previous workload, those that no other
    message waits for. Start times still apply: a message starts at the later of the two.

    Parameters
    ----------
    *workloads : DataFrame
        Frames as :func:`messages` returns them, in order.

    Raises
    ------
    ConfigError
        As :func:`combine`, or if there would be more than 50 million pairs of waiting messages.

    Examples
    --------
    One step of a mixture of experts: dispatch, combine, and the gradients' all-reduce.

    >>> from rdmacc.workload import all_to_all, ring_all_reduce
    >>> hosts = ["h0", "h1", "h2", "h3"]
    >>> tokens = all_to_all(hosts, "1MB")
    >>> step = sequence(tokens, tokens, ring_all_reduce(hosts, "100MB"))
    >>> len(step), step["after"].iloc[12] == tuple(range(12))
    (48, True)
    """
    workloads = tuple(messages(workload) for workload in workloads)
    whole = combine(*workloads)
    _, wanted, _ = positions(whole["after"], whole.index)
    is_wanted = np.zeros(len(whole), dtype=np.bool_)
    is_wanted[wanted] = True
    after = whole["after"].to_numpy(dtype=object).copy()
    ends = np.cumsum([len(workload) for workload in workloads])
    for low, middle, high in zip(np.r_[0, ends[:-2]], ends[:-1], ends[1:]):
        lasts = tuple((low + np.flatnonzero(~is_wanted[low:middle])).tolist())
        roots = [row for row in range(middle, high) if not after[row]]
        if len(lasts) * len(roots) > _MOST_PAIRS:
            allowed = f"must make at most {_MOST_PAIRS} pairs of messages wait on each other"
            raise ConfigError("workloads", f"{len(lasts)} last, then {len(roots)} first messages", allowed)
        for row in roots:
            after[row] = lasts
    whole["after"] = after
    if "delay_ps" in whole:
        whole["delay_ps"] = [
            delays if len(delays) == len(rows) else (0,) * len(rows)
            for delays, rows in zip(whole["delay_ps"], after, strict=True)
        ]
    return whole


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
