"""The records that every protocol shares: packets, messages, queue pairs, hosts and ports.

The engines own these fields. A handler may read all of them; those that it may write are marked with *w*.
"""

from rdmacc.interface.records import Byte, Deadline, Float, Int, Int32, Record

# Kinds of packets. NONE marks a reply that no handler filled in, so nothing is sent.
# REQUEST is any packet but data that a sender sends, RETURN a trimmed packet that a switch returned to its sender.
NONE, DATA, ACK, NAK, CNP, CREDIT, REQUEST, ADVERT, RETURN, PAUSE, RESUME = range(11)
KIND_NAMES = ("none", "data", "ack", "nak", "cnp", "credit", "request", "advert", "return", "pause", "resume")

# Priority classes, served in ascending order. MAC is for PFC frames only; switches rate-limit CREDITS. CONTROL,
# the highest of the eight 802.1Q classes, is for ACKs, NAKs, CNPs and grants. PFC pauses DATA_CLASS and those after it.
MAC, CREDITS, CONTROL, DATA_CLASS = range(4)
NUM_CLASSES = 11

# Position of a link: from a host, from a switch to a host, from switch to switch.
HOST_NIC, LAST_HOP, IN_NETWORK = range(3)
LINK_CLASSES = ("host_nic", "last_hop", "in_network")

# State of a queue pair: nothing to send, waiting for its pacing time, or waiting for its turn at the NIC.
IDLE, PACING, READY = range(3)

# Verdicts of a switch feature on a packet: queue it, drop it, trim it, trim the last packet of the queue and queue
# this one, or (in on_route) deflect it.
ACCEPT, DROP, TRIM, TRIM_TAIL, DEFLECT = range(5)

PFC_FRAME_BYTES = 64
"""A PAUSE or RESUME frame on the wire (802.1Qbb)."""
RESERVE_BYTES = 4096
"""Guaranteed to each ingress (port, priority), as in the HPCC simulator."""

UNLIMITED = 2**62
"""A window or a number of credits that never limits."""


class Packet(Record):
    """A packet. The header fields of the scheme follow these fields."""

    message = Int32(doc="index of the message")
    qp = Int32(doc="index of the queue pair")
    dst = Int32(doc="node id of the destination host")
    psn = Int32(doc="data: packet number in its message; ACK, NAK: next packet expected; PAUSE: class (w: replies)")
    payload_bytes = Int32()
    wire_bytes = Int32(doc="bytes on the link (w)")
    kind = Byte(doc="DATA, ACK, ... (w in replies, notices and requests: they are sent if it is not NONE)")
    priority = Byte(doc="priority class (w)")
    ce = Byte(doc="1 if congestion experienced: marked by ECN (w)")
    accepted = Byte(doc="1 if loss recovery takes the packet (w by recovery)")
    verdict = Byte(doc="ACCEPT, DROP, TRIM, TRIM_TAIL or DEFLECT (w by switch features)")
    is_trimmed = Byte(doc="1 if a switch trimmed its payload")
    path = Int32(doc="path that it takes under source routing (w in on_send, replies and requests)")
    route = Int32(-1, doc="port to leave this switch by, -1 for the routing's choice (w in on_route)")
    order = Int32(doc="with a tick: sequence number of its last transmission (modulo 2**31)")
    sent_ps = Int(doc="when its NIC sent the first bit, by the sender's clock")


class Message(Record):
    """One row of the workload, with the sender's and the receiver's side."""

    number = Int32(doc="row of the workload")
    qp = Int32()
    src = Int32()
    dst = Int32()
    group = Int32(-1, doc="number of its incast or coflow, -1 for none")
    group_size = Int32(1, doc="messages of the group to the same host")
    packets = Int32(doc="number of packets")
    payload_bytes = Int32(doc="payload of every packet except the last")
    size_bytes = Int()
    weight = Float(1.0)
    start_ps = Int()
    delivered_ps = Int(-1, doc="when the last byte reached the receiver, -1 before")
    acked_ps = Int(-1, doc="when the last ACK reached the sender, -1 before")
    next_psn = Int32(doc="sender: next packet to send, which may be a retransmission (w by recovery)")
    highest_psn = Int32(doc="sender: one past the highest packet ever sent")
    una_psn = Int32(
        doc="sender: oldest unacknowledged packet; the message ends when this equals `packets` (w by recovery)"
    )
    granted_psn = Int32(doc="sender: packets below this may be sent (w)")
    received_packets = Int32(doc="receiver: distinct packets held; in go-back-N the expected PSN (w by recovery)")
    retransmissions = Int32(doc="packets sent more than once, counting each repeat")
    timeouts = Int32(doc="expired retransmission timers (w by recovery)")
    failed = Byte(doc="1 when recovery gave up (w by recovery); more: engine")
    priority = Byte(DATA_CLASS, doc="class of its data packets (w)")
    key = Int(doc="in on_candidate: its place among the host's incoming messages, lowest first; NEVER for none (w)")


class QueuePair(Record):
    """A connection from one host to another, which the sending NIC paces and schedules.

    It serves its messages in FIFO order. Its rate and window are the lowest of those in the scheme's sender records
    (`rate_bps`, `window_bytes`).
    """

    number = Int32()
    src = Int32()
    dst = Int32()
    active_messages = Int32(doc="messages started but not yet acknowledged")
    last_wire_bytes = Int32(doc="wire size of the last packet sent, in bytes")
    line_bps = Float(doc="rate of the sender's link")
    payload_bytes = Int32(doc="payload of a full packet")
    wire_bytes = Int32(doc="size of a full packet on the wire")
    paths = Int32(1, doc="under source routing: number of shortest paths to its receiver")
    peer_line_bps = Float(doc="rate of the receiver's link")
    base_rtt_ps = Int(doc="RTT of a full packet and its ACK in an empty network")
    base_delay_ps = Int(doc="one-way part of base_rtt_ps: that of the packet")
    rate_bps = Float(doc="current pacing rate")
    window_bytes = Int(UNLIMITED, doc="limit of inflight_bytes")
    inflight_bytes = Int(doc="payload sent but not acknowledged (w by recovery)")
    credits = Int(UNLIMITED, doc="packets that may be sent (w)")
    last_start_ps = Int(doc="when the last data packet's first bit left")
    contenders = Int32(doc="in on_send: other queue pairs that wait for the link")
    pace_timer_ps = Deadline("when the next data packet may leave")
    state = Byte(doc="idle, pacing or ready")
    chance_key = Int(doc="key of a random stream for its sender, which keeps the count")
    reply_chance_key = Int(doc="key of a random stream for its receiver")
    closed = Byte(doc="1 once every message on it is acknowledged and no more will come")


class Host(Record):
    """A host, as seen by handlers."""

    node = Int32()
    line_bps = Float(doc="rate of its (first) link")
    base_rtt_ps = Int(doc="largest base RTT from any sender that the workload uses to this host")
    rx_wire_bytes = Int(doc="bytes received, all kinds of packets")
    rx_packets = Int()
    announce = Byte(doc="w: 1 asks the engine to call on_announce for the packet's group, then on_advertise")
    pick = Int32(
        doc="w: n asks the engine to call on_candidate for each incoming message, then on_pick for the n lowest keys"
    )
    clock_ps = Int(doc="now, by the host's clock")


class Port(Record):
    """One direction of a link and the queues in front of it."""

    number = Int32()
    link_class = Byte(doc="HOST_NIC, LAST_HOP or IN_NETWORK")
    climbs = Byte(doc="1 if its link leads upwards, away from the hosts; see Fabric.port_climbs")
    queue_bytes = Int(doc="data bytes waiting; at a NIC: one full packet per ready queue pair")
    peak_queue_bytes = Int()
    rate_bps = Float()
    paused = Int32(doc="bit mask of the classes that PFC has paused")
    tx_bytes = Int(doc="bytes sent since the start, all kinds of packets")
    tx_data_packets = Int()
    tx_control_packets = Int()
    marked_packets = Int(doc="data packets marked here")
    dropped_packets = Int(doc="packets dropped at this queue: buffer full, or a feature's verdict")
    violations = Int(doc="packets from this link dropped because the headroom behind it was full")
    trimmed_packets = Int(doc="data packets trimmed here")
    deflected_packets = Int(doc="packets that a feature diverted from this port")
    lost_packets = Int(doc="packets lost on the link behind this port (faults)")
    pauses = Int(doc="PAUSE frames that stopped this port")
    paused_ps = Int(doc="time during which some class was paused, completed pauses only")
    paused_since_ps = Int(doc="when the current pause began")
    chance_key = Int(doc="key of the port's random stream")
    chance_count = Int(doc="numbers drawn from it (w)")
    base_rtt_ps = Int(doc="largest base RTT of any queue pair")
    wire_bytes = Int32(doc="size of a full packet on the wire")
