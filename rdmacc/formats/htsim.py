"""htsim's connection matrix (.cm, .tm) and topology (.topo), as in uet-htsim, csg-htsim and spcl/HTSIM.

A flow is a message. Messages wait for triggers: ``oneshot`` with one activator, ``barrier`` with the number that it
counts, ``multishot`` with one flow. ``send_done_trigger`` fires when the sender has the last ACK, ``recv_done_trigger``
when the receiver has the last byte. If a message of another host waits for the former, or one of the same host for the
latter, a computation of zero duration connects them. A triggered flow's own ``start`` has no effect, nor has ``prio``.

The matrix has no unit of time: main_uec and main_swift use whole microseconds, the others picoseconds. As in htsim,
values pass through a 32-bit float.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc.caching import uncollected
from rdmacc.errors import ConfigError, written
from rdmacc.errors.typed import typed
from rdmacc.faults import Fault
from rdmacc.formats.files import File, Line, check_apart, check_rows, hosts_of, line_of, read_text, unsaid, whole
from rdmacc.formats.htsim_topology import fat_tree_links, read_topology, write_topology
from rdmacc.interface import DATA_CLASS
from rdmacc.topology import Graph
from rdmacc.topology import hosts as hosts_in
from rdmacc.units import time_ps
from rdmacc.workload.checks import check_acyclic, positions
from rdmacc.workload.frame import Host, Hosts, as_objects, computation, messages
from rdmacc.workload.schedule import Schedule

_UNITS_PS = {"us": time_ps("1us"), "ps": 1}
_PLAIN = re.compile(r"([0-9]{1,9})->([0-9]{1,9})(?: id ([1-9][0-9]{0,8}))? start ([0-9]{1,9}) size ([1-9][0-9]{0,8}) ?")
"""The most common form of a line, parsed fast; other forms and mistakes take the slow path."""
_KEYS = {"id", "start", "trigger", "size", "send_done_trigger", "recv_done_trigger", "prio", "msg", "addon"}
_LARGEST = 2**31 - 1
_LATEST_PS = 10**18


class Imported(NamedTuple):
    """The content of a simulator's files, for `simulate(network, workload, scheme, faults=faults)`."""

    network: Graph
    workload: pd.DataFrame
    faults: tuple[Fault, ...]


@dataclass(slots=True)
class _Flow:
    src: int
    dst: int
    line: int
    size: int = 0
    start: int | None = None
    trigger: int = 0
    done: dict[str, int] = field(default_factory=dict)  # the triggers that it activates, by "send" and "recv"


@dataclass
class _Trigger:
    kind: str
    count: int
    error: Line


@typed
def from_htsim(
    matrix: File,
    topology: File | Graph,
    unit: str = "us",
    hosts: Hosts | None = None,
    bundles: str = "refused",
) -> Imported:
    """Read `network, workload, faults` from htsim's files; a failed link is down from the start.

    Parameters
    ----------
    matrix : path
        The connection matrix.
    topology : path or Graph
        htsim's topology file, or your own network.
    unit : str
        Unit of ``start``: "us" (main_uec, main_swift) or "ps" (ndp, roce, hpcc, eqds).
    hosts : sequence, optional
        The host of each node of the matrix; default: the network's hosts, in order.
    bundles : str
        How to treat parallel links between two switches (``Bundle``): as an error or, "merged", as one link with their
        total rate, which flows share more evenly than separate links.

    Raises
    ------
    ConfigError
        For anything that htsim would not read or would leave unsent, and for features that rdmacc lacks, with file and
        line: triggers whose flows depend on which activator is first, and reused connections.
    """
    unit_ps = _unit_ps(unit)
    if bundles not in ("refused", "merged"):
        raise ConfigError("bundles", bundles, '"refused" or "merged"')
    network, shape = (topology, None) if isinstance(topology, nx.Graph) else read_topology(topology, bundles)
    with uncollected():
        nodes, flows, triggers, failures = _read(matrix)
    names = hosts_of(matrix, nodes, hosts if hosts is not None else hosts_in(network))
    faults = tuple(fat_tree_links(shape, *failure) for failure in failures)
    return Imported(network, _schedule(matrix, flows, triggers, names, unit_ps), faults)


def _unit_ps(unit: str) -> int:
    if unit not in _UNITS_PS:
        raise ConfigError("unit", unit, '"us" or "ps"')
    return _UNITS_PS[unit]


def _read(path: File) -> tuple[int, list[_Flow], dict[int, _Trigger], list[tuple[int, int, Line]]]:
    header: dict[str, int] = {}
    places: dict[str, Line] = {}
    flows: list[_Flow] = []
    triggers: dict[int, _Trigger] = {}
    failures: list[tuple[int, int, Line]] = []
    ids: set[int] = set()
    nodes = 0
    for number, text in enumerate(read_text(path).split("\n"), 1):
        if not text:
            continue
        if plain := _PLAIN.fullmatch(text):
            src, dst, name, start, size = plain.groups()
            if src != dst and int(src) < nodes and int(dst) < nodes and (name is None or int(name) not in ids):
                if name is not None:
                    ids.add(int(name))
                flows.append(_Flow(int(src), int(dst), number, int(size), int(np.float32(start))))
                continue
        error = line_of(path, number)
        words = text[:-1].split(" ") if text.endswith(" ") else text.split(" ")
        is_body = "->" in words[0] or words[0] in ("trigger", "failure")
        if not (is_body or flows or triggers or failures):
            if words[0] in ("Nodes", "Connections", "Triggers", "Failures"):
                if words[0] in header:
                    raise error(words[0], "twice", "given once")
                if len(words) != 2:
                    raise error(words[0], text, "one number")
                least = int(words[0] in ("Nodes", "Connections"))
                header[words[0]], places[words[0]] = whole(error, words[0], words[1], least, _LARGEST), error
                nodes = header.get("Nodes", 0)
            continue  # htsim ignores other header lines
        if not is_body:
            raise error("line", text, "a connection, trigger or failure: comments stand in the header only")
        if "" in words or any(re.search(r"\s", word) for word in words):
            raise error("line", text, "tokens with single spaces between them, without tabs or carriage returns")
        if words[0] == "trigger":
            key, trigger = _trigger(words, error)
            if key in triggers:
                raise error("trigger", key, "declared once")
            triggers[key] = trigger
        elif words[0] == "failure":
            failures.append(_failure(words, error))
        else:
            flows.append(_flow(words, nodes, ids, error, number))
    found = {"Connections": len(flows), "Triggers": len(triggers), "Failures": len(failures)}
    for name in ("Nodes", "Connections"):
        if name not in header:
            raise ConfigError(name, None, "in the header", str(path))
    for name, count in found.items():
        if header.get(name, 0) != count:
            error = places.get(name, places["Nodes"])
            raise error(name, header.get(name, 0), f"{count}, the number of such lines")
    return header["Nodes"], flows, triggers, failures


def _flow(words: list[str], nodes: int, ids: set[int], error: Line, line: int) -> _Flow:
    ends = words[0].split("->")
    if len(ends) != 2:
        raise error("connection", words[0], "src->dst")
    src, dst = (whole(error, "node", end, 0, nodes - 1) for end in ends)
    given: dict[str, int] = {}
    rest = iter(words[1:])
    for key in rest:
        if key not in _KEYS:
            raise error("key", key, f"one of {', '.join(sorted(_KEYS))}")
        if key == "addon":
            continue
        if key in given:
            raise error(key, "twice", "given once")
        if key == "msg":
            raise error("msg", "given", "left out: rdmacc does not reuse connections")
        text = next(rest, None)
        if text is None:
            raise error(key, None, "followed by a value")
        if key == "start" and "trigger" in given:
            raise error("start", text, "must not stand behind trigger")
        if key == "trigger" and "id" not in given:
            raise error("trigger", text, "behind the flow's id")
        if key == "size" and re.fullmatch(r"-?0*", text):
            raise error(key, text, "at least 1: a flow without end is a message with a large size, run up to until=")
        given[key] = _start(text, error) if key == "start" else whole(error, key, text, int(key != "prio"), _LARGEST)
    if "id" in given:
        if given["id"] in ids:
            raise error("id", given["id"], "different from those above: rdmacc does not reuse connections")
        ids.add(given["id"])
    if "size" not in given:
        raise error("size", None, "given: htsim would read memory that nothing has set")
    if "start" not in given and "trigger" not in given:
        raise error("start", None, "given, or a trigger")
    if src == dst:
        raise error("connection", words[0], "between two different nodes")
    done = {end: given[f"{end}_done_trigger"] for end in ("send", "recv") if f"{end}_done_trigger" in given}
    return _Flow(src, dst, line, given["size"], given.get("start"), given.get("trigger", 0), done)


def _start(text: str, error: Line) -> int:
    try:
        start = int(np.float32("" if "_" in text else text))
    except (ValueError, OverflowError):
        raise error("start", text, "a number") from None
    if not 0 <= start < 2**62:
        raise error("start", text, "at least 0, and below 2**62")
    return start


def _trigger(words: list[str], error: Line) -> tuple[int, _Trigger]:
    kinds = {"oneshot": 4, "multishot": 4, "barrier": 6}
    if len(words) < 4 or words[1] != "id" or words[3] not in kinds or len(words) != kinds[words[3]]:
        raise error("trigger", " ".join(words), "trigger id K oneshot, multishot, or barrier count N")
    count = 1
    if words[3] == "barrier":
        if words[4] != "count":
            raise error("trigger", words[4], "count")
        count = whole(error, "count", words[5], 1, _LARGEST)
    return whole(error, "id", words[2], 1, _LARGEST), _Trigger(words[3], count, error)


def _failure(words: list[str], error: Line) -> tuple[int, int, Line]:
    if len(words) != 7 or words[1:5:2] != ["switch_type", "switch_id"] or words[5] != "link_id":
        raise error("failure", " ".join(words), "failure switch_type AGG switch_id S link_id L")
    if words[2] != "AGG":
        raise error("switch_type", words[2], "AGG, the only one that htsim implements")
    return whole(error, "switch_id", words[4], 0, _LARGEST), whole(error, "link_id", words[6], 0, _LARGEST), error


def _schedule(
    path: File, flows: list[_Flow], triggers: dict[int, _Trigger], names: Sequence[Host], unit_ps: int
) -> pd.DataFrame:
    started: dict[int, list[int]] = defaultdict(list)
    activators: dict[int, list[tuple[int, str]]] = defaultdict(list)
    schedule, hosts = Schedule(), as_objects(names)
    latest = max((flow.start or 0 for flow in flows), default=0)
    if latest * unit_ps > _LATEST_PS:
        line = next(flow.line for flow in flows if flow.start == latest)
        raise line_of(path, line)("start", latest, f"at most {_LATEST_PS // unit_ps}")
    if flows:
        columns = [(flow.src, flow.dst, flow.size, 0 if flow.trigger else (flow.start or 0)) for flow in flows]
        src, dst, size, start = np.array(columns, np.int64).T
        schedule.send(hosts[src], hosts[dst], size, start * unit_ps)
    for row, flow in enumerate(flows):
        if not (flow.done or flow.trigger):
            continue
        for key in {*flow.done.values(), *([flow.trigger] if flow.trigger else [])}:
            if key not in triggers:
                raise line_of(path, flow.line)("trigger", key, "declared in a line of its own")
        if flow.trigger:
            started[flow.trigger].append(row)
        for end, key in flow.done.items():
            activators[key].append((row, end))
    joins: dict[tuple[int, str], int] = {}

    def completion(number: int, end: str, waits_at: int) -> int:
        """Return the row that a message from node `waits_at` must wait for until a flow is done at its `end`."""
        flow = flows[number]
        if (waits_at == flow.src) == (end == "send"):
            return number
        if (number, end) not in joins:
            joins[number, end] = int(schedule.compute(names[flow.src if end == "send" else flow.dst], 0)[0])
            schedule.wait(joins[number, end], number)
        return joins[number, end]

    for key, trigger in triggers.items():
        _check_trigger(key, trigger, len(started[key]), len(activators[key]))
        for row in started[key]:
            for activator, end in activators[key]:
                schedule.wait(row, completion(activator, end, flows[row].src))
    return schedule.frame()


def _check_trigger(key: int, trigger: _Trigger, flows: int, activators: int) -> None:
    """Raise a ConfigError unless a trigger's flows wait for all its activators."""
    needed = trigger.count
    if trigger.kind == "multishot" and (flows > 1 or activators > 1):
        allowed = "one flow and one activator: which flow follows which would depend on time"
        raise trigger.error("multishot", f"{flows} flows, {activators} activators", allowed)
    if activators != needed:
        allowed = f"{needed}: with fewer its flows would never start, with more htsim stops"
        raise trigger.error(f"activators of trigger {key}", activators, allowed)
    if not flows:
        raise trigger.error(f"flows of trigger {key}", 0, "at least 1: htsim stops at one that fires without a flow")


@typed
def to_htsim(
    workload: pd.DataFrame,
    network: Graph,
    matrix: File,
    topology: File | None = None,
    unit: str = "us",
) -> None:
    """Write a workload as htsim's connection matrix, and the network as its topology.

    Labels are not written: names, groups, collectives and jobs.

    Parameters
    ----------
    workload : DataFrame
        Messages, without computation and delays.
    network : Graph
        Its hosts are the matrix's nodes, in order.
    matrix : path
        The matrix to write.
    topology : path, optional
        The topology to write: leaves and spines, fully connected, with equal links in each tier.
    unit : str
        Unit of ``start``: "us" (main_uec, main_swift) or "ps" (ndp, roce, hpcc, eqds).

    Raises
    ------
    ConfigError
        For anything that htsim cannot do: no messages, computation, delays, paths, queue pairs, weights and classes,
        starts that are not whole in its unit or not exact in a 32-bit float, a start time of a message that waits,
        overlapping sets of messages to wait for, other topologies.
    """
    check_apart(matrix, topology)
    unit_ps, frame = _unit_ps(unit), messages(workload)
    numbers = {host: number for number, host in enumerate(hosts_in(network))}
    _check_writable(frame, numbers, unit_ps)
    waiting, wanted_rows, counts = positions(frame["after"], frame.index)
    check_acyclic(np.repeat(waiting, counts), wanted_rows, frame.index)
    place = {label: row for row, label in enumerate(frame.index)}
    src, dst = (frame[end].map(numbers).to_list() for end in ("src", "dst"))
    fires: dict[tuple[int, str], int] = {}
    keys: dict[frozenset[tuple[int, str]], int] = {}
    waits = [
        frozenset((place[one], "send" if src[place[one]] == src[row] else "recv") for one in labels)
        for row, labels in enumerate(frame["after"])
    ]
    for row, wanted in enumerate(waits):
        for pair in wanted:
            key = keys.setdefault(wanted, len(keys) + 1)
            if fires.setdefault(pair, key) != key:
                allowed = "in one set of messages that others wait for at that end: htsim names one trigger there"
                raise ConfigError("after", frame.index[pair[0]], allowed, f"row {frame.index[row]}")
    lines = [f"Nodes {len(numbers)}", f"Connections {len(frame)}", *([f"Triggers {len(keys)}"] if keys else [])]
    columns = zip(frame["size_bytes"], frame["start_ps"], waits, strict=True)
    for row, (size, start_ps, wanted) in enumerate(columns):
        begin = f"trigger {keys[wanted]}" if wanted else f"start {start_ps // unit_ps}"
        done = "".join(f" {end}_done_trigger {fires[row, end]}" for end in ("send", "recv") if (row, end) in fires)
        lines.append(f"{src[row]}->{dst[row]} id {row + 1} {begin} size {size}{done}")
    for wanted, key in keys.items():
        lines.append(f"trigger id {key} " + ("oneshot" if len(wanted) == 1 else f"barrier count {len(wanted)}"))
    if topology is not None:
        write_topology(network, topology)
    with written(matrix):
        Path(matrix).write_text("\n".join(lines) + "\n")


def _check_writable(frame: pd.DataFrame, numbers: dict[Host, int], unit_ps: int) -> None:
    """Raise a ConfigError for the first row that htsim cannot express."""
    start_ps, waits = frame["start_ps"], frame["after"].map(len) > 0
    units = start_ps // unit_ps
    is_inexact = (units * unit_ps != start_ps) | (units.astype(np.float32).astype(np.int64) != units)
    check_rows(
        frame,
        ("duration_ps", computation(frame), "missing: htsim has no computation"),
        ("delay_ps", frame["delay_ps"].map(any) if "delay_ps" in frame else False, "0: htsim has no delays"),
        *unsaid(frame, priority=DATA_CLASS, in_turn=False),
        ("dst", frame["src"] == frame["dst"], "must differ from src"),
        *((end, ~frame[end].isin(numbers), "a host of the network") for end in ("src", "dst")),
        ("size_bytes", frame["size_bytes"] > _LARGEST, "at most 2**31 - 1"),
        ("start_ps", waits & (start_ps > 0), "0: htsim starts a triggered flow at once"),
        ("start_ps", is_inexact, f"a multiple of {unit_ps} ps that a 32-bit float represents exactly"),
    )
