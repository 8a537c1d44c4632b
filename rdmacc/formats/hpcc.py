"""Flows and topology of the HPCC simulator for ns-3 (`simulation/mix`) and its forks: PowerTCP's, ConWeave's, SimAI's.

A flow is a message. Its start counts from 2 s, where the bundled generators begin; ports are ignored. ``pg`` selects
the class of its data if flows use several: as in ns-3, switches serve group 0 first and the others in turn, packet by
packet (`in_turn`). In ns-3, a host serves its flows in turn, whatever their groups; here it serves groups in turn.

A topology begins with the numbers of nodes, switches and links. PowerTCP's adds the number of ToRs before the links;
Reverie's also has two capacities at the end, which are ignored, as in Reverie. SimAI's has GPUs per server and
NVSwitches after the nodes, and the type of GPU at the end: GPUs have several links, and pairs that share an NVSwitch
and another switch use the NVSwitch. A link's ``error`` becomes a `rdmacc.Loss` of both data and control packets.
"""

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, written
from rdmacc.errors.typed import typed
from rdmacc.faults import Fault, Loss
from rdmacc.formats.files import File, Line, check_apart, check_rows, line_of, read_text, unsaid, whole
from rdmacc.formats.htsim import Imported
from rdmacc.interface import DATA_CLASS
from rdmacc.topology import Graph
from rdmacc.topology.base import add_link, fill_buffers, hosts, switches
from rdmacc.units import Quantity, bps, ps, time_ps
from rdmacc.workload.columns import filled
from rdmacc.workload.frame import Host, Hosts, computation, from_columns, host_names, messages

_POWERS = {"": 0, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_RATE = re.compile(r"([0-9.]+)(?:([kKMGT]?)(i?)(b|B)(?:ps|/s))?")
_TIMES = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
_TIME = re.compile(r"([0-9.eE+-]+?)(s|ms|us|ns|ps)")


class _Tokens:
    """Words of a file in order, each with its line."""

    def __init__(self, path: File) -> None:
        self.path = path
        lines = enumerate(read_text(path).split("\n"), 1)
        self._words = [(word, number) for number, line in lines for word in line.split()]
        self._next, self._line = 0, 1

    def width(self) -> int:
        numbers = [number for _, number in self._words[self._next : self._next + 10]]
        return numbers.count(numbers[0]) if numbers else 0

    def is_number(self, ahead: int) -> bool:
        return self._words[self._next + ahead][0].isdecimal()

    @property
    def left(self) -> int:
        return len(self._words) - self._next

    def error(self, field: str, value: object, allowed: str) -> ConfigError:
        """Return an error for the line of the last word taken."""
        return line_of(self.path, self._line)(field, value, allowed)

    def take(self, field: str) -> str:
        if not self.left:
            raise self.error(field, None, "there: the file ends before what it announces")
        word, self._line = self._words[self._next]
        self._next += 1
        return word

    def whole(self, field: str, least: int = 0, most: int = 2**31 - 1) -> int:
        word = self.take(field)
        return whole(self.error, field, word, least, most)

    def decimal(self, field: str) -> tuple[str, Decimal]:
        word = self.take(field)
        return word, _decimal(self.error, field, word)


@typed
def from_hpcc(flows: File, topology: File, origin: Quantity = "2s", hosts: Hosts | None = None) -> Imported:
    """Read `network, workload, faults` from the HPCC simulator's files.

    Parameters
    ----------
    flows, topology : path
        The two files.
    origin : quantity of time
        Start time in the file that corresponds to time 0 here.
    hosts : sequence, optional
        Names of the hosts, ordered by number; default: h and the node's number. Switches are named s and their number.

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
    found = {name: tokens.whole(name, int(name in ("nodes", "links"))) for name in fields}
    if "NVSwitches" in found:
        tokens.take("type of GPU")
    if found["nodes"] > tokens.left:
        raise line_of(tokens.path, 1)("nodes", found["nodes"], "that many nodes in the file, each with a link")
    return found["nodes"], found.get("NVSwitches", 0), found["switches"], found["links"]


def _read_topology(path: File, given: Hosts | None) -> tuple[Graph, list[Host], set[Host], tuple[Fault, ...]]:
    tokens = _Tokens(path)
    n_nodes, n_inner, n_switches, n_links = _head(tokens)
    chips: dict[int, None] = {}
    for _ in range(n_inner + n_switches):
        left, chip = tokens.width(), tokens.whole("switch", 0, n_nodes - 1)
        if chip in chips:
            raise tokens.error("switch", chip, "different from the others")
        chips[chip] = None
    if n_inner + n_switches and left > 1:
        raise tokens.error("switches", n_inner + n_switches, "the number of those listed, all before the first link")
    computers = [node for node in range(n_nodes) if node not in chips]
    listed = [f"h{node}" for node in computers] if given is None else host_names("hosts", given)
    if len(listed) != len(computers):
        raise ConfigError("hosts", f"{len(listed)} names", f"{len(computers)}, one for each host of {path}")
    names: list[Host] = [f"s{node}" for node in range(n_nodes)]
    for node, name in zip(computers, listed, strict=True):
        names[node] = name
    graph: Graph = nx.Graph()
    for node, name in enumerate(names):
        graph.add_node(name, kind="switch" if node in chips else "host")
    faults = []
    for _ in range(n_links):
        one, other = (names[tokens.whole("link", 0, n_nodes - 1)] for _ in range(2))
        if one == other or graph.has_edge(one, other):
            raise tokens.error("link", f"{one} {other}", "between two nodes that no other link joins")
        rate, delay = _rate(tokens.take("rate"), tokens.error), _time(tokens.take("delay"), tokens.error)
        try:
            add_link(graph, one, other, bps(rate), ps(delay))
        except ConfigError as wrong:
            raise tokens.error(wrong.field, wrong.value, wrong.allowed) from None
        word, chance = tokens.decimal("error")
        if not 0 <= chance <= 1:
            raise tokens.error("error", word, "a probability")
        if chance:
            faults.append(Loss(data=float(chance), control=float(chance), links=((one, other), (other, one))))
    fill_buffers(graph)
    graph.graph["name"] = Path(path).stem
    return graph, names, {names[chip] for chip in list(chips)[:n_inner]}, tuple(faults)


def _led(workload: pd.DataFrame, network: Graph, inner: set[Host]) -> pd.DataFrame:
    """Return the workload with paths through an NVSwitch where other paths are as short."""
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
    rows: list[tuple[Host, Host, int, int, int]] = []
    for _ in range(count):
        ends = []
        for field in ("src", "dst"):
            node = tokens.whole(field, 0, len(names) - 1)
            if network.nodes[names[node]]["kind"] != "host":
                raise tokens.error(field, node, "a host, not a switch")
            ends.append(names[node])
        if ends[0] == ends[1]:
            raise tokens.error("dst", node, "must differ from src")
        group = tokens.whole("pg", 0, 7)
        if has_port:
            tokens.whole("dport")
        size, (word, start_s) = tokens.whole("size", 1, 2**62), tokens.decimal("start")
        start_ps = start_s * 10**12 - origin_ps
        if not 0 <= start_ps <= 10**18 or start_ps != start_ps.to_integral_value():
            least = format(Decimal(origin_ps) / 10**12, "f")
            raise tokens.error("start", word, f"a whole number of ps, at least {least} s and at most 10**6 s later")
        if rows and start_ps < rows[-1][3]:
            raise tokens.error("start", word, "no earlier than that of the flow before: ns-3 would stop")
        rows.append((ends[0], ends[1], size, int(start_ps), group))
    src, dst, sizes, starts, groups = zip(*rows, strict=True)
    frame = from_columns(src, dst, np.array(sizes), np.array(starts))
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
    if "_" in word or not value.is_finite() or abs(value.adjusted()) > 30 or len(word) > 60:
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

    Hosts come first, in order, then switches. Flows are sorted by start. Labels are not written: names, groups,
    collectives and jobs.

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
        For anything that the files cannot express: no messages, messages that wait, computation, paths, queue pairs and
        weights, sizes of 4 GiB and more, more than two classes unless they take turns, rates that are not whole; or if
        a file cannot be written.
    """
    check_apart(flows, topology)
    frame, begin_ps = messages(workload), time_ps(origin, field="origin")
    numbers = {name: number for number, name in enumerate([*hosts(network), *switches(network)])}
    check_rows(
        frame,
        ("duration_ps", computation(frame), "missing: the file has no computation"),
        ("after", frame["after"].map(len) > 0, "empty: flows in the file do not wait for each other"),
        ("size_bytes", frame["size_bytes"] >= 2**32, "below 2**32"),
        *unsaid(frame),
        ("dst", frame["src"] == frame["dst"], "must differ from src"),
        *((end, ~frame[end].isin(numbers), "a host of the network") for end in ("src", "dst")),
    )
    lines = [str(len(frame))]
    ordered = frame.assign(pg=_groups(frame)).sort_values("start_ps", kind="stable")
    for src, dst, size, start_ps, pg in ordered[["src", "dst", "size_bytes", "start_ps", "pg"]].to_numpy().tolist():
        start = format(Decimal(begin_ps + start_ps) / 10**12, ".12f")
        lines.append(f"{numbers[src]} {numbers[dst]} {pg} 100 {size} {start}")
    chips = [str(numbers[name]) for name in switches(network)]
    head = [f"{len(numbers)} {len(chips)} {network.number_of_edges()}", " ".join(chips)]
    for path, text in ((topology, [*head, *_links(network, numbers)]), (flows, lines)):
        with written(path):
            Path(path).write_text("\n".join(text) + "\n")


def _groups(frame: pd.DataFrame) -> list[int]:
    """Return each message's group: 0 for the strict class, 1, 2, ... for those in turn, 3 for a single one."""
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
        if link["rate_bps"] % 1:
            raise ConfigError("rate_bps", link["rate_bps"], "whole, as in ns-3", f"link {one}-{other}")
        yield f"{numbers[one]} {numbers[other]} {link['rate_bps']:.0f}bps {link['delay_ps']}ps 0"
