"""Fields that both engines keep in addition to those that protocols see (`interface/state.py`) and the rules' own."""

from rdmacc.interface import NEVER, Byte, Float, Int, Int32, Record

TOTALS = (
    "events", "sent_bytes", "accepted_bytes", "discarded_bytes", "dropped_bytes", "trimmed_bytes", "live_packets",
    "marked_arrivals", "acks", "naks", "cnps", "credits", "adverts", "requests",
)  # fmt: skip
"""What both engines count; `in_flight_bytes` is counted by looking."""


MESSAGE_COLUMNS = (
    "qp", "src", "dst", "group", "group_size", "packets", "size_bytes", "start_ps", "weight", "waits_for", "priority",
)  # fmt: skip
"""Fields of messages that a plan has, by message; `waits_for` also by row of computation."""


class Transit(Record):
    """Of a packet on a link."""

    arrival_ps = Int(doc="when its last bit reaches the other end")


class MessageProgress(Record):
    """Of a message."""

    waits_for = Int32(doc="messages that must end before it may start; -1 once one of them has failed")
    is_open = Byte(doc="1 from its start until it is acknowledged or given up")
    is_incoming = Byte(doc="1 while it may be picked at its receiver")
    is_delayed = Byte(doc="1 once the scheme's delay before the start is under way")
    is_explained = Byte(doc="1 if it is to be explained")
    is_awaited = Byte(doc="1 if the run is to stop when it is delivered or has failed")


class ComputationProgress(Record):
    """Of a row of computation."""

    start_ps = Int(doc="not before; once nothing is waited for, when it starts")
    end_ps = Int(-1, doc="-1 until it ends")
    waits_for = Int32(doc="messages and rows that must end before it may start; -1 once one of them has failed")
    failed = Byte(doc="not 0 once something that it waits for has failed")


class QueuePairUse(Record):
    """Of a queue pair."""

    stopped_by = Byte(doc="for explanations: what keeps it from sending (`rdmacc.rules.pacing`)")
    remaining = Int32(doc="messages that have not started")


class Clock(Record):
    """State of a host's clock."""

    clock_count = Int(doc="readings so far")
    clock_offset_ps = Int()
    clock_key = Int(doc="key of its jitter's stream of chance")


class Routing(Record):
    """Of a switch."""

    salt = Int(doc="of its hash")
    spray_count = Int(doc="packets sent at random so far")
    deflections = Int(doc="packets deflected so far")
    is_nic = Byte(doc="1 for the part of a NIC that joins a host's links: no hooks, no drops, no port that is down")


class Transmitter(Record):
    """Of a port: what sends."""

    busy_until_ps = Int(doc="end of the transmission under way, or of the last one")
    byte_ps = Float(doc="time of a byte on the link")
    delay_ps = Int(doc="propagation delay of the link")
    waiting = Int32(doc="bit mask of the classes that have something to send")
    order = Int32(doc="of the transmission under way, among all that was scheduled (with a tick)")
    is_wake_pending = Byte(doc="1 while an event is pending at the end of the transmission under way")
    is_down = Byte(doc="1 once the link has failed")


class Turns(Record):
    """Of a host's port: whose turn it is."""

    served = Int32(-1, doc="place among the port's queue pairs, or number, of the one served last")
    timer_order = Int32(doc="with a tick: order of the port's timer that is pending")
    timer_ps = Int(NEVER, doc="with a tick: when the port looks for a packet to send again, NEVER for no timer")


class LinkLoss(Record):
    """Of a port: random loss on the link behind it."""

    loss_key = Int(doc="key of its stream of chance")
    loss_count = Int(doc="numbers drawn from it")
    loss_data = Float(doc="probability of losing a data packet")
    loss_control = Float(doc="probability of losing any other packet, PFC frames apart")
