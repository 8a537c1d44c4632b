"""Chakra execution traces (ET): one file per rank, the format of ASTRA-sim and of PyTorch's converted profiles.

=======================  =============================================================================================
``COMP``, ``MEM_...``    computation on the rank's host, for ``duration_micros`` or a time computed from ``num_ops``
                         and ``tensor_size``. The accelerator runs one at a time, and so does the CPU
                         (``is_cpu_op``), by id where no dependency orders them
``METADATA``             takes no time; may list the ranks of process groups, as PyTorch writes them
``COMM_SEND, _RECV``     a message, matched by source, destination and tag
``COMM_COLL``            a collective among the ranks of ``pg_name``, matched by its order there
=======================  =============================================================================================

``comm_size`` is a rank's input, as in ASTRA-sim and in PyTorch's converter: for an all-gather the rank's own part,
otherwise its whole buffer. A profile contains a collective twice, as a call on the CPU and as a kernel: if a file has
communication on the accelerator, communication on the CPU counts as computation.

A node waits for its control and data dependencies. Control dependencies on operators missing from the file (the callers
in a profile) are ignored, and so are recorded start times.
"""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.formats.files import File, described, fields, hosts_of, packed, read_bytes, signed, unzipped, varint
from rdmacc.formats.operations import Operation, schedule_of
from rdmacc.units import Quantity, rate_bps, us
from rdmacc.workload.frame import Hosts
from rdmacc.workload.nccl import Nccl

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
"""Type of an attribute's value by field number; lists, one number higher, are not needed."""


@typed
@described
def from_chakra(
    path: File,
    hosts: Hosts | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    nccl: Nccl | None = None,
    memory_rate: Quantity | None = None,
    operations_per_second: float | None = None,
) -> pd.DataFrame:
    """Return the workload in a set of Chakra traces.

    Parameters
    ----------
    path : path
        Common prefix of the files: ``step`` for step.0.et, step.1.et, ...
    groups : mapping, optional
        The ranks of each process group, by ``pg_name``, unless the files list them; a collective without a name
        involves all ranks.
    memory_rate : number or str, optional
        Memory bandwidth, such as ``"16Tbps"``: sets the time of a node without a duration from its ``tensor_size``.
    operations_per_second : float, optional
        Peak rate of the accelerator: a COMP node without a duration takes the longer of its computing and its memory
        time (the roofline).

    Raises
    ------
    ConfigError
        For files that are missing or damaged, with the file and the node; for collectives that rdmacc lacks; for nodes
        without a duration if the rate needed to compute one is missing.
    """
    folder, prefix = Path(path).parent, Path(path).name
    pattern = re.compile(re.escape(prefix) + r"\.(\d+)\.et")
    try:
        names, is_file = os.listdir(folder) if folder.is_dir() else [], Path(path).is_file()
    except OSError as error:  # such as a name that is too long
        raise ConfigError("file", str(path), f"the prefix of files that can be read ({error})") from None
    found = {int(match[1]): folder / name for name in names if (match := pattern.fullmatch(name))}
    if is_file and not found and unzipped(path, read_bytes(path)).lstrip()[:1] in (b"{", b"["):
        allowed = "the prefix of Chakra's .et files, which chakra_trace_link and chakra_converter make of JSON traces"
        raise ConfigError("file", f"{path}, a JSON trace", allowed)
    if sorted(found) != list(range(len(found))) or not found:
        raise ConfigError("file", str(path), f"followed by .0.et, .1.et and so on; found {sorted(found)}")
    memory_bps = None if memory_rate is None else rate_bps(memory_rate, field="memory_rate")
    for name, given in (("memory_rate", memory_bps), ("operations_per_second", operations_per_second)):
        if given is not None and not 0 < given < math.inf:
            raise ConfigError(name, given, "above 0, and finite")
    rates = _Rates(memory_bps, operations_per_second)
    operations: list[Operation] = []
    for rank in range(len(found)):
        _read_rank(found[rank], rank, len(found), groups or {}, rates, operations)
    return schedule_of(operations, hosts_of(path, len(found), hosts), COLLECTIVES, nccl).frame()


@dataclass(frozen=True)
class _Rates:
    memory_bps: float | None
    operations_per_second: float | None

    def picoseconds(self, node: dict[str, Any], kind: str, place: str) -> int:
        if node["duration_us"] > 10**12:
            raise ConfigError("duration_micros", node["duration_us"], "at most 10**12", place)
        counts = {name: node["attributes"].get(name) or 0 for name in ("num_ops", "tensor_size")}
        if node["duration_us"] or kind == "METADATA" or not any(counts.values()):
            return us(node["duration_us"])
        for name, count in counts.items():
            if not isinstance(count, int) or not 0 <= count < 2**62:
                raise ConfigError(name, count, "a whole number from 0 to 2**62", place)
        times = []
        if kind == "COMP" and counts["num_ops"]:
            if self.operations_per_second is None:
                allowed = "above 0, or pass operations_per_second= for num_ops"
                raise ConfigError("duration_micros", 0, allowed, place)
            times.append(counts["num_ops"] * 1e12 / self.operations_per_second)
        if counts["tensor_size"] and self.memory_bps is not None:
            times.append(counts["tensor_size"] * 8e12 / self.memory_bps)
        if not times:
            if kind == "COMP":
                return 0
            raise ConfigError("duration_micros", 0, "above 0, or pass memory_rate= for tensor_size", place)
        if max(times) > us(10**12):
            raise ConfigError("num_ops and tensor_size", counts, "few enough for 10**12 us", place)
        return round(max(times))


def _read_rank(
    path: Path, rank: int, ranks: int, groups: Mapping[str, Sequence[int]], rates: _Rates, operations: list[Operation]
) -> None:
    nodes = _nodes(path)
    groups = {**_listed_groups(nodes, ranks), **groups}
    has_kernels = any(_kind(node).startswith("COMM") and not _is_on_cpu(node) for node in nodes)
    read: dict[int, tuple[Operation, dict[str, Any]]] = {}
    for node in nodes:
        if node["id"] in read:
            raise ConfigError("id", node["id"], "unique: an earlier node has it", f"{path}, node {node['id']}")
        if _kind(node).startswith("COMM") and has_kernels and _is_on_cpu(node):
            node |= {"kind": _KINDS.index("COMP"), "attributes": {"is_cpu_op": True}}
        read[node["id"]] = _operation(node, rank, ranks, groups, rates, path), node
    number_of = {name: number for number, name in enumerate(sorted(read), len(operations))}
    for name in sorted(read):
        operation, node = read[name]
        for other in node["data"]:
            if other not in number_of:
                raise ConfigError("dependency", other, "the id of a node of the same file", operation.where)
        wanted = [*node["data"], *(other for other in node["control"] if other in number_of)]
        operation.after = [number_of[other] for other in wanted]
        operations.append(operation)


def _kind(node: dict[str, Any]) -> str:
    return _KINDS[node["kind"]] if node["kind"] < len(_KINDS) else "unknown"


def _is_on_cpu(node: dict[str, Any]) -> bool:
    """Return whether a node runs on the CPU, not on the accelerator."""
    return bool(node["attributes"].get("is_cpu_op"))


def _listed_groups(nodes: list[dict[str, Any]], ranks: int) -> dict[str, Sequence[int]]:
    """Return the process groups that metadata nodes list in PyTorch's form; a group without ranks has all of them."""
    groups: dict[str, Sequence[int]] = {}
    for node in nodes:
        found = re.search(r"\[\{.*\}\]", node["values"], re.DOTALL) if _kind(node) == "METADATA" else None
        try:
            listed = json.loads(found[0]) if found else []
            for one in listed:
                groups[str(one["pg_name"])] = [int(rank) for rank in one["ranks"]] or range(ranks)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue  # other metadata
    return groups


def _nodes(path: Path) -> list[dict[str, Any]]:
    """Return the nodes of a file: id, kind, dependencies, duration_us, attributes and the values of the inputs."""
    data = unzipped(path, read_bytes(path))
    nodes: list[dict[str, Any]] = []
    at = 0
    try:
        while at < len(data):
            size, begin = varint(data, at)
            at = begin + size
            if at > len(data):
                raise ValueError("a truncated message")
            nodes.append(_node(data[begin:at]) if nodes else {})  # the first message is the metadata
    except ValueError as error:
        raise ConfigError("file", str(path), f"a Chakra trace ({error}, message {len(nodes)})") from None
    if not nodes:
        raise ConfigError("file", str(path), "a Chakra trace, which begins with its metadata")
    return nodes[1:]


def _node(data: bytes) -> dict[str, Any]:
    """Return a node; a missing field has its type's zero value."""
    node: dict[str, Any] = {"id": 0, "kind": 0, "duration_us": 0, "values": ""}
    node |= {"control": [], "data": [], "attributes": {}}
    for number, kind, value in fields(data):
        if number in (4, 5):
            node["control" if number == 4 else "data"] += packed(kind, value)
        elif number == 8 and isinstance(value, bytes):
            node["values"] = next((str(signed("string", part)) for name, _, part in fields(value) if name == 1), "")
        elif number == 10 and isinstance(value, bytes):
            name, content = _attribute(value)
            node["attributes"][name] = content
        elif number in (1, 3, 7):
            node[{1: "id", 3: "kind", 7: "duration_us"}[number]] = signed("uint", value)
    return node


def _attribute(data: bytes) -> tuple[str, Any]:
    name, content = "", None
    for number, _, value in fields(data):
        if number == 1:
            name = str(signed("string", value))
        elif number in _TYPES:
            content = signed(_TYPES[number], value)
    return name, content


def _operation(
    node: dict[str, Any], rank: int, ranks: int, groups: Mapping[str, Sequence[int]], rates: _Rates, path: Path
) -> Operation:
    kind, attributes, at = _kind(node), node["attributes"], f"node {node['id']}"
    place = f"{path}, {at}"

    def number(name: str, least: int, most: int) -> int:
        value = attributes.get(name)
        if not isinstance(value, int) or not least <= value <= most:
            raise ConfigError(name, value, f"a whole number from {least} to {most}", place)
        return value

    if kind in ("COMP", "MEM_LOAD", "MEM_STORE", "METADATA"):
        competes = -1 if kind == "METADATA" else int(_is_on_cpu(node))
        return Operation("calc", rank, path, at, rates.picoseconds(node, kind, place), cpu=competes)
    if kind in ("COMM_SEND", "COMM_RECV"):
        end = "comm_dst" if kind == "COMM_SEND" else "comm_src"
        tag = number("comm_tag", -(2**31), 2**32) if "comm_tag" in attributes else 0
        size = max(number("comm_size", 0, 2**62), 1)
        kind = "send" if kind == "COMM_SEND" else "recv"
        return Operation(kind, rank, path, at, size, number(end, 0, ranks - 1), tag)
    if kind == "COMM_COLL":
        what = number("comm_type", 0, 9)
        if what not in COLLECTIVES:
            allowed = f"one of {', '.join(f'{k} ({v})' for k, v in COLLECTIVES.items())}"
            raise ConfigError("comm_type", f"{what} ({_REFUSED[what]})", allowed, place)
        group = _group(attributes.get("pg_name"), rank, ranks, groups, place)
        size, parts = number("comm_size", 1, 2**62 // ranks), len(group) if COLLECTIVES[what] == "all-gather" else 1
        return Operation("collective", rank, path, at, size, tag=what, group=group, parts=parts)
    raise ConfigError("type", f"{node['kind']} ({kind})", "METADATA, MEM, COMP or COMM", place)


def _group(name: Any, rank: int, ranks: int, groups: Mapping[str, Sequence[int]], place: str) -> tuple[int, ...]:
    if name in (None, ""):
        return tuple(range(ranks))
    if name not in groups:
        raise unknown("pg_name", name, groups, "a name in groups=, or in the files' metadata", where=place)
    members = tuple(groups[name])
    if rank not in members or len(set(members)) < len(members) or not set(members) <= set(range(ranks)):
        raise ConfigError(f"groups[{name!r}]", members, f"distinct ranks below {ranks}, including rank {rank}", place)
    return members
