"""Chakra execution traces (ET): one file per rank, the format of ASTRA-sim.

=======================  =============================================================================================
``COMP``, ``MEM_...``    computation on the rank's host, for ``duration_micros``. Those of the accelerator run one at a
                         time, and so do those of the CPU (``is_cpu_op``): where no dependency orders them, by their ids
``METADATA``             takes no time
``COMM_SEND, _RECV``     a message, matched by source, destination and tag
``COMM_COLL``            a collective among the ranks of ``pg_name``, matched by its order there; ``comm_size`` is the
                         buffer of a rank, as in ASTRA-sim
=======================  =============================================================================================

A node waits for its control and data dependencies. Recorded start times are not a schedule and are ignored.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.formats.files import File, hosts_of, read_bytes
from rdmacc.formats.operations import Operation, schedule_of
from rdmacc.formats.protobuf import fields, packed, signed, varint
from rdmacc.typed import typed
from rdmacc.units import us
from rdmacc.workload.frame import Host
from rdmacc.workload.nccl import Nccl, expand
from rdmacc.workload.schedule import Schedule

_KINDS = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
COLLECTIVES = {
    0: "all-reduce",
    2: "all-gather",
    5: "broadcast",
    6: "all-to-all",
    7: "reduce-scatter",
    8: "reduce-scatter",
}
"""Collectives by ``comm_type``."""
_REFUSED = {1: "reduce", 3: "gather", 4: "scatter", 9: "barrier"}
_TYPES = {
    3: "double", 5: "float", 7: "int", 9: "int", 11: "uint", 13: "uint", 15: "sint", 17: "sint", 19: "fixed32",
    21: "uint", 23: "sfixed32", 25: "sfixed64", 27: "uint", 29: "string",
}  # fmt: skip
"""Of an attribute's value, by its field; the lists, one number higher, are not needed."""


@typed
def from_chakra(
    path: File,
    hosts: Sequence[Host] | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    nccl: Nccl | None = None,
) -> pd.DataFrame:
    """Return the workload in a set of Chakra traces.

    Parameters
    ----------
    path : path
        Common prefix of the files: ``step`` for step.0.et, step.1.et, ...
    hosts : sequence, optional
        The host of each rank; default: h0, h1, ...
    groups : mapping, optional
        The ranks of each process group, by ``pg_name``; a collective without a name involves all ranks.
    nccl : Nccl, optional
        How collectives run; default: rings of one channel.

    Returns
    -------
    DataFrame
        The workload.

    Raises
    ------
    ConfigError
        For files that are missing or damaged, with the file and the node; for collectives that rdmacc lacks.
    """
    folder, prefix = Path(path).parent, Path(path).name
    pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.et")
    found = {
        int(match[1]): one
        for one in (folder.iterdir() if folder.is_dir() else ())
        if (match := pattern.fullmatch(one.name))
    }
    if sorted(found) != list(range(len(found))) or not found:
        raise ConfigError("file", str(path), f"followed by .0.et, .1.et and so on; found {sorted(found)}")
    operations: list[Operation] = []
    for rank in range(len(found)):
        _read_rank(found[rank], rank, len(found), groups or {}, operations)
    settings = nccl or Nccl()

    def add(schedule: Schedule, one: Operation, names: list[Host], ready: list[list[int]]) -> list[list[int]]:
        return expand(schedule, COLLECTIVES[one.tag], names, one.amount, ready, settings)

    return schedule_of(operations, hosts_of(path, len(found), hosts), expand=add).frame()


def _read_rank(
    path: Path, rank: int, ranks: int, groups: Mapping[str, Sequence[int]], operations: list[Operation]
) -> None:
    """Append the operations of a rank."""
    nodes: dict[int, tuple[Operation, list[int]]] = {}
    for node in _nodes(path):
        place = f"{path}, node {node['id']}"
        if node["id"] in nodes:
            raise ConfigError("id", node["id"], "unique: an earlier node has it", place)
        nodes[node["id"]] = _operation(node, rank, ranks, groups, place), node["deps"]
    number_of = {name: number for number, name in enumerate(sorted(nodes), len(operations))}
    for name in sorted(nodes):
        operation, wanted = nodes[name]
        for other in wanted:
            if other not in number_of:
                raise ConfigError("dependency", other, "the id of a node of the same file", operation.place)
        operation.after = [number_of[other] for other in wanted]
        operations.append(operation)


def _nodes(path: Path) -> list[dict[str, Any]]:
    """Return the nodes of a file: id, name, kind, deps, duration_us and attributes."""
    data = read_bytes(path)
    nodes: list[dict[str, Any]] = []
    at = 0
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        while at < len(data):
            size, begin = varint(data, at)
            at = begin + size
            if at > len(data):
                raise ValueError("a truncated message")
            if nodes or begin > varint(data, 0)[1]:
                nodes.append(_node(data[begin:at]))
            else:
                nodes.append({})  # the first message is the metadata
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise ConfigError("file", str(path), f"a Chakra trace ({error}, message {len(nodes)})") from None
    if not nodes:
        raise ConfigError("file", str(path), "a Chakra trace, which begins with its metadata")
    return nodes[1:]


def _node(data: bytes) -> dict[str, Any]:
    """Return a node; a missing field has its type's zero value."""
    node: dict[str, Any] = {"id": 0, "kind": 0, "deps": [], "duration_us": 0, "attributes": {}}
    for number, kind, value in fields(data):
        if number in (4, 5):
            node["deps"] += packed(kind, value)
        elif number == 10 and isinstance(value, bytes):
            name, content = _attribute(value)
            node["attributes"][name] = content
        elif number in (1, 3, 7):
            node[{1: "id", 3: "kind", 7: "duration_us"}[number]] = signed("uint", value)
    return node


def _attribute(data: bytes) -> tuple[str, Any]:
    """Return the name and the value of an attribute; None for a list."""
    name, content = "", None
    for number, _, value in fields(data):
        if number == 1:
            name = str(signed("string", value))
        elif number in _TYPES:
            content = signed(_TYPES[number], value)
    return name, content


def _operation(
    node: dict[str, Any], rank: int, ranks: int, groups: Mapping[str, Sequence[int]], place: str
) -> Operation:
    """Convert a node to an operation."""
    kind = _KINDS[node["kind"]] if node["kind"] < len(_KINDS) else "unknown"
    attributes = node["attributes"]

    def number(name: str, least: int, most: int) -> int:
        value = attributes.get(name)
        if not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(name, value, f"a whole number from {least} to {most}", place)
        return value

    if kind in ("COMP", "MEM_LOAD", "MEM_STORE", "METADATA"):
        if node["duration_us"] > 10**12:
            raise ConfigError("duration_micros", node["duration_us"], "at most 10**12", place)
        if kind == "COMP" and not node["duration_us"] and attributes.get("num_ops"):
            raise ConfigError("duration_micros", 0, "above 0: rdmacc does not derive it from num_ops", place)
        competes = -1 if kind == "METADATA" else int(bool(attributes.get("is_cpu_op")))
        return Operation("calc", rank, place, us(node["duration_us"]), cpu=competes)
    if kind in ("COMM_SEND", "COMM_RECV"):
        end = "comm_dst" if kind == "COMM_SEND" else "comm_src"
        tag = number("comm_tag", -(2**31), 2**32) if "comm_tag" in attributes else 0
        size = max(number("comm_size", 0, 2**62), 1)
        return Operation("send" if kind == "COMM_SEND" else "recv", rank, place, size, number(end, 0, ranks - 1), tag)
    if kind == "COMM_COLL":
        what = number("comm_type", 0, 9)
        if what not in COLLECTIVES:
            raise ConfigError(
                "comm_type",
                f"{what} ({_REFUSED[what]})",
                f"one of {', '.join(f'{k} ({v})' for k, v in COLLECTIVES.items())}",
                place,
            )
        group = _group(attributes.get("pg_name"), rank, ranks, groups, place)
        return Operation("collective", rank, place, number("comm_size", 1, 2**62), tag=what, group=group)
    raise ConfigError("type", f"{node['kind']} ({kind})", "METADATA, MEM, COMP or COMM", place)


def _group(name: Any, rank: int, ranks: int, groups: Mapping[str, Sequence[int]], place: str) -> tuple[int, ...]:
    """Return the ranks of a process group."""
    if name in (None, ""):
        return tuple(range(ranks))
    if name not in groups:
        raise unknown("pg_name", name, groups, "a name in groups=", where=place)
    members = tuple(groups[name])
    if rank not in members or len(set(members)) < len(members) or not set(members) <= set(range(ranks)):
        raise ConfigError(f"groups[{name!r}]", members, f"distinct ranks below {ranks}, including rank {rank}", place)
    return members
