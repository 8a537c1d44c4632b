"""Networks, components and small models shared by several test files."""

import inspect
import itertools
import linecache
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import networkx as nx
import pytest
from hypothesis import strategies as st

import rdmacc
from rdmacc import Component, param, topology
from rdmacc.interface import (
    CREDIT,
    DROP,
    NEVER,
    RETURN,
    Int,
    Int32,
    Message,
    Packet,
    QueuePair,
    Record,
    Scaled,
    make_bits,
)
from rdmacc.protocols.go_back_n import GoBackN, bytes_before
from rdmacc.protocols.line_rate import LineRate
from rdmacc.rules.pfc import headroom_bytes
from rdmacc.topology.fabric import Fabric
from rdmacc.units import ps

WIRE = 1048
"""Bytes on the wire of a full packet with the default sizes; the payload is 1000."""
ACK_WIRE = 64
PFC_WIRE = 64


_cells = itertools.count(1)


def run_cell(source: str, namespace: dict[str, Any], name: str = "cell") -> None:
    """Run source as a notebook does, so that `inspect` can read it."""
    name = f"<{name} {next(_cells)}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    exec(compile(source, name, "exec"), namespace)


def transmission(wire_bytes, rate_bps):
    """Return the time of a packet on a link, in whole ps."""
    return int(wire_bytes * (8e12 / rate_bps) + 0.5)


def chain(rates, delays, buffer="10MB"):
    """Return h0 - s0 - s1 - ... - h1 with one link for each rate (bit/s) and delay (ps)."""
    graph = nx.Graph(name="chain")
    names = ["h0", *(f"s{i}" for i in range(len(rates) - 1)), "h1"]
    for name in names:
        if name[0] == "h":
            topology.add_host(graph, name)
        else:
            topology.add_switch(graph, name, buffer)
    for one, other, rate, delay in zip(names, names[1:], rates, delays):
        topology.add_link(graph, one, other, rate, ps(delay))
    return graph


def spokes(rates, delay="1us", buffer="10MB"):
    """Return one switch s0 with a host h{i} for each rate."""
    graph = nx.Graph(name="spokes")
    for i in range(len(rates)):
        topology.add_host(graph, f"h{i}")
    topology.add_switch(graph, "s0", buffer)
    for i, rate in enumerate(rates):
        topology.add_link(graph, f"h{i}", "s0", rate, delay)
    return graph


def by_packets(rates, delays, wires):
    """Return when each packet of a lone message arrives, following every packet over every hop."""
    arrivals = [0] * len(wires)
    for rate, delay in zip(rates, delays):
        free = 0
        for i, wire in enumerate(wires):
            free = max(free, arrivals[i]) + transmission(wire, rate)
            arrivals[i] = free + delay
    return arrivals


def samples(result, name):
    """Return a probe's samples as a list of (time, value)."""
    rows = result.probes[result.probes["probe"] == name]
    return list(zip(rows["time_ps"].tolist(), rows["value"].tolist()))


def line_rate(**changes):
    """Return the scheme without congestion control, changed."""
    return rdmacc.scheme("line-rate").replace(**changes)


@dataclass(frozen=True, kw_only=True)
class DropOnce(Component):
    """Fault injection at each switch port: drop the first copies of some packets of a message."""

    first_psn: int = param(0, "first packet to drop")
    last_psn: int = param(0, "last packet to drop")
    times: int = param(1, "copies of each to drop")
    message: int = param(0, "of this message")

    class Egress(Record):
        drops = Int32()

    def on_enqueue(params, egress, packet):
        if packet.message == params.message and params.first_psn <= packet.psn <= params.last_psn:
            if egress.drops < params.times * (params.last_psn - params.first_psn + 1):
                egress.drops += 1
                packet.verdict = DROP


@dataclass(frozen=True, kw_only=True)
class Watcher(Component):
    """Counts, at the receiver, the packets that loss recovery accepts and those out of order."""

    class Transfer(Record):
        accepted_packets = Int32()
        accepted_payload = Int()
        disorders = Int32(doc="accepted packets whose number is not the next one")

    def on_data(transfer, packet):
        if packet.accepted:
            if packet.psn != transfer.accepted_packets:
                transfer.disorders += 1
            transfer.accepted_packets += 1
            transfer.accepted_payload += packet.payload_bytes


def dropping(first_psn, last_psn=None, times=1, **changes):
    """Return line-rate whose first switch drops some packets."""
    last = first_psn if last_psn is None else last_psn
    dropper = DropOnce(first_psn=first_psn, last_psn=last, times=times)
    return rdmacc.Scheme(name="dropping", recovery=GoBackN(**changes), control=(LineRate(),), switch=(dropper,))


def make_message(packets=10, last=1000):
    """Return a message of 1000-byte packets, the last one of `last` bytes."""
    message = Message()
    message.packets, message.payload_bytes = packets, 1000
    message.granted_psn = packets
    message.size_bytes = (packets - 1) * 1000 + last
    return message


def make_transfer(recovery, packets):
    """Return a message's record, whose sets have room for that many packets."""
    transfer = recovery.Transfer()
    for field in recovery.Transfer.fields:
        if field.is_bits:
            setattr(transfer, field.name, make_bits(packets))
    return transfer


def refused(wrong, *words):
    """Assert that a call raises a one-line ConfigError with these words, without a chained error; return it."""
    with pytest.raises(rdmacc.ConfigError) as caught:
        wrong()
    said, shown = str(caught.value), "".join(traceback.format_exception(caught.value))
    for one in words:
        assert one in said
    assert "\n" not in said
    assert len(said) < 400
    assert "During handling" not in shown
    assert "direct cause" not in shown
    return caught.value


def without_home(monkeypatch):
    """Make the user one who has no home folder, as in a container with any user id."""
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)


def call(function, **records):
    """Call a handler with the records it takes, as an engine does."""
    function(**{name: records[name] for name in inspect.signature(function).parameters})


def plain(part):
    """Return a component with its scaled parameters at their original values."""
    scaled = {name: value.value for name, value in vars(part).items() if isinstance(value, Scaled)}
    return replace(part, **scaled)


class Receiver:
    """A receiver driven as by an engine: one message, its recovery's handlers, its replies."""

    def __init__(self, packets=10, recovery=GoBackN, **changes):
        self.params, self.message = plain(recovery(**changes)), make_message(packets)
        self.transfer = make_transfer(recovery, packets)

    def _reply(self):
        return packet_with(*filter(None, [self.params.record("Header")]))

    def take(self, psn, now=0):
        """Deliver a data packet; return (accepted, kind of the reply, its psn)."""
        packet, self.reply = self._reply(), self._reply()
        packet.psn = psn
        call(
            self.params.on_data, params=self.params, message=self.message, transfer=self.transfer, packet=packet,
            reply=self.reply, now=now,
        )  # fmt: skip
        return bool(packet.accepted), self.reply.kind, self.reply.psn

    def check(self, now):
        """Fire Check-EPSN's timer; return (kind of the reply, its psn)."""
        reply = self._reply()
        self.transfer.check_timer_ps = NEVER
        call(
            self.params.on_check_timer, params=self.params, message=self.message, transfer=self.transfer, reply=reply,
            now=now,
        )  # fmt: skip
        return reply.kind, reply.psn


class Sender:
    """A 10 Gb/s sender driven as by an engine: a message and its loss recovery; `sent` are the packets that left."""

    def __init__(self, packets=10, last=1000, recovery=GoBackN, **changes):
        self.params, self.message = plain(recovery(**changes)), make_message(packets, last)
        self.transfer, self.qp, self.sent = make_transfer(recovery, packets), QueuePair(), []
        self.qp.line_bps = 10e9
        self.request = self._packet()
        for name in ("on_open", "on_start"):
            if hasattr(recovery, name):
                self._call(name)

    def _packet(self):
        return packet_with(*filter(None, [self.params.record("Header")]))

    def _call(self, name, now=0, packet=None):
        call(
            getattr(self.params, name), params=self.params, qp=self.qp, message=self.message, transfer=self.transfer,
            request=self.request, packet=packet, now=now,
        )  # fmt: skip

    @property
    def can_send(self):
        """True if the message has a packet that it may send."""
        return self.message.next_psn < self.message.granted_psn

    def send(self, now=0):
        """Send the next packet, with the engine's bookkeeping; return its number."""
        message, packet = self.message, self._packet()
        psn = packet.psn = message.next_psn
        packet.payload_bytes = bytes_before(message, psn + 1) - bytes_before(message, psn)
        message.next_psn += 1
        message.retransmissions += psn < message.highest_psn
        message.highest_psn = max(message.highest_psn, psn + 1)
        self.qp.inflight_bytes += packet.payload_bytes
        self._call("on_send", now, packet)
        self.sent.append(packet)
        return psn

    def burst(self, now=0):
        """Send everything for which the queue pair has credits; return the packets' numbers."""
        numbers = []
        while self.qp.credits > 0 and self.can_send:
            self.qp.credits -= 1
            numbers.append(self.send(now))
        return numbers

    def hear(self, kind, psn=0, now=0, **fields):
        """Deliver an ACK, a NAK, a credit or a returned header; return it."""
        packet = self._packet()
        for name, value in {"kind": kind, "psn": psn, **fields}.items():
            setattr(packet, name, value)
        self._call({CREDIT: "on_credit", RETURN: "on_return"}.get(kind, "on_ack"), now, packet)
        return packet

    def expire(self, now=0, timer="retransmit"):
        """Fire a timer: cancel the deadline, then call the handler."""
        setattr(self.transfer, f"{timer}_timer_ps", NEVER)
        self._call(f"on_{timer}_timer", now)

    @property
    def window(self):
        """The oldest unacknowledged packet, and the next one to send."""
        return self.message.una_psn, self.message.next_psn


def packet_with(*headers):
    """Return a packet with some components' header fields, as made by an engine."""
    packet = _packet_class(headers)()
    for header in headers:
        for field in header.fields:
            setattr(packet, field.name, field.default)
    return packet


@cache
def _packet_class(headers):
    return type("Packet", (Packet,), {"__slots__": tuple(field.name for header in headers for field in header.fields)})


def check_conservation(result):
    """Assert that every payload byte sent is accounted for."""
    counters = result.counters
    fates = ("accepted_bytes", "discarded_bytes", "dropped_bytes", "trimmed_bytes", "in_flight_bytes")
    assert counters.sent_bytes == sum(counters[fate] for fate in fates)
    if (result.flows["status"] == "finished").all() and counters.timeouts == 0:
        assert counters.accepted_bytes == result.flows["size_bytes"].sum()


def check_finished(result):
    """Assert that all messages are finished and bytes are conserved."""
    assert (result.flows["status"] == "finished").all()
    check_conservation(result)


# Random scenarios

RATES = ("1Gbps", "10Gbps", "25Gbps", "33Gbps", "100Gbps")


@st.composite
def networks(draw, max_switches=4, max_hosts=5, max_links=3, extra_buffer=(1, 60_000), wire=WIRE, is_joined=True):
    """Random networks: randomly joined switches, hosts with one to three links to switches or hosts.

    Buffers hold PFC's reserves and headrooms and a random rest. Unless `is_joined`, some hosts cannot reach others.
    """
    n_switches, n_hosts = draw(st.integers(1, max_switches)), draw(st.integers(2, max_hosts))
    names = draw(st.permutations([f"s{i}" for i in range(n_switches)] + [f"h{i}" for i in range(n_hosts)]))
    graph = nx.Graph()
    for name in names:
        if name[0] == "h":
            topology.add_host(graph, name)
        else:
            topology.add_switch(graph, name, 1)
    rates, delays = st.sampled_from(RATES), st.integers(1, 2_000_000).map(ps)
    for i in range(n_switches):
        for j in range(i):
            if (is_joined and j == i - 1) or draw(st.booleans()):
                topology.add_link(graph, f"s{i}", f"s{j}", draw(rates), draw(delays))
    for i in range(n_hosts):
        others = [f"s{j}" for j in range(n_switches)] + [f"h{j}" for j in range(i)]
        links = draw(st.lists(st.sampled_from(others), min_size=0, max_size=max_links - 1, unique=True))
        first = [f"s{draw(st.integers(0, n_switches - 1))}"] if is_joined or not links else []
        for other in dict.fromkeys([*first, *links]):
            topology.add_link(graph, f"h{i}", other, draw(rates), draw(delays))
    for name in topology.switches(graph):
        need = sum(
            8192 + 2 * headroom_bytes(link["rate_bps"], link["delay_ps"], max(wire + 64, ACK_WIRE))
            for link in graph.adj[name].values()
        )
        graph.nodes[name]["buffer_bytes"] = need + draw(st.integers(*extra_buffer))
    return graph


@st.composite
def workloads(draw, graph, max_messages=8, max_bytes=30_000, window_ps=20_000_000):
    """Random messages between connected hosts, some in groups, some after others."""
    fabric = Fabric.from_graph(graph)
    hosts = topology.hosts(graph)
    pairs = [
        (src, dst)
        for src in hosts
        for dst in hosts
        if src != dst and fabric.reachable(fabric.index[src], fabric.index[dst])
    ]
    rows = []
    for number in range(draw(st.integers(1, max_messages))):
        src, dst = draw(st.sampled_from(pairs))
        size = draw(st.integers(1, max_bytes))
        start = ps(draw(st.integers(0, window_ps)))
        group = draw(st.sampled_from([None, None, 0, 1]))
        after = draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
        weight = draw(st.sampled_from([1.0, 1.0, 0.5, 3.0]))
        rows.append((src, dst, size, start, group, tuple(after), weight))
    return rdmacc.messages(rows)


def mostly_at_night(values: Iterable[Any], every: int) -> list[Any]:
    """Return test parameters of which every n-th always runs and the others at night, for families of similar cases."""
    return [pytest.param(value, marks=pytest.mark.nightly if i % every else ()) for i, value in enumerate(values)]
