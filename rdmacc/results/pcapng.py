"""Export of a trace to a pcapng file, for Wireshark and similar tools: RoCEv2 packets with their headers.

scapy builds the headers (``pip install "rdmacc[pcap]"``). They are:

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
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from zlib import crc32

import numpy as np
import numpy.typing as npt

from rdmacc.engine.plan import Plan
from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.errors import ConfigError, not_installed, unknown, written
from rdmacc.interface import ACK, ADVERT, CNP, CREDIT, DATA, NAK, NUM_CLASSES, PAUSE, REQUEST, RETURN
from rdmacc.show.bar import Bar
from rdmacc.typed import typed
from rdmacc.workload.frame import checked_whole

if TYPE_CHECKING:
    from rdmacc.results.result import Result

__all__ = ["write_pcapng"]

_PSN_MASK = 0xFFFFFF
_FIRST_QP = 16  # queue pairs 0 and 1 are reserved for management, and Wireshark dissects them as such
_NAK_SEQUENCE_ERROR = 0x60
_ACK_NO_CREDIT_LIMIT = 0x1F
_FIRST, _MIDDLE, _LAST, _ONLY = 0x06, 0x07, 0x08, 0x0A
_OWN_OPCODES = {CREDIT: 0xC0, REQUEST: 0xC1, ADVERT: 0xC2, RETURN: 0xC3}
_NOT_ECT, _ECT, _CE = 0, 2, 3
_WHOLE = 2**18
_MOST_PAYLOAD = 65_472  # with padding and the headers of a WRITE, 65,535 bytes of IP
_LONGEST_NAME = 32_767

_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
_ETHERNET = 1
_INBOUND, _OUTBOUND = 1, 2
_HEAD, _LENGTH = struct.Struct("<IIIIIII"), struct.Struct("<I")
_PADDING = [bytes(-length % 4) for length in range(4)]
_AT_ONCE = 20_000
_PSN_AT = 37  # offset: after 20 bytes of IP, 8 of UDP and 9 of the BTH
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
    """Write the packets of a trace to a pcapng file.

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

    Returns
    -------
    int
        Number of packets written.

    Raises
    ------
    ConfigError
        If the run had no trace, scapy is missing, or an argument is invalid.
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
    frames = _Frames(plan)
    rows = rows[_seen(plan, rows, node, link)]
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
            high, low = divmod(time_ps // 1000, 2**32)
            padding = _PADDING[len(kept) % 4]
            total = 32 + len(kept) + len(padding) + len(_SENT)
            head = _HEAD.pack(_PACKET, total, interface[port], high, low, len(kept), len(frame))
            end = (_SENT if what == SENT else _CAME) + _LENGTH.pack(total)
            file.write(b"".join((head, kept, padding, end)))
    return len(rows)


def _shown(rows: npt.NDArray[np.void]) -> Iterator[tuple[int, ...]]:
    """Yield rows as tuples, in batches; show a progress bar if it takes more than a second."""
    with Bar(total=len(rows), desc="pcapng", unit="packet", unit_scale=True, delay=1.0, leave=False) as bar:
        for begin in range(0, len(rows), _AT_ONCE):
            part = rows[begin : begin + _AT_ONCE].tolist()
            yield from part
            bar.update(len(part))


def mac_address(node: int) -> str:
    return ":".join(f"{byte:02x}" for byte in (2 << 40 | node + 1).to_bytes(6))


def ip_address(node: int) -> str:
    return ".".join(str(byte) for byte in (10 << 24 | node + 1).to_bytes(4))


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


class _Template:
    """A template of a packet after its Ethernet header, for any PSN, because scapy takes 0.4 ms to build one.

    The invariant CRC covers everything that switches do not change. Fields that they may change count as ones
    (InfiniBand specification, annex A17): IP's type of service, time to live and checksum, UDP's checksum, and the
    congestion bits of the BTH.
    """

    def __init__(self, packet: bytes) -> None:
        masked = bytearray(packet[:-_ICRC_BYTES])
        for place in (1, 8, 10, 11, 26, 27, 32):
            masked[place] = 0xFF
        self._before, self._after = packet[:_PSN_AT], packet[_PSN_AT + 3 : -_ICRC_BYTES]
        self._crc = crc32(masked[:_PSN_AT], crc32(b"\xff" * 8))

    def at(self, psn: int) -> bytes:
        number = psn.to_bytes(3)
        crc = crc32(self._after, crc32(number, self._crc))
        return b"".join((self._before, number, self._after, crc.to_bytes(_ICRC_BYTES, "little")))


class _Frames:
    """Builds the bytes of packets."""

    def __init__(self, plan: Plan) -> None:
        try:
            from scapy.contrib import roce
            from scapy.layers import inet, l2
        except ImportError as error:
            raise not_installed("write_pcapng", "scapy", "pcap") from error
        self._plan = plan
        self._roce: Any = roce
        self._inet: Any = inet
        self._l2: Any = l2
        self._templates: dict[tuple[int, ...], _Template] = {}
        self._ethernet: dict[tuple[int, bool], bytes] = {}

    def frame(self, port: int, message: int, psn: int, wire: int, kind: int, priority: int, ce: int) -> bytes:
        """Return a packet on a link, without the frame check sequence."""
        is_pfc = kind >= PAUSE
        ethernet = self._ethernet.get((port, is_pfc))
        if ethernet is None:
            fabric = self._plan.fabric
            peer = "01:80:c2:00:00:01" if is_pfc else mac_address(int(fabric.port_peer[port]))
            own = mac_address(int(fabric.port_node[port]))
            ethernet = bytes(self._l2.Ether(dst=peer, src=own, type=0x8808 if is_pfc else 0x0800))
            self._ethernet[port, is_pfc] = ethernet
        if is_pfc:
            return ethernet + _pfc(psn, is_pause=kind == PAUSE)
        payload = self._payload_bytes(message, psn, wire) if kind == DATA else 0
        last = int(self._plan.packets[message]) - 1
        shape = (psn == 0) + 2 * (psn == last) if kind == DATA else int(psn > last)
        key = (message, payload, kind, priority, ce, shape)
        template = self._templates.get(key)
        if template is None:
            if len(self._templates) > 10_000:  # far more than the number of active messages
                self._templates.clear()
            template = self._templates[key] = _Template(self._packet(message, psn, payload, kind, priority, ce))
        return ethernet + template.at(_number(kind, psn))

    def _payload_bytes(self, message: int, psn: int, wire: int) -> int:
        plan = self._plan
        size = plan.scheme.payload_bytes
        if psn == plan.packets[message] - 1:
            size = int(plan.size_bytes[message]) - psn * size
        is_whole = wire >= size + plan.scheme.header_bytes
        return size if is_whole else 0

    def _packet(self, message: int, psn: int, payload: int, kind: int, priority: int, ce: int) -> bytes:
        plan = self._plan
        ends = [ip_address(int(plan.src[message])), ip_address(int(plan.dst[message]))]
        src, dst = ends if kind in (DATA, REQUEST) else ends[::-1]
        ecn = _CE if ce else _ECT if kind == DATA else _NOT_ECT
        below = self._inet.IP(src=src, dst=dst, tos=priority << 2 | ecn, flags="DF", id=0) / self._inet.UDP(
            sport=0xC000 | message & 0x3FFF, dport=4791, chksum=0
        )
        return bytes(below / self._transport(message, psn, payload, kind))

    def _transport(self, message: int, psn: int, payload: int, kind: int) -> Any:
        roce, last, size = self._roce, int(self._plan.packets[message]) - 1, int(self._plan.size_bytes[message])
        qp = message + _FIRST_QP & _PSN_MASK
        if kind == DATA:
            opcode = _ONLY if last == 0 else _FIRST if psn == 0 else _LAST if psn == last else _MIDDLE
            padding = -payload % 4
            bth = roce.BTH(opcode=opcode, dqpn=qp, psn=psn & _PSN_MASK, padcount=padding, ackreq=int(psn == last))
            address = struct.pack(">QII", 0, 0, min(size, 2**32 - 1)) if psn == 0 else b""
            return bth / (address + bytes(payload + padding))
        if kind in (ACK, NAK):
            syndrome = _NAK_SEQUENCE_ERROR if kind == NAK else _ACK_NO_CREDIT_LIMIT
            bth = roce.BTH(opcode="RC_ACKNOWLEDGE", dqpn=qp, psn=_number(kind, psn))
            return bth / roce.AETH(syndrome=syndrome, msn=int(psn > last))
        if kind == CNP:
            return roce.cnp(qp)
        return roce.BTH(opcode=_OWN_OPCODES[kind], dqpn=qp, psn=psn & _PSN_MASK)


def _number(kind: int, psn: int) -> int:
    """Return the packet sequence number in the header: an ACK has that of the last packet; a CNP has none."""
    return 0 if kind == CNP else (psn - 1 if kind == ACK else psn) & _PSN_MASK


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
        record = (10 << 24 | node + 1).to_bytes(4) + str(plan.fabric.names[node]).encode() + b"\0"
        yield struct.pack("<HH", 1, len(record)) + _padded(record)
