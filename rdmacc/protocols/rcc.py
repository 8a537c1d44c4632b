"""RCC: the receiver sets each sender's window, from the number of messages or from the delay.

Source: Zhang et al., "Receiver-driven RDMA congestion control by differentiating congestion types in datacenter
networks", ICNP 2021: algorithm 1, sections III-B to III-F. Messages that share their last hop get equal windows
(explicit window assignment, EWA). If n samples in a row are late while the last hop is not busy, the congestion is in
the network, and a PID controller keeps the flow's delay at its target until the flow ends, with a window of at most its
fair share. ACKs carry the window; the sender paces, so windows below one packet work.

Readings:

- *Equation (4)*. As printed, u accumulates (`pid_form="accumulating"`). Flows with the same delay then preserve any
  difference in u, so the ratio of their windows grows without bound; also, Table I stores no u. The default, "pd", is u
  = K_p e + K_d (e - e'), which is an inference, not the printed form. Both forms preserve the ratios of windows at
  best, so equation (11) does not follow. Gains are in 1/s: in no other unit is figure 4's margin above 30 degrees.
- *RTT* is the paper's name for the one-way delay, but its values are round trips. A sample is the one-way delay plus
  the ACK's way back through an empty network.
- *W = C / N* is a rate: the window is C RTT_base / N.
- *B_R* is the rate received on the receiver's link in the last round, of the least base RTT. A flow is judged only by
  rounds that began after its first packet, because in an earlier round a new burst would look like congestion in the
  network.
- *A sample* is taken from each packet ("upon receiving a packet"). With `sampling="base-rtt"` it is taken from the
  first packet in each base RTT, another meaning of Table I's "RTT update timer"; n samples then span n round trips.
- *The first window* is a BDP ("starts at line rate"). A message requested by its receiver (`start="request"`) begins
  with its share among the group's messages to that host, because the request can carry it.

Assumptions: the PID updates once per base RTT (Table I's timer), from the latest sample; it starts with e' = e; a
window under PID is at least one packet, or the fair share (`has_floor`; no equation has such a bound, and without it
the minimum is a byte); at a bound, u does not accumulate further.
"""

from math import tanh

from rdmacc.interface import *

Law = Literal["both", "explicit", "pid"]
Form = Literal["pd", "accumulating"]
Period = Literal["base-rtt", "rtt", "packet"]
Sampling = Literal["packet", "base-rtt"]
Start = Literal["line-rate", "request"]


@dataclass(frozen=True, kw_only=True)
class Rcc(Component):
    """Windows from the number of messages while the last hop is the bottleneck, otherwise from the delay."""

    law: Law = param("both", "both, explicit (RCC-EWA) or pid (RCC-PID)", source="V-E-2", choices=get_args(Law))
    late_samples: int = param(3, "late samples in a row that signal congestion", symbol="n", source="III-F", low=1)
    sampling: Sampling = param(
        "packet", "packet or base-rtt: how often samples are taken", source="algorithm 1", choices=get_args(Sampling)
    )
    delta: float = param(
        0.2, "a sample above RTT_base (1 + delta) is late", symbol="delta", source="III-F", low=1e-6, high=1.0
    )
    eta: float = param(
        0.95,
        "utilisation of the last hop above which it is the bottleneck",
        symbol="eta",
        source="III-F",
        low=0.0,
        high=1.0,
    )
    ewa_eta: float = param(1.0, "share of the last hop to assign", source="III-D: all", low=0.01, high=1.0)
    kp: float = param(1e4, "proportional gain, 1/s", symbol="K_p", source="V-A", low=0.0)
    kd: float = param(1e5, "derivative gain, 1/s", symbol="K_d", source="V-A", low=0.0)
    pid_form: Form = param(
        "pd", "pd or accumulating, as equation (4)", source="Table I has no u", choices=get_args(Form)
    )
    period: Period = param(
        "base-rtt", "base-rtt, rtt or packet: time between updates", source="Table I", choices=get_args(Period)
    )
    anti_windup: bool = param(True, "u does not accumulate while the window is at a bound")
    has_floor: bool = param(True, "a window under PID is at least a packet, or the fair share", source="assumed")
    start: Start = param("line-rate", "line-rate or request: the first window", source="III-B", choices=get_args(Start))
    base_rtt_ps: OptionalTime = param(
        None, "base RTT of all flows; 0: each uses its own", unit="ps", symbol="RTT_base", source="III-C"
    )
    jitter_ps: Time = param("0s", "largest random error of a sample, in either direction", source="V-E-1")

    class Sender(Record):
        rate_bps = Float(doc="the window over the base RTT")
        window_bytes = Int()
        cwnd_bytes = Int32(doc="window in the last ACK")

    class Receiver(Record):
        """A flow: the variables of Table I, then those it omits."""

        cwnd_bytes = Int32()
        base_rtt_ps = Int()
        last_rtt_ps = Int(doc="latest sample")
        last_rtt_diff_ps = Int(doc="e(t - 1)")
        update_timer_ns = Int32(doc="time of the last update, modulo 2**31")
        control = Float(doc="u(t)")
        is_iterative = Byte(doc="1 under PID")
        late = Int32(doc="late samples in a row")
        congestion = Byte(doc="LAST_HOP or IN_NETWORK while samples are late, otherwise 0")
        began_ps = Int(doc="first packet of the message")
        draws = Int32(doc="numbers drawn for jitter")

    class Endpoint(Record):
        flow_num = Int32(doc="N: active messages")
        round_ps = Int(doc="least base RTT of its flows")
        round_began_ps = Int()
        round_began_bytes = Int(doc="bytes received before the round")
        last_began_ps = Int(-1, doc="start of the last complete round")
        last_bps = Float(doc="B_R over the round")

    class Header(Record):
        """In ACKs and NAKs."""

        cwnd_bytes = Int32()

    def on_open(params, qp, sender, receiver):
        receiver.base_rtt_ps = base_rtt(params, qp)
        allow(params, qp, sender, int(qp.line_bps * base_rtt(params, qp) / 8e12))

    def on_start(params, qp, sender, message):
        allow(params, qp, sender, first_window(params, qp, message))

    def on_data(params, host, endpoint, qp, receiver, message, packet, reply, now):
        delay_ps = host.clock_ps - packet.sent_ps
        rtt_ps = qp.base_rtt_ps + delay_ps - qp.base_delay_ps + jitter(params, qp.reply_chance_key, receiver)  # line 3
        count(endpoint, message, packet, receiver.base_rtt_ps)  # line 4
        measure(endpoint, host, now)
        if packet.accepted and message.received_packets == 1:
            begin(params, qp, receiver, message, now)
        share = fair_share(params, receiver.base_rtt_ps, host.line_bps, endpoint.flow_num)  # line 5
        b_r = received(endpoint, receiver.began_ps)
        reply.cwnd_bytes = window(params, receiver, rtt_ps, share, b_r, host.line_bps, message, now)

    def on_ack(params, qp, sender, packet):
        if packet.cwnd_bytes > 0:  # NAKs from a timer carry no window
            allow(params, qp, sender, packet.cwnd_bytes)


# Sender


def base_rtt(params, qp):
    return params.base_rtt_ps if params.base_rtt_ps > 0 else qp.base_rtt_ps


def first_window(params, qp, message):
    """Return the window of a new message: a BDP, or its share of one if the receiver asked for a group of them."""
    bdp = int(qp.line_bps * base_rtt(params, qp) / 8e12)
    return max(1, bdp // message.group_size) if params.start == "request" else bdp


def allow(params, qp, sender, cwnd_bytes):
    """Set the sender's window, and pace it over a base RTT."""
    sender.cwnd_bytes = cwnd_bytes
    sender.window_bytes = cwnd_bytes
    sender.rate_bps = min(qp.line_bps, cwnd_bytes * 8e12 / base_rtt(params, qp))


# Receiver: messages and bytes of the host


def count(endpoint, message, packet, base_rtt_ps):
    """Count messages by their first and last packets (III-D)."""
    if packet.accepted:
        if message.received_packets == 1:
            if endpoint.flow_num == 0 or base_rtt_ps < endpoint.round_ps:
                endpoint.round_ps = base_rtt_ps
            endpoint.flow_num += 1
        if message.received_packets == message.packets:
            endpoint.flow_num -= 1


def measure(endpoint, host, now):
    """Close a round once it is a base RTT long."""
    elapsed_ps = now - endpoint.round_began_ps
    if elapsed_ps >= endpoint.round_ps:
        endpoint.last_bps = (host.rx_wire_bytes - endpoint.round_began_bytes) * 8e12 / max(elapsed_ps, 1)
        endpoint.last_began_ps = endpoint.round_began_ps
        endpoint.round_began_ps = now
        endpoint.round_began_bytes = host.rx_wire_bytes


def received(endpoint, began_ps):
    """Return B_R as a rate, or -1 if no complete round has passed since the flow began."""
    return endpoint.last_bps if endpoint.last_began_ps >= began_ps else -1.0


def fair_share(params, base_rtt_ps, line_bps, flow_num):
    """Return the window that explicit assignment gives each message (III-D)."""
    sharers = max(1, flow_num) if params.law != "pid" else 1
    return max(1, int(params.ewa_eta * line_bps * base_rtt_ps / 8e12 / sharers))


# One flow


def begin(params, qp, flow, message, now):
    """Reset the state of the previous message."""
    flow.began_ps = now
    flow.cwnd_bytes = first_window(params, qp, message)
    flow.late = 0
    flow.congestion = 0
    flow.is_iterative = 0


def jitter(params, key, flow):
    """Return the error that an unsynchronised clock adds to a sample."""
    if params.jitter_ps == 0:
        return 0
    flow.draws += 1
    return int((2.0 * uniform(key, flow.draws) - 1.0) * params.jitter_ps)


def window(params, flow, rtt_ps, share, b_r, line_bps, message, now):
    """Return the window for the ACK of a packet (algorithm 1, lines 6 to 19)."""
    flow.last_rtt_ps = rtt_ps
    due = is_due(params, flow, now)
    if params.sampling == "packet":
        detect(params, flow, b_r, line_bps)
    elif due:
        flow.update_timer_ns = now // 1000 % 2**31
        detect(params, flow, b_r, line_bps)
    if flow.is_iterative:
        if due:
            update(params, flow, share, message.payload_bytes, now)
    elif params.law != "explicit" and (flow.congestion == IN_NETWORK or params.law == "pid"):
        flow.is_iterative = 1
        flow.control = 0.0
        flow.last_rtt_diff_ps = rtt_ps - target(params, flow)
        update(params, flow, share, message.payload_bytes, now)
    else:
        flow.cwnd_bytes = share
    return min(flow.cwnd_bytes, share)


def detect(params, flow, b_r, line_bps):
    """Determine whether there is congestion, and where (III-C)."""
    if flow.last_rtt_ps > flow.base_rtt_ps * (1.0 + params.delta):  # equation (1)
        flow.late += 1
        if flow.late >= params.late_samples and b_r >= 0.0:
            flow.congestion = LAST_HOP if b_r >= params.eta * line_bps else IN_NETWORK
    else:
        flow.late = 0
        flow.congestion = 0


def target(params, flow):
    """Return RTT_target, equation (2)."""
    return int(flow.base_rtt_ps * (1.0 + params.delta / 2.0))


def is_due(params, flow, now):
    """Return whether the PID is due for an update."""
    period_ps = flow.last_rtt_ps if params.period == "rtt" else flow.base_rtt_ps
    return params.period == "packet" or (now // 1000 - flow.update_timer_ns) % 2**31 >= period_ps // 1000


def update(params, flow, share, packet_bytes, now):
    """Adjust the window to the delay, equations (3) to (5)."""
    flow.update_timer_ns = now // 1000 % 2**31
    error_ps = flow.last_rtt_ps - target(params, flow)
    control = (params.kp * error_ps + params.kd * (error_ps - flow.last_rtt_diff_ps)) * 1e-12
    if params.pid_form == "accumulating":
        control += flow.control
    flow.last_rtt_diff_ps = error_ps
    least = min(packet_bytes, share) if params.has_floor else 1
    cwnd = int(flow.cwnd_bytes * (1.0 - tanh(control)) + 0.5)
    flow.cwnd_bytes = min(max(cwnd, least), share)
    is_bound = (cwnd >= share and control < 0.0) or (cwnd <= least and control > 0.0)
    flow.control = 0.0 if is_bound and params.anti_windup else control
