"""The kernel's memory: rows of packets, messages, queue pairs, hosts, ports and switches, and the engine's own tables
(queues, ingress accounts, watches, samples).

Rows of the first six kinds begin with the engine's own fields and those of `rdmacc.interface.state`; the records of the
scheme's components follow. So the kernel knows every field that it touches at a fixed offset whatever the scheme, and
is compiled once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.engine import records
from rdmacc.handlers.hooks import records_of
from rdmacc.interface import HOOKS, NEVER, NUM_CLASSES, Byte, Float, Int, Int32, Record, record_dtype, state
from rdmacc.interface.component import TIMERS
from rdmacc.rules.admission import IngressAccount, SharedBuffer
from rdmacc.rules.classes import ClassTurns, TokenBucket

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

CACHE_LINE = 64
"""Rows of ports are aligned to cache lines, so that an event touches as few as possible, and take an odd number of
lines: with rows of 512 bytes, the first lines of all ports would compete for an eighth of the cache.
"""

ROUTE_COUNT, ROUTE_IN_ROW, ROUTE_SHIFT = (1 << 24) - 1, 1 << 24, 25
"""A 64-bit entry of the route table, so that a lookup misses the cache once: the number of ports to choose from,
whether their numbers are consecutive, and, from bit ROUTE_SHIFT on, the first port or else the place in the list
of ports.
"""


MAX_SLOTS = 12  # deadlines of one record kind in a scheme, at most

KINDS = tuple(TIMERS)
"""Record kinds with deadlines, in the order of their bits and of the rows of `g.timers`."""


class _Packet(Record):
    next = Int32(-1, "the packet behind it in a queue, on a link or in the free list")
    ingress = Int32(-1, "row of the ingress account that it is charged to: port it came by, class it came in")


class _Message(Record):
    next_pending = Int32(-1, "next unacknowledged message of the queue pair")
    next_incoming = Int32(-1, "next message on its way to the same host")
    next_ended = Int32(-1, "the awaited message that ended before it")


class _Computation(Record):
    src = Int32()
    next_pending = Int32(-1, "while failures spread: the next one to visit")
    duration_ps = Int()
    is_far = Byte(doc="1 if something at another host waits for it")


class _QueuePair(Record):
    nic = Int32()
    reply_nic = Int32()
    first_pending = Int32(-1)
    last_pending = Int32(-1)
    place = Int32(doc="among the queue pairs of its NIC")
    first_message = Int32()


class _Port(Record):
    is_watched = Byte(doc="1 once a message that is to be explained has queued there")
    flight_head = Int32(-1, "first of the packets under way, the only one with an event")
    flight_tail = Int32(-1)
    flight_next = Int32(-1, "the packet behind flight_head: here, so that both can be fetched ahead")
    node = Int32()
    peer = Int32()
    reverse = Int32()
    is_nic = Byte()
    peer_is_host = Byte()
    has_loss = Byte()
    crosses = Byte(doc="on several threads: 1 + the one that its peer belongs to, if that is another one")


class _Crossing(Record):
    """What a port has sent in a window to a node of another thread."""

    first = Int32(-1)
    last = Int32(-1)
    next_port = Int32(-1, "the next one that has sent to the same thread")


class _Line(Record):
    """A NIC's queue of waiting queue pairs (see `rdmacc.engine.compiled.kernel.nic`)."""

    line = Int(doc="address of the lower levels of its lines, -1 without any")
    line_words = Int32(doc="words of their lowest level")
    line_depth = Int32(1, "levels, the top included")
    first_place = Int32(doc="where its queue pairs begin in g.places")


class _Host(Record):
    first_incoming = Int32(-1)
    last_incoming = Int32(-1)


class _Switch(Record):
    route_row = Int32(doc="of the tables of routes")


class _Queue(Record):
    """A queue of a port: one for each class."""

    head = Int32(-1, "first packet; -1 for none")
    tail = Int32(-1)


class _Backlog(Record):
    """Fields that only some classes of a port need."""

    ready = Int(0, "top level of the line of queue pairs (NICs); 0 if none waits")
    waiting_bytes = Int(0, "of classes that are limited")


class _Added(Record):
    """A message that is sent while the simulation runs: what Python writes of each, and what all have."""

    qp = Int()
    src = Int()
    dst = Int()
    size_bytes = Int()
    packets = Int()
    start_ps = Int()
    priority = Int()
    first_word = Int(doc="of its sets of packets")
    pair = Int(doc="address of a row that its queue pair begins as, if that is new; 0 if not")
    place = Int(doc="of a new queue pair, among those of its NIC")
    key = Int(doc="of the stream that a new queue pair's sender has its own from")
    reply_key = Int()
    message = Int(doc="address of the row that all begin as")
    sets = Int(doc="rows of where in a message's row a set's address is, and where the words of all these sets begin")
    n_sets = Int()
    on_open = Int(doc="address of the hook; 0 for none")


class _Watch(Record):
    address = Int()
    every_ps = Int(doc="0 for every change")
    last = Float(float("nan"))
    node = Int32(doc="where it is written")
    code = Byte(doc="0: i8, 1: i4, 2: i1, 3: f8")


class _Sample(Record):
    time_ps = Int()
    value = Float()
    watch = Int()


def feature(field: Any) -> Any:
    """Declare a field that enables a rarely used feature and otherwise stays 0.

    The plain kernel (`rdmacc.engine.compiled.machine_code.address`) is compiled for runs in which all of them are 0.
    """
    return replace(field, is_feature=True)


def _numbers(*fields: str) -> Any:
    kind: Any = type(Record)
    return kind("Numbers", (Record,), {field: Int() for field in fields})


class _Run(Record):
    """The clock, the event queue, and the tables' addresses."""

    now_ps = Int()
    unfinished = Int()
    undelivered = Int(doc="messages whose end is more than a link's delay away; below 0 once a scheme gave one up")
    first_ended = Int(doc="the last awaited message that was delivered or has failed; -1 for none")
    heap = Int(doc="address of the root")
    heap_length = Int()
    wheel_shift = Int(doc="a step has 2**wheel_shift ps; in windows that many grains, divided by `window_factor`")
    window_factor = Int()
    wheel_now = Int(doc="bucket whose events, and those before, are in the heap")
    wheel_count = Int(doc="events in buckets")
    node_bits = Int(doc="in windows: a step has 2**node_bits buckets, one for each node; 0 in the order of time")
    window = Int(-1, "in windows: the step that is under way")
    start_step = Int(doc="in windows: the messages that start up to this step are scheduled")
    visits = Int(doc="in windows: how often a node had events in a step")
    far_ps = Int(doc="in windows: when the next computation ends for which something at another host waits")
    is_entwined = Int(doc="1 if the scheme's two sides read each other's fields after a loss or a timeout")
    near_wheel = Int(doc="address of the near buckets' first nodes; -1 for none")
    near_bits = Int(doc="address of a bit for each bucket")
    near_mask = Int(doc="buckets less one")
    near_shift = Int(doc="2**near_shift buckets")
    far_wheel = Int()
    far_bits = Int()
    far_first = Int(NEVER, "first step of the first far bucket that has events")
    beyond_head = Int(-1, "first node of the events beyond the far wheel")
    beyond_first = Int(NEVER, "the first of their steps")
    nodes = Int(doc="rows of events in buckets")
    node_free = Int(-1)
    node_used = Int(doc="rows ever used")
    event_capacity = Int(doc="of heap and nodes, each")
    packets = Int()
    packet_bytes = Int()
    packet_capacity = Int()
    packet_count = Int(doc="rows ever used")
    free_head = Int(-1)
    free_count = Int()
    notice_packet = Int(doc="a fresh packet for a notice, which few arrivals need; -1 for none")
    packet_template = Int(doc="address of a packet's row of defaults")
    header_offset = Int()
    header_words = Int(doc="8-byte words of headers")
    messages = Int()
    message_bytes = Int()
    qps = Int()
    qp_bytes = Int()
    hosts = Int()
    host_bytes = Int()
    ports = Int()
    port_bytes = Int()
    backlogs = Int()
    ingresses = Int()
    switches = Int()
    switch_bytes = Int()
    attach = Int()
    attachments = Int()
    n_attachments = Int()
    prefetch_depth = Int(
        doc="how far ahead memory is asked for: 0 not at all, 1 for the next event, 2 for those after it too"
    )
    last_port = Int()
    routes = Int(doc="see ROUTE_SHIFT")
    route_ports = Int()
    starts = Int()
    n_starts = Int()
    next_start = Int()
    n_ready = Int(doc="messages, in the order of their starts, whose queue pairs exist")
    dependent_first = Int()
    dependents = Int()
    dependent_delays = Int()
    computation = Int(doc="rows of computation; their numbers follow those of the messages")
    n_messages = Int()
    hash_as = Int(doc="messages by whose numbers ECMP hashes each; 0 if its own")
    has_dependents = Int()
    member_first = Int()
    member_count = Int()
    members = Int()
    qps_to_first = Int()
    qps_to = Int()
    watches = Int()
    n_watches = Int()
    n_changes = feature(Int(doc="watches of every change"))
    samples = Int()
    sample_count = Int()
    sample_capacity = Int()
    has_trace = Int(doc="1 if rows are kept for explanations only, 2 if all are")
    explains = Int(doc="1 if the trace has what explains all messages, 2 if some")
    traces = Int()
    trace_count = Int()
    trace_capacity = Int()
    scripts = Int(doc="rows of (message, kind, psn, nth, transmissions so far)")
    n_scripts = feature(Int())
    has_clocks = feature(Int())
    clock_jitter_ps = Int()
    reserve_packets = Int(doc="packets that one event may need")
    reserve_events = Int()


class SchemeNumbers(Record):
    payload_bytes = Int()
    header_bytes = Int()
    ack_bytes = Int()
    cnp_bytes = Int()
    wire_bytes = Int()
    least_wire_bytes = Int()
    data_priority = Int()
    ack_priority = Int()
    marks_at_nic = Int()
    routing = Int(doc="place in rdmacc.switch.queueing.ROUTINGS")
    symmetric_salt = Int()
    distance = Int()
    spray_counts = Int()
    flowlet_gap_ps = Int()
    flowlets = Int(doc="for each switch's row of routes: times of the last packets, and the choices for them")
    node_first_port = Int()
    is_srpt = Int()
    start_delay_ps = Int()
    wrr_ratio = feature(Int())
    wrr_first = Int()
    wrr_second = Int()
    lanes = Int()
    first_lane = Int()
    trimmed_wire_bytes = Int()
    trimmed_priority = Int()
    has_limits = feature(Int())
    control_limit_bytes = Int()
    credit_limit_bytes = Int()
    credit_fraction = feature(Float())
    tick_ps = feature(Int())
    has_scanning_nics = feature(Int())
    order = Int(doc="with a tick: what has been scheduled so far")
    order_now = Int(doc="with a tick: order of the event under way")
    places = Int(doc="numbers of queue pairs, NIC by NIC")
    skipped = Int(doc="sets of each message's packets that were not sent though later ones were")
    skipped_first = Int(doc="first word of each message's set")
    path_first = Int(doc="first step of each message's own path, there and back")
    path_nodes = Int()
    path_ports = Int()
    has_paths = feature(Int())
    nic_ack_priority = Int()
    credit_burst_bytes = Float()
    is_lossless = Int()
    alpha = Float()
    xoff_bytes = Int()
    reserve_bytes = Int()
    xon_offset_bytes = Int()
    frame_bytes = Int()
    limit_bytes = Int()
    returns_headers = feature(Int())
    params = Int()
    has_requests = Int(doc="1 if a handler of a sender asks for a packet that is not data")
    timers = Int(doc="rows of (deadline offset, handler address) for each record kind, and behind them their number")


_Hooks: Any = _numbers(*(name for name, hook in HOOKS.items() if name not in ("on_open", "on_port")))
_Totals: Any = _numbers(*records.TOTALS)


class _Windows(Record):
    agreed_step = Int(-1, "in windows: the step that all threads are to go on with")
    upcoming_step = Int(doc="in windows: no event of this thread is due before it")
    reason = Int(doc="in windows: why this thread cannot end its window; -1 if it has")
    verdict = Int(doc="in windows: what all threads do next")
    meeting = Int(doc="address of two cache lines: threads that have come to the end of the window; how often all have")
    n_threads = Int(1)
    pool = Int(doc="addresses of the rows of all threads, this one's first if it has n_threads")
    thread = Int(doc="place in that list")
    outbox = Int(doc="first ports that have sent to each other thread, in even windows and in odd ones")
    crossings = Int(doc="rows of ports, for even windows and for odd ones")
    crossings_bytes = Int(doc="of the rows for even windows")
    turn = Int(doc="windows so far, to tell even ones from odd ones")
    handed_ps = Int(NEVER, "when the first packet arrives that was sent to another thread in this window")
    yield_thread = Int(doc="address of the system's function that lets other threads run; 0 for none")
    is_halted = Int(doc="1 once a handler has raised an exception in windows")
    window_events = Int(doc="on several threads: events in windows")
    window_base = Int(doc="on several threads: events of the first one up to the last window")
    longest_events = Int(doc="on several threads: those of the thread that had most in each window")


class KernelGlobals(_Run, SchemeNumbers, _Hooks, _Totals, _Windows):
    """The kernel's globals."""


RECORDS: dict[str, tuple[type[Record], ...]] = {
    "packet": (records.Transit, _Packet, state.Packet),
    "message": (state.Message, _Message, records.MessageProgress),
    "qp": (state.QueuePair, records.QueuePairUse, _QueuePair),
    "host": (state.Host, _Host, records.Clock),
    "port": (records.Transmitter, _Port, state.Port, ClassTurns, TokenBucket, records.Turns, _Line, records.LinkLoss),
    "switch": (records.Routing, SharedBuffer, _Switch),
}
"""The engine's records in each kind of row, ordered by use: forwarding a packet needs only its first cache line;
`sent_ps` and the headers, which only hosts read, come later.
"""

GLOBALS = record_dtype(KernelGlobals)
PACKET, MESSAGE, QP, HOST, PORT, SWITCH = (record_dtype(*kinds) for kinds in RECORDS.values())
COMPUTATION = record_dtype(records.ComputationProgress, _Computation)
QUEUE = record_dtype(_Queue)
BACKLOG = record_dtype(_Backlog)
INGRESS = record_dtype(IngressAccount)
CROSSING = record_dtype(_Crossing)
ADDED = record_dtype(_Added)
WATCH = record_dtype(_Watch)
SAMPLE = record_dtype(_Sample)
QUEUES_AT = PORT.itemsize + -PORT.itemsize % CACHE_LINE
"""Offset of the queues in a port's row: those of the first eight classes share a cache line."""

_ATTACHED = {
    "qp": ("Sender", "Receiver"),
    "message": ("Transfer",),
    "host": ("Endpoint",),
    "port": ("Egress",),
    "switch": ("Chip",),
}


@dataclass(frozen=True)
class Layout:
    """Where a scheme's records lie in the rows.

    `offsets` are by record kind and component, `fields` (type and offset) also by name; `row_bytes` and `defaults` by
    "packet", "qp", "message", "host", "port" and "switch", the latter a row of each with every field at its default.
    """

    packet: np.dtype[np.void]
    header_words: int
    offsets: dict[tuple[str, int], int]
    fields: dict[tuple[str, int, str], tuple[Any, int]]
    row_bytes: dict[str, int]
    defaults: dict[str, bytes]

    @classmethod
    def of(cls, scheme: Scheme) -> Layout:
        offsets: dict[tuple[str, int], int] = {}
        fields: dict[tuple[str, int, str], tuple[Any, int]] = {}
        row_bytes: dict[str, int] = {}
        defaults: dict[str, bytes] = {}
        for owner, base in RECORDS.items():
            row = _default_row(record_dtype(*base), base)
            if owner == "port":
                row += bytes(QUEUES_AT - len(row)) + NUM_CLASSES * _default_row(QUEUE, (_Queue,))
            for kind in _ATTACHED.get(owner, ()):
                for number, record in records_of(scheme.components, kind):
                    offsets[kind, number], dtype = len(row), record_dtype(record)
                    for name, (form, at, *_) in (dtype.fields or {}).items():
                        fields[kind, number, name] = form, len(row) + at
                    row += _default_row(dtype, (record,))
            if owner == "port":
                row += bytes(-(len(row) + CACHE_LINE) % (2 * CACHE_LINE))
            row_bytes[owner], defaults[owner] = len(row), row
        headers = tuple(record for _, record in records_of(scheme.components, "Header"))
        packet = record_dtype(*RECORDS["packet"], *headers)
        row = _default_row(packet, (*RECORDS["packet"], *headers))
        header_words = (len(row) - PACKET.itemsize) // 8
        row += bytes(-len(row) % (CACHE_LINE // 2))  # whole lines would be a third more memory, and slower
        row_bytes["packet"], defaults["packet"] = len(row), row
        return cls(packet, header_words, offsets, fields, row_bytes, defaults)


def packet_with(packet: np.dtype[np.void], headers: tuple[str, ...]) -> np.dtype[np.void]:
    """Return a packet's dtype with only some header fields, at their usual offsets."""
    if not headers:
        return PACKET
    names = [*(PACKET.names or ()), *headers]
    formats, offsets = zip(*(packet.fields[name][:2] for name in names if packet.fields), strict=True)
    end = offsets[-1] + formats[-1].itemsize
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": end + -end % 8}, align=True)


def _default_row(dtype: np.dtype[np.void], kinds: tuple[type[Record], ...]) -> bytes:
    """Return a row of defaults, padded to whole 8-byte words."""
    row = np.zeros(1, dtype)
    for record in kinds:
        fresh = record()
        for field in record.fields:
            row[field.name] = field.default
            if field.is_deadline:
                row[field.armed_name] = getattr(fresh, field.armed_name)
    raw = row.tobytes()
    return raw + bytes(-len(raw) % 8)
