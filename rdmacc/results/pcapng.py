"""Export of a trace to a pcapng file, for Wireshark and similar tools: RoCEv2 packets with their headers.

The headers are:

- Ethernet: addresses of the two ends of the link: 02:00:00:00:00:00 plus the node's number plus one.
- IP: addresses of the two hosts, 10.0.0.0 plus the node's number plus one, with names in the file. DSCP is the priority
  class of the trace; ECN is CE if marked, otherwise ECT(0) for data and Not-ECT for other packets.
- UDP: destination port 4791, and one source port per message.
- BTH: the destination queue pair is the message's number plus 16; data packets are RDMA WRITE (first, middle, last or
  only), and their PSN is the packet's number in the message. The RETH of the first one has the message's size.
- AETH: an ACK carries the PSN of the last packet that it acknowledges, one less than in the trace; a NAK is a "PSN
  sequence error" with the expected PSN.
- CNP: opcode 0x81.
- Credits, requests, adverts and returned headers, which RoCE lacks: BTH opcodes 0xC0 to 0xC3, from the manufacturer's
  range.
- PFC frames: MAC control; class c is 802.1Q priority 9 - c.

The recorded length is that of these headers and the payload, which may differ from the simulation's `wire_bytes`.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zlib import crc32

import numpy as np
import numpy.typing as npt

from rdmacc.engine.plan import Plan
from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.errors import ConfigError, unknown, written
from rdmacc.errors.typed import typed
from rdmacc.interface import ACK, ADVERT, CNP, CREDIT, DATA, NAK, NUM_CLASSES, PAUSE, REQUEST, RETURN
from rdmacc.show.bar import Bar
from rdmacc.workload.frame import checked_whole

if TYPE_CHECKING:
    from rdmacc.results.result import Result

__all__ = ["write_pcapng"]

_PSN_MASK = 0xFFFFFF
_FIRST_QP = 16  # queue pairs 0 and 1 are reserved for management, and Wireshark dissects them as such
_NAK_SEQUENCE_ERROR = 0x60
_ACK_NO_CREDIT_LIMIT = 0x1F
_FIRST, _MIDDLE, _LAST, _ONLY = 0x06, 0x07, 0x08, 0x0A
_OPCODES = {ACK: 0x11, NAK: 0x11, CNP: 0x81, CREDIT: 0xC0, REQUEST: 0xC1, ADVERT: 0xC2, RETURN: 0xC3}
_NOT_ECT, _ECT, _CE = 0, 2, 3
_WHOLE = 2**18
_MOST_PAYLOAD = 65_472  # with padding and the headers of a WRITE, 65,535 bytes of IP
_LONGEST_NAME = 32_767

_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
_ETHERNET = 1
_PFC_MAC = bytes.fromhex("0180c2000001")
_INBOUND, _OUTBOUND = 1, 2
_BTH = struct.Struct(">BBHII")
"""Opcode, padding, partition, congestion and queue pair, request of an ACK and PSN."""
_HEAD = struct.Struct("<IIIII")
_AT_ONCE = 20_000
_ICRC_BYTES = 4


@typed
def write_pcapng(
    result: Result,
    path: str | Path,
    *,
    node: Hashable | None = None,
    link: tuple[Hashable, Hashable] | None = None,
    snap_bytes: int = _WHOLE,
) -> int:
    """Write the packets of a trace to a pcapng file; return their number.

    An outgoing packet is captured at its first bit, an incoming one at its last. Each link is an interface in the file.
    Time 0 of the simulation is 1970-01-01; times are truncated to nanoseconds.

    Parameters
    ----------
    result : Result
        Result of a run with ``trace=True``.
    path : str or Path
        The file.
    node : node, optional
        Capture at this node, on all its links.
    link : (node, node), optional
        Capture at the first of these nodes, on its link to the other. Without `node` and `link`: every packet on every
        link, when it is sent.
    snap_bytes : int
        Bytes to keep of each packet; its full length is recorded too. Default: all, because Wireshark's InfiniBand
        dissector reads the headers of truncated packets but marks them as malformed.

    Raises
    ------
    ConfigError
        If the run had no trace, or an argument is invalid.
    """
    rows = result.trace_rows
    checked_whole("snap_bytes", snap_bytes, 1)
    plan = result.plan
    largest = min(plan.scheme.payload_bytes, int(plan.size_bytes.max(initial=0)))
    if largest > _MOST_PAYLOAD:
        raise ConfigError("payload_bytes", largest, f"at most {_MOST_PAYLOAD}, to be in one IP packet")
    for name in plan.fabric.names:
        if len(str(name).encode(errors="surrogatepass")) > _LONGEST_NAME:
            raise ConfigError("node", str(name), f"at most {_LONGEST_NAME} bytes, so that a link's two fit into pcapng")
    frames, rows = _Frames(plan), rows[_seen(plan, rows, node, link)]
    ports = np.unique(rows["port"])
    reverse = plan.fabric.port_reverse
    links = {int(port): int(min(port, reverse[port])) for port in ports}
    interfaces = {first: number for number, first in enumerate(sorted(set(links.values())))}
    with written(path), Path(path).open("wb") as file:
        _block(file, _SECTION, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
        for first in interfaces:
            name = plan.fabric.port_name(first).replace("->", "-").encode()
            body = struct.pack("<HHI", _ETHERNET, 0, snap_bytes)
            _block(file, _INTERFACE, body + _options((2, name), (9, b"\x09")))
        _block(file, _NAMES, b"".join([*_records(plan), struct.pack("<HH", 0, 0)]))
        interface = {port: interfaces[first] for port, first in links.items()}
        for row in _shown(rows):
            time_ps, port, message, psn, wire, what, kind, priority, ce = row
            frame = frames.frame(port, message, psn, wire, kind, priority, ce)
            kept = frame[:snap_bytes]
            head = _HEAD.pack(interface[port], *divmod(time_ps // 1000, 2**32), len(kept), len(frame))
            _block(file, _PACKET, head + _padded(kept) + (_SENT if what == SENT else _CAME))
    return len(rows)


def _shown(rows: npt.NDArray[np.void]) -> Iterator[tuple[int, ...]]:
    """Yield rows as tuples, in batches; show a progress bar if it takes more than a second."""
    with Bar(total=len(rows), desc="pcapng", unit="packet", unit_scale=True, delay=1.0, leave=False) as bar:
        for begin in range(0, len(rows), _AT_ONCE):
            part = rows[begin : begin + _AT_ONCE].tolist()
            yield from part
            bar.update(len(part))


def _seen(
    plan: Plan, rows: npt.NDArray[np.void], node: Hashable | None, link: tuple[Hashable, Hashable] | None
) -> npt.NDArray[np.bool_]:
    """Return which rows are packets that pass the point of capture."""
    fabric = plan.fabric
    sent, arrived = rows["what"] == SENT, rows["what"] == ARRIVED
    if node is not None and link is not None:
        raise ConfigError("node and link", (node, link), "given separately: pass one of them")
    if node is not None:
        if node not in fabric.index:
            raise unknown("node", node, fabric.index, "the name of a node")
        number = fabric.index[node]
        leaves, enters = fabric.port_node[rows["port"]] == number, fabric.port_peer[rows["port"]] == number
    elif link is not None:
        if not isinstance(link, tuple) or len(link) != 2:
            raise ConfigError("link", link, "a pair of node names, such as ('h0', 's0')")
        leaves, enters = rows["port"] == fabric.port(*link), rows["port"] == fabric.port(*link[::-1])
    else:
        return np.asarray(sent)
    return np.asarray((sent & leaves) | (arrived & enters))


class _Frames:
    """Builds the bytes of packets."""

    def __init__(self, plan: Plan) -> None:
        fabric, scheme = plan.fabric, plan.scheme
        macs = [(2 << 40 | node + 1).to_bytes(6) for node in range(fabric.n_nodes)]
        self._macs = [
            (macs[peer], macs[node]) for node, peer in zip(fabric.port_node.tolist(), fabric.port_peer.tolist())
        ]
        self._ends = [(_ip(src), _ip(dst)) for src, dst in zip(plan.src.tolist(), plan.dst.tolist())]
        self._packets, self._size_bytes = plan.packets.tolist(), plan.size_bytes.tolist()
        self._payload_bytes, self._header_bytes = scheme.payload_bytes, scheme.header_bytes

    def frame(self, port: int, message: int, psn: int, wire: int, kind: int, priority: int, ce: int) -> bytes:
        """Return a packet on a link, without the frame check sequence."""
        peer, own = self._macs[port]
        if kind >= PAUSE:
            return _PFC_MAC + own + b"\x88\x08" + _pfc(psn, is_pause=kind == PAUSE)
        src, dst = self._ends[message]
        ends = src + dst if kind in (DATA, REQUEST) else dst + src
        transport = self._transport(message, psn, wire, kind)
        length = 8 + len(transport) + _ICRC_BYTES
        ecn = _CE if ce else _ECT if kind == DATA else _NOT_ECT
        udp = struct.pack(">HHHH", 0xC000 | message & 0x3FFF, 4791, length, 0)
        packet = _ip_header(priority << 2 | ecn, 20 + length, ends) + udp + transport
        return b"".join((peer, own, b"\x08\x00", packet, _icrc(packet)))

    def _transport(self, message: int, psn: int, wire: int, kind: int) -> bytes:
        """Return a packet from its base transport header on, without the invariant CRC."""
        last, qp = self._packets[message] - 1, message + _FIRST_QP & _PSN_MASK
        if kind == DATA:
            size = min(self._size_bytes[message] - psn * self._payload_bytes, self._payload_bytes)
            size = size if wire >= size + self._header_bytes else 0  # trimmed
            opcode = (_ONLY if last == 0 else _FIRST) if psn == 0 else _LAST if psn == last else _MIDDLE
            head = _BTH.pack(opcode, -size % 4 << 4, 0xFFFF, qp, (psn == last) << 31 | psn & _PSN_MASK)
            address = struct.pack(">QII", 0, 0, min(self._size_bytes[message], 2**32 - 1)) if psn == 0 else b""
            return head + address + bytes(size + -size % 4)
        number = 0 if kind == CNP else (psn - (kind == ACK)) & _PSN_MASK  # an ACK has the number of the last packet
        head = _BTH.pack(_OPCODES[kind], 0, 0xFFFF, (kind == CNP) << 30 | qp, number)
        if kind in (ACK, NAK):
            syndrome = _NAK_SEQUENCE_ERROR if kind == NAK else _ACK_NO_CREDIT_LIMIT
            return head + struct.pack(">I", syndrome << 24 | (psn > last))
        return head + bytes(16) if kind == CNP else head


def _ip(node: int) -> bytes:
    return (10 << 24 | node + 1).to_bytes(4)


@lru_cache(10_000)
def _ip_header(tos: int, length: int, ends: bytes) -> bytes:
    """Return an IP header of a UDP packet that must not be fragmented; the cache saves a tenth of all time."""
    head = struct.pack(">BBHHHBB", 0x45, tos, length, 0, 0x4000, 64, 17)
    total = sum(struct.unpack(">9H", head + ends))
    checksum = ~(total + total // 0xFFFF) & 0xFFFF
    return head + checksum.to_bytes(2) + ends


def _icrc(packet: bytes) -> bytes:
    """Return the invariant CRC of a packet from its IP header on: of everything that switches do not change.

    Fields that they may change count as ones (InfiniBand specification, annex A17): IP's type of service, time to live
    and checksum, UDP's checksum, and the congestion bits of the BTH.
    """
    masked = bytearray(packet)
    for place in (1, 8, 10, 11, 26, 27, 32):
        masked[place] = 0xFF
    return crc32(masked, crc32(b"\xff" * 8)).to_bytes(_ICRC_BYTES, "little")


def _pfc(cls: int, *, is_pause: bool) -> bytes:
    """Return a PFC frame after its Ethernet header: opcode, vector of priorities, eight pause times."""
    priority = NUM_CLASSES - 1 - cls
    times = [0xFFFF if is_pause and i == priority else 0 for i in range(8)]
    return struct.pack(">HH8H", 0x0101, 1 << priority, *times).ljust(46, b"\0")


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _options(*options: tuple[int, bytes]) -> bytes:
    parts = [struct.pack("<HH", code, len(value)) + _padded(value) for code, value in options]
    return b"".join(parts) + struct.pack("<HH", 0, 0)


_SENT, _CAME = (_options((2, struct.pack("<I", way))) for way in (_OUTBOUND, _INBOUND))


def _block(file: BinaryIO, kind: int, body: bytes) -> None:
    length = struct.pack("<I", 12 + len(body))
    file.write(struct.pack("<I", kind) + length + body + length)


def _records(plan: Plan) -> Iterator[bytes]:
    for node in np.union1d(plan.src, plan.dst).tolist():
        record = _ip(node) + str(plan.fabric.names[node]).encode() + b"\0"
        yield struct.pack("<HH", 1, len(record)) + _padded(record)
