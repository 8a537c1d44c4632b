"""Flows and topology of the HPCC simulator for ns-3 (`simulation/mix`) and of forks with the same file format.

A flow is a message. Its start counts from 2 s, where the bundled generators begin. ``pg`` selects the class of its data
if flows use several; ports are ignored. A link's ``error`` becomes a `rdmacc.Loss` of both data and control packets.
"""

from __future__ import annotations

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
from rdmacc.workload.frame import Host, computation, from_columns, host_names, messages

_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_RATE = re.compile(r"([0-9.]+)([kKMGT]?)(i?)(b|B)(?:ps|/s)")
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

    def take(self, field: str) -> tuple[str, Line]:
        """Return the next word, and the function that creates its errors."""
        if self._next >= len(self._words):
            number = self._words[-1][1] if self._words else 1
            raise line_of(self.path, number)(field, None, "there: the file ends before what it announces")
        word, number = self._words[self._next]
        self._next += 1
        return word, line_of(self.path, number)

    def whole(self, field: str, least: int = 0, most: int = 2**31 - 1) -> int:
        """Return the next word, a whole number."""
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
        between two nodes, hosts with several links, flows between anything but two hosts.
    """
    network, names, faults = _read_topology(topology, hosts)
    return Imported(network, _read_flows(flows, names, network, time_ps(origin, field="origin")), faults)


def _read_topology(path: File, given: Hosts | None) -> tuple[Graph, list[Host], tuple[Fault, ...]]:
    """Return the network, the names of its nodes by number, and the losses on its links."""
    tokens = _Tokens(path)
    n_nodes, n_switches, n_links = (tokens.whole(name) for name in ("nodes", "switches", "links"))
    chips = set()
    for _ in range(n_switches):
        word, error = tokens.take("switch")
        chip = whole(error, "switch", word, 0, n_nodes - 1)
        if chip in chips:
            raise error("switch", chip, "different from the others")
        chips.add(chip)
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
        for end in ends:
            if graph.nodes[end]["kind"] == "host" and graph.degree(end):
                raise error(
                    "link", f"{ends[0]} {ends[1]}", f"the only one of host {end}: ns-3 would use one of several"
                )
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
    return graph, names, tuple(faults)


def _read_flows(path: File, names: list[Host], network: Graph, origin_ps: int) -> pd.DataFrame:
    """Return the workload in a file of flows."""
    tokens = _Tokens(path)
    count = tokens.whole("flows")
    if not count:
        raise ConfigError("flows", 0, "at least 1", str(path))
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
        tokens.whole("dport")
        sizes.append(tokens.whole("size", 1, 2**32 - 1))
        word, error = tokens.take("start")
        start_ps = _decimal(error, "start", word) * 10**12 - origin_ps
        if start_ps < 0 or start_ps != start_ps.to_integral_value():
            raise error("start", word, f"a whole number of ps, at least {format(Decimal(origin_ps) / 10**12, 'f')} s")
        if starts and start_ps < starts[-1]:
            raise error("start", word, "no earlier than that of the flow before: ns-3 would stop")
        starts.append(int(start_ps))
    frame = from_columns(ends[0], ends[1], np.array(sizes), np.array(starts))
    used = sorted(set(groups))
    if len(used) > 1:
        frame["priority"] = [DATA_CLASS + used.index(group) for group in groups]
    return frame


def _decimal(error: Line, field: str, word: str) -> Decimal:
    """Return a decimal number, exactly."""
    try:
        value = Decimal(word)
    except InvalidOperation:
        raise error(field, word, "a number") from None
    if not value.is_finite():
        raise error(field, word, "a finite number")
    return value


def _rate(word: str, error: Line) -> float:
    """Parse a rate in ns-3's format, in bit/s."""
    found = _RATE.fullmatch(word)
    if not found:
        raise error("rate", word, "as ns-3 has it, such as 100Gbps or 12.5GB/s")
    number, power, binary, kind = found.groups()
    return float(
        _decimal(error, "rate", number) * (1024 if binary else 1000) ** _POWERS[power] * (8 if kind == "B" else 1)
    )


def _time(word: str, error: Line) -> int:
    """Parse a time in ns-3's format, in ps."""
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
        For anything that the files cannot express: messages that wait, computation, sizes of 4 GiB and more.
    """
    frame, begin_ps = messages(workload), time_ps(origin, field="origin")
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
        group = 3 + (int(one["priority"]) - DATA_CLASS if "priority" in frame and pd.notna(one["priority"]) else 0)
        start = format(Decimal(begin_ps + int(one["start_ps"])) / 10**12, ".12f")
        lines.append(f"{numbers[one['src']]} {numbers[one['dst']]} {group} 100 {one['size_bytes']} {start}")
    chips = [str(numbers[name]) for name in switches(network)]
    head = [f"{len(numbers)} {len(chips)} {network.number_of_edges()}", " ".join(chips)]
    Path(topology).write_text("\n".join([*head, *_links(network, numbers)]) + "\n")
    Path(flows).write_text("\n".join(lines) + "\n")


def _links(network: Graph, numbers: dict[Host, int]) -> Iterator[str]:
    """Yield the lines of links."""
    for one, other, link in network.edges(data=True):
        rate, delay = f"{link['rate_bps']:.0f}bps", f"{link['delay_ps']}ps"
        yield f"{numbers[one]} {numbers[other]} {rate} {delay} 0"
