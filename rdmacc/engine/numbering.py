"""Number a workload's messages and queue pairs, and find the ports by which queue pairs leave their hosts."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.chance import hash63
from rdmacc.errors import ConfigError
from rdmacc.schemes import Scheme
from rdmacc.topology.fabric import Fabric
from rdmacc.workload.paths import PATH_COLUMNS, Paths

Ints: TypeAlias = npt.NDArray[np.int64]


def message_number(frame: pd.DataFrame, row: Any, field: str) -> int:
    """Return the message number of a row of the workload, since rows of computation are not messages."""
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or row not in frame.index:
        first, last = int(frame.index[0]), int(frame.index[-1])
        between = "" if first == 0 and last == len(frame) - 1 else ", that is a message"
        raise ConfigError(field, row, f"a row of the workload, {first} to {last}{between}")
    return int(frame.index.get_indexer(pd.Index([row]))[0])


def queue_pairs(src: Ints, dst: Ints, is_pairwise: bool, labels: Ints) -> tuple[Ints, Ints, Ints]:
    """Return each message's queue pair, and source and destination of each queue pair."""
    if not len(labels) and not is_pairwise:
        return np.arange(len(src)), src, dst
    count = int(dst.max(initial=-1)) + 1
    pairs = src * count + dst
    if len(labels):
        own = np.full(len(src), -1) if is_pairwise else -1 - np.arange(len(src))
        pairs = pd.factorize(pd.MultiIndex.from_arrays([pairs, np.where(labels < 0, own, labels)]))[0]
    codes, first = np.unique(pairs, return_index=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first = first[order]
    return place[np.searchsorted(codes, pairs)], src[first], dst[first]


def hash_as(qp: Ints, labels: Ints) -> npt.NDArray[np.int32]:
    """Return the message whose number ECMP hashes for each message; empty if the workload names no queue pairs."""
    if not len(labels):
        return np.zeros(0, np.int32)
    first = np.unique(qp, return_index=True)[1]
    return np.where(labels < 0, np.arange(len(qp)), first[qp]).astype(np.int32)


def first_ports(fabric: Fabric, salts: Ints, src: Ints, dst: Ints) -> Ints:
    """Return the port by which each queue pair leaves host `src`; a hash spreads them over several ports."""
    first = np.asarray(fabric.node_first_port)
    ports = first[src].astype(np.int64)
    for number in np.flatnonzero(first[src + 1] - first[src] > 1):
        choices = fabric.candidates(int(src[number]), int(dst[number]))
        ports[number] = choices[hash63(int(salts[src[number]]), int(number)) % len(choices)]
    return ports


def lead_by_paths(ports: Ints, paths: Paths, back: int, qp: Ints, frame: pd.DataFrame) -> None:
    """Make queue pairs leave their hosts by the first links of their messages' paths."""
    if not len(paths.ports):
        return
    first = paths.first[back:-1:2]
    rows = np.flatnonzero(paths.first[back + 1 :: 2] > first)
    ports[qp[rows]] = paths.ports[first[rows]]
    wrong = rows[ports[qp[rows]] != paths.ports[first[rows]]]
    if len(wrong):
        row, name = int(wrong[0]), PATH_COLUMNS[back]
        allowed = "must leave the host by the same link as the queue pair's other messages"
        raise ConfigError(name, frame[name].iloc[row], allowed, where=f"row {row}")


def count_paths(fabric: Fabric, scheme: Scheme, ports: Ints, dst: Ints) -> Ints:
    """Return the number of shortest paths to a host from the far end of each port."""
    paths = np.ones(len(ports), np.int64)
    if scheme.routing == "source":
        for number, (port, host) in enumerate(zip(ports.tolist(), dst.tolist(), strict=True)):
            node = int(fabric.port_peer[port])
            while not fabric.is_host[node]:
                choices = fabric.candidates(node, host)
                paths[number] *= len(choices)
                node = int(fabric.port_peer[choices[0]])
    return paths
