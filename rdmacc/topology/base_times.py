"""Ideal completion times: the FCT of a message alone in the network, the denominator of every slowdown.

At line rate, store-and-forward, along the first shortest path.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric, Int64s


def base_fct_ps(
    fabric: Fabric,
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    size_bytes: npt.ArrayLike,
    payload_bytes: int,
    header_bytes: int,
) -> Int64s:
    """Return each message's ideal completion time, from its first bit sent to its last byte received.

    A message consists of packets with `payload_bytes` of payload and a header; the last may be shorter. With the
    transmission time t_j of a full packet and the delay d_j of hop j, the m-th full packet completes hop i at

        F_i(m) = sum_{j<=i} (t_j + d_j) + (m - 1) max_{j<=i} t_j

    and a shorter last packet starts on hop i at max(F_i(m) - d_i, its arrival from hop i - 1).

    Of a host that sends by w links at once (:func:`rdmacc.topology.nics.joined`), every w-th packet takes the same
    link: from there to the receiver's NIC t_j counts as t_j / w under the maximum, and the last packet follows the one
    w before it. A short one may get ahead of full ones there; then the message ends with the last full one.
    """
    given = np.broadcast_arrays(*(np.asarray(each, dtype=np.int64) for each in (src, dst, size_bytes)))
    sources, targets, sizes = (each.ravel() for each in given)
    if payload_bytes < 1:
        raise ConfigError("payload_bytes", payload_bytes, "at least 1 byte")
    if header_bytes < 0:
        raise ConfigError("header_bytes", header_bytes, "at least 0 bytes")
    if sizes.size and sizes.min() < 1:
        raise ConfigError("size_bytes", int(sizes.min()), "at least 1 byte")
    fabric.check_paths(sources, targets)

    full, rest = np.divmod(sizes, payload_bytes)
    full_wire, rest_wire = payload_bytes + header_bytes, rest + header_bytes
    result = np.zeros(len(sizes), dtype=np.int64)
    through, slowest, arrival = np.zeros_like(result), np.zeros_like(result), np.zeros_like(result)
    has_nics, width = bool(fabric.is_nic.any()), np.ones_like(result)
    nodes, active = sources, np.arange(len(sizes))
    while len(active):
        ports = fabric.first_ports(nodes, targets)
        byte_ps, delay = fabric.port_byte_ps[ports], fabric.port_delay_ps[ports]
        time = (full_wire * byte_ps + 0.5).astype(np.int64)
        if has_nics:
            width = _width(fabric, nodes, targets, width)
        through = through + time + delay
        slowest = np.maximum(slowest, time // width if has_nics else time)
        ended = through + (full - width) * slowest - delay
        follows = full >= width
        if has_nics:
            follows &= ~fabric.is_nic[nodes] | (arrival >= ended - time)
        start = np.where(follows, np.maximum(ended, arrival), arrival)
        arrival = start + (rest_wire * byte_ps + 0.5).astype(np.int64) + delay
        nodes = fabric.port_peer[ports]
        on = nodes != targets
        if on.all():
            continue
        there = ~on
        whole = through + (full - 1) * slowest
        last = np.where(rest > 0, np.where(full > 0, np.maximum(arrival, whole), arrival), whole)
        result[active[there]] = last[there]
        nodes, targets, full, rest, rest_wire, through, slowest, arrival, width, active = (
            each[on] for each in (nodes, targets, full, rest, rest_wire, through, slowest, arrival, width, active)
        )
    return result.reshape(given[0].shape)


def _width(fabric: Fabric, nodes: Int64s, dst: Int64s, width: Int64s) -> Int64s:
    """Return by how many links at once messages go on from nodes, by how many they came there."""
    columns = fabric.attach[dst]
    end = fabric.attachments[columns]
    links = fabric.node_first_port[end + 1] - fabric.node_first_port[end] - 1
    most = np.where(fabric.is_nic[end], links, 1)
    sent_by = fabric.route_count[fabric.route_row[nodes], columns]
    width = np.where(fabric.is_nic[nodes], np.minimum(sent_by, most), width)
    return np.where(nodes == end, 1, width)


def largest_rtt_ps(fabric: Fabric, payload_bytes: int, header_bytes: int = 0, ack_bytes: int = 0) -> int:
    """Return the largest base round trip between any two connected hosts.

    It is the time of a packet there, store-and-forward, and of an ACK back. With the defaults only the packet's payload
    and the links' delays count: the base RTT that the HPCC simulator gives all queue pairs (third.cc, GLOBAL_T). Of
    hosts with equal links, two are enough.
    """
    hosts = np.array([host for group in fabric.alike_hosts() for host in group[:2]], np.int64)
    most = 0
    for src in hosts:
        others = hosts[(hosts != src) & fabric.reachable_many(np.full(len(hosts), src), hosts)]
        if len(others):
            there = base_fct_ps(fabric, src, others, payload_bytes, payload_bytes, header_bytes)
            if ack_bytes:
                back = base_fct_ps(fabric, others, src, ack_bytes, ack_bytes, 0)
            else:
                back = _delays_ps(fabric, np.full(len(others), src), others)
            most = max(most, int((there + back).max()))
    return most


def _delays_ps(fabric: Fabric, src: Int64s, dst: Int64s) -> Int64s:
    """Return the sums of link delays between hosts, along the first shortest path."""
    nodes, total = src.copy(), np.zeros(len(src), dtype=np.int64)
    active = np.arange(len(src))
    while len(active):
        ports = fabric.first_ports(nodes[active], dst[active])
        total[active] += fabric.port_delay_ps[ports]
        nodes[active] = fabric.port_peer[ports]
        active = active[nodes[active] != dst[active]]
    return total
