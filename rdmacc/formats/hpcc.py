"""Flows and topology of the HPCC simulator for ns-3 (`simulation/mix`) and its forks: PowerTCP's, ConWeave's, SimAI's.

A flow is a message. Its start counts from 2 s, where the bundled generators begin; ports are ignored. ``pg`` selects
the class of its data if flows use several: a switch there serves group 0 first and the others in turn, packet by packet
(`in_turn`). A host there takes its flows in turn, whatever their groups; here, its groups.

A topology begins with the numbers of its nodes, switches and links. PowerTCP's adds that of ToRs before the links;
Reverie's also two capacities at the end, which are ignored, as there. SimAI's has GPUs per server and NVSwitches after
the nodes, and the type of GPU at the end: GPUs have several links, and those that share an NVSwitch and another switch
use the NVSwitch. A link's ``error`` becomes a `rdmacc.Loss` of both data and control packets.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.faults import Fault, Loss
from rdmacc.formats.files import File, Line, line_of, read_text, whole
from rdmacc.formats.htsim import Imported
from rdmacc.state import DATA_CLASS
from rdmacc.topology import Graph, default_buffer_bytes
from rdmacc.topology.base import add_host, add_link, add_switch, hosts, switches
from rdmacc.typed import typed
from rdmacc.units import Quantity, bps, ps, time_ps
from rdmacc.workload.choice import Hosts
from rdmacc.workload.columns import filled
from rdmacc.workload.frame import Host, computation, from_columns, host_names, messages

_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_RATE = re.compile(r"([0-9.]+)(?:([kKMGT]?)(i?)(b|B)(?:ps|/s))?")
_TIMES = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
_TIME = re.compile(r"([0-9.eE+-]+?)(s|ms|us|ns|ps)")


class _Tokens:
    """Words of a file in order, each with its line."""

    def __init__(self, path: File) -> None:
        self.path = path
        self._words = [
            (word, number) for number, line in enumerate(read_text(path).split("\n"), 1) for word in line.split()
        ]
        self._next = 0

    def width(self) -> int:
        numbers = [number for _, number in self._words[self._next : self._next + 10]]
        return numbers.count(numbers[0]) if numbers else 0

    def is_number(self, ahead: int) -> bool:
        return self._words[self._next + ahead][0].isdecimal()

    @property
    def left(self) -> int:
        return len(self._words) - self._next

    def take(self, field: str) -> tuple[str, Line]:
        if self._next >= len(self._words):
            number = self._words[-1][1] if self._words else 1
            raise line_of(self.path, number)(field, None, "there: the file ends before what it announces")
        word, number = self._words[self._next]
        self._next += 1
        return word, line_of(self.path, number)

    def whole(self, field: str, least: int = 0, most: int = 2**31 - 1) -> int:
        word, error = self.take(field)
        return whole(error, field, word, least, most)


@typed
def from_hpcc(flows: File, topology: File, origin: Quantity = "2s", hosts: Hosts | None = None) -> Imported:
    """Read network and workload from the HPCC simulator's files.

    Parameters
    ----------
    flows, topology : path
        The two files.
    origin : quantity of time
        Start time in the file that corresponds to time 0 here.
    hosts : sequence, optional
        Names of the hosts, ordered by number; default: h and the node's number. Switches are named s and their number.

    Returns
    -------
    Imported
        `network, workload, faults`.

    Raises
    ------
    ConfigError
        For anything that ns-3 would not read, and for features that rdmacc lacks, with file and line: several links
        between two nodes, flows between anything but two hosts.
    """
    network, names, inner, faults = _read_topology(topology, hosts)
    workload = _read_flows(flows, names, network, time_ps(origin, field="origin"))
    return Imported(network, _led(workload, network, inner), faults)


def _head(tokens: _Tokens) -> tuple[int, int, int, int]:
    fields: tuple[str, ...] = ("nodes", "switches", "links")
    width = tokens.width()
    if width == 4:
        fields = ("nodes", "switches", "ToRs", "links")
    elif width == 6:
        fields = ("nodes", "GPUs per server", "NVSwitches", "switches", "links")
        if tokens.is_number(5):
            fields = ("nodes", "switches", "ToRs", "links", "capacity", "capacity")
    found = {}
    for name in fields:
        found[name] = tokens.whole(name, int(name in ("nodes", "links")))
    if "NVSwitches" in found:
        tokens.take("type of GPU")
    if found["nodes"] > tokens.left:
        allowed = "that many nodes in the file, each with a link"
        raise ConfigError("nodes", found["nodes"], allowed, f"{tokens.path}, line 1")
    return found["nodes"], found.get("NVSwitches", 0), found["switches"], found["links"]


def _read_topology(path: File, given: Hosts | None) -> tuple[Graph, list[Host], set[Host], tuple[Fault, ...]]:
    tokens = _Tokens(path)
    n_nodes, n_inner, n_switches, n_links = _head(tokens)
    chips: dict[int, None] = {}
    for _ in range(n_inner + n_switches):
        left = tokens.width()
        word, error = tokens.take("switch")
        chip = whole(error, "switch", word, 0, n_nodes - 1)
        if chip in chips:
            raise error("switch", chip, "different from the others")
        chips[chip] = None
    if n_inner + n_switches and left > 1:
        raise error("switches", n_inner + n_switches, "the number of those listed, all before the first link")
    computers = [node for node in range(n_nodes) if node not in chips]
    listed = [f"h{node}" for node in computers] if given is None else host_names("hosts", given)
    if len(listed) != len(computers):
        raise ConfigError("hosts", f"{len(listed)} names", f"{len(computers)}, one for each host of {path}")
    names: list[Host] = [f"s{node}" for node in range(n_nodes)]
    for node, name in zip(computers, listed, strict=True):
        names[node] = name
    graph: Graph = nx.Graph()
    for node in range(n_nodes):
        if node in chips:
            add_switch(graph, names[node], 1)
        else:
            add_host(graph, names[node])
    faults = []
    for _ in range(n_links):
        ends = []
        for field in ("link", "link"):
            word, error = tokens.take(field)
            ends.append(names[whole(error, field, word, 0, n_nodes - 1)])
        if ends[0] == ends[1] or graph.has_edge(*ends):
            raise error("link", f"{ends[0]} {ends[1]}", "between two nodes that no other link joins")
        rate, delay = _rate(*tokens.take("rate")), _time(*tokens.take("delay"))
        try:
            add_link(graph, ends[0], ends[1], bps(rate), ps(delay))
        except ConfigError as wrong:
            raise error(wrong.field, wrong.value, wrong.allowed) from None
        word, error = tokens.take("error")
        chance = float(_decimal(error, "error", word))
        if not 0 <= chance <= 1:
            raise error("error", word, "a probability")
        if chance:
            faults.append(Loss(data=chance, control=chance, links=((ends[0], ends[1]), (ends[1], ends[0]))))
    for chip in chips:
        links = [(link["rate_bps"], link["delay_ps"]) for link in graph[names[chip]].values()]
        fastest = max((rate for rate, _ in links), default=bps(10**9))
        graph.nodes[names[chip]]["buffer_bytes"] = default_buffer_bytes(fastest, links)
    graph.graph["name"] = Path(path).stem
    return graph, names, {names[chip] for chip in list(chips)[:n_inner]}, tuple(faults)


def _led(workload: pd.DataFrame, network: Graph, inner: set[Host]) -> pd.DataFrame:
    """Return the workload with paths by an NVSwitch where other paths are as short."""
    paths: dict[int, tuple[Host, ...]] = {}
    for row, (src, dst) in enumerate(zip(workload["src"], workload["dst"], strict=True) if inner else ()):
        common = set(network[src]) & set(network[dst])
        if common & inner and common - inner:
            chips = sorted(common & inner, key=str)
            paths[row] = (src, chips[row % len(chips)], dst)
    if paths:
        for name, step in (("path", 1), ("ack_path", -1)):
            workload[name] = pd.Series([paths[row][::step] if row in paths else None for row in range(len(workload))])
    return workload


def _read_flows(path: File, names: list[Host], network: Graph, origin_ps: int) -> pd.DataFrame:
    tokens = _Tokens(path)
    count = tokens.whole("flows", 1)
    has_port = tokens.width() != 5  # ConWeave's flows have none
    ends: list[list[Host]] = [[], []]
    sizes: list[int] = []
    starts: list[int] = []
    groups: list[int] = []
    for _ in range(count):
        for listed, field in zip(ends, ("src", "dst"), strict=True):
            word, error = tokens.take(field)
            node = whole(error, field, word, 0, len(names) - 1)
            if network.nodes[names[node]]["kind"] != "host":
                raise error(field, node, "a host, not a switch")
            listed.append(names[node])
        if ends[0][-1] == ends[1][-1]:
            raise error("dst", node, "must differ from src")
        groups.append(tokens.whole("pg", 0, 7))
        if has_port:
            tokens.whole("dport")
        sizes.append(tokens.whole("size", 1, 2**62))
        word, error = tokens.take("start")
        start_ps = _decimal(error, "start", word) * 10**12 - origin_ps
        if not 0 <= start_ps <= 10**18 or start_ps != start_ps.to_integral_value():
            least = format(Decimal(origin_ps) / 10**12, "f")
            raise error("start", word, f"a whole number of ps, at least {least} s and at most 10**6 s later")
        if starts and start_ps < starts[-1]:
            raise error("start", word, "no earlier than that of the flow before: ns-3 would stop")
        starts.append(int(start_ps))
    frame = from_columns(ends[0], ends[1], np.array(sizes), np.array(starts))
    used = sorted(set(groups))
    if len(used) > 1:
        frame["priority"] = [DATA_CLASS + used.index(group) for group in groups]
        if used[-2]:
            frame["in_turn"] = [group > 0 for group in groups]
    return frame


def _decimal(error: Line, field: str, word: str) -> Decimal:
    try:
        value = Decimal(word)
    except InvalidOperation:
        raise error(field, word, "a number") from None
    if not value.is_finite() or abs(value.adjusted()) > 30 or len(word) > 60:
        raise error(field, word[:60], "a finite number that is not too large or small")
    return value


def _rate(word: str, error: Line) -> float:
    found = _RATE.fullmatch(word)
    if not found:
        raise error("rate", word, "as ns-3 has it, such as 100Gbps, 12.5GB/s or 100000000000, which is bit/s")
    number, power, binary, kind = found.groups()
    factor = (1024 if binary else 1000) ** _POWERS[power or ""] * (8 if kind == "B" else 1)
    return float(_decimal(error, "rate", number) * factor)


def _time(word: str, error: Line) -> int:
    found = _TIME.fullmatch(word)
    if not found:
        raise error("delay", word, "as ns-3 has it, such as 1us or 0.001ms")
    value = _decimal(error, "delay", found[1]) * 10 ** _TIMES[found[2]]
    if value != value.to_integral_value():
        raise error("delay", word, "a whole number of ps")
    return int(value)


@typed
def to_hpcc(workload: pd.DataFrame, network: Graph, flows: File, topology: File, origin: Quantity = "2s") -> None:
    """Write a workload and its network as the HPCC simulator's files.

    Hosts come first, in order, then switches. Flows are sorted by start.

    Parameters
    ----------
    workload : DataFrame
        Messages that do not wait for each other.
    network : Graph
        The network.
    flows, topology : path
        The files to write.
    origin : quantity of time
        Start time in the file that corresponds to time 0 here.

    Raises
    ------
    ConfigError
        For anything that the files cannot express: messages that wait, computation, sizes of 4 GiB and more, more than
        two classes unless they take turns.
    """
    frame, begin_ps = messages(workload), time_ps(origin, field="origin")
    groups = _groups(frame)
    computes = computation(frame)
    numbers = {name: number for number, name in enumerate([*hosts(network), *switches(network)])}
    lines = [str(len(frame))]
    for row in np.argsort(frame["start_ps"].to_numpy(), kind="stable").tolist():
        one = frame.iloc[row]
        for name, wrong, allowed in (
            ("duration_ps", computes[row], "missing: the file has no computation"),
            ("after", len(one["after"]) > 0, "empty: flows in the file do not wait for each other"),
            ("size_bytes", one["size_bytes"] >= 2**32, "below 2**32"),
            ("src", one["src"] not in numbers, "a host of the network"),
            ("dst", one["dst"] not in numbers, "a host of the network"),
        ):
            if wrong:
                raise ConfigError(name, one[name], allowed, f"row {frame.index[row]}")
        start = format(Decimal(begin_ps + int(one["start_ps"])) / 10**12, ".12f")
        lines.append(f"{numbers[one['src']]} {numbers[one['dst']]} {groups[row]} 100 {one['size_bytes']} {start}")
    chips = [str(numbers[name]) for name in switches(network)]
    head = [f"{len(numbers)} {len(chips)} {network.number_of_edges()}", " ".join(chips)]
    Path(topology).write_text("\n".join([*head, *_links(network, numbers)]) + "\n")
    Path(flows).write_text("\n".join(lines) + "\n")


def _groups(frame: pd.DataFrame) -> list[int]:
    """Return the priority group of each message: 3, or 0 for a class before the others and 1, 2, ... in turn."""
    none = pd.Series(pd.NA, frame.index, dtype=object)
    priority = filled(frame.get("priority", none), DATA_CLASS).astype(int)
    in_turn = filled(frame.get("in_turn", none), False).astype(bool)
    turns, strict = sorted(set(priority[in_turn])), sorted(set(priority[~in_turn]))
    first, last = (strict, turns) if turns else (strict[:-1], strict[-1:])
    if len(first) > 1 or len(last) > 7 or (first and first[0] >= last[0]):
        allowed = "one class before the others, which take turns (in_turn): the HPCC simulator's switches have no more"
        raise ConfigError("priority", sorted(set(priority)), allowed)
    numbers = dict.fromkeys(first, 0) | ({last[0]: 3} if len(last) == 1 else {cls: 1 + n for n, cls in enumerate(last)})
    return [numbers[cls] for cls in priority]


def _links(network: Graph, numbers: dict[Host, int]) -> Iterator[str]:
    for one, other, link in network.edges(data=True):
        rate, delay = f"{link['rate_bps']:.0f}bps", f"{link['delay_ps']}ps"
        yield f"{numbers[one]} {numbers[other]} {rate} {delay} 0"
