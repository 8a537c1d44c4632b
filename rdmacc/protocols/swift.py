"""Swift: a window controlled by the measured delay; the target grows with hops and shrinks with the window.

Source: Kumar et al., "Swift: Delay is simple and effective for congestion control in the datacenter", SIGCOMM 2020,
algorithm 1 and section 3. The production constants are not published; the defaults are those of the public htsim
implementation, whose default network has links of 100 Gb/s and an RTT of 14 us (six links of 1 us, packets of 4 kB).
On longer round trips the targets grow in proportion, because a target below the base RTT can never be met.

With a window below one packet, the sender paces: one packet per RTT / window. Losses appear as NAKs and timeouts.

Assumptions: hosts take no time, so the delay is the fabric's and the endpoint's window never binds; a window of more
than one packet counts whole packets; hops are the switches on the path, counted in a header like a TTL.
"""

from math import sqrt

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Swift(Component):
    """Below the target delay, add a packet per round trip; above it, cut in proportion to the excess."""

    increase: float = param(
        Scaled(1.0, payload="4000B"), "packets added per RTT", symbol="ai",
        source="algorithm 1; htsim, packets of 4 kB", low=0.0,
    )  # fmt: skip
    beta: float = param(0.8, "share of the excess delay to cut", symbol="beta", source="section 3.1; htsim", low=0.0)
    max_cut: float = param(
        0.5, "largest cut in one RTT", symbol="max_mdf", source="section 3.1; htsim", low=0.0, high=1.0
    )
    base_target_ps: Time = param(
        Scaled("20us", rtt="14us", least="20us"), "target delay without hops", symbol="base_target",
        source="htsim, for its RTT of 14 us", rtts=1.0,
    )  # fmt: skip
    hop_target_ps: Time = param(
        Scaled("3.05us", rtt="14us", least="3.05us"), "target delay for each hop", symbol="h",
        source="htsim: base / 6.55",
    )  # fmt: skip
    range_ps: Time = param(
        Scaled("100us", rtt="14us", least="100us"), "largest target delay added by flow scaling",
        symbol="fs_range", source="htsim: 5 base",
    )  # fmt: skip
    range_from: float = param(
        0.1,
        "window up to which flow scaling adds its maximum, packets",
        symbol="fs_min",
        source="section 3.2; htsim",
        low=1e-6,
    )
    range_to: float = param(
        100.0,
        "window above which flow scaling adds nothing, packets",
        symbol="fs_max",
        source="section 3.2; htsim",
        low=1e-6,
    )
    initial_window: float = param(
        Scaled(150.0, rate="100Gbps", rtt="12us", payload="1000B", least=1.0), "initial window, packets",
        source="a BDP, since the paper is silent; htsim: 12 to 15 packets of 4 kB at 100 Gb/s", low=0.001,
    )  # fmt: skip
    min_window: float = param(0.001, "least window, packets", source="algorithm 1", low=1e-6)
    max_window: float = param(
        Scaled(1000.0, rate="100Gbps", rtt="14us", payload="4000B", least=1000.0), "largest window, packets",
        source="htsim, packets of 4 kB", low=0.001,
    )  # fmt: skip
    reset_after: int = param(
        5, "timeouts in a row that reset the window", symbol="RETX_RESET_THRESHOLD", source="htsim", low=1
    )

    class Sender(Record):
        rate_bps = Float(doc="line rate, or the pace if the window is below one packet")
        window_bytes = Int(doc="the window in whole packets, at least one")
        window = Float(doc="fcwnd, packets")
        rtt_ps = Int(doc="latest sample")
        target_ps = Float(doc="target delay of the latest ACK")
        cut_ps = Int(doc="when the window was last cut")

    class Transfer(Record):
        acked_psn = Int32()
        timeouts = Int32(doc="timeouts already handled")
        resends = Int32(doc="timeouts since the last progress")

    class Header(Record):
        """In data packets, and returned in ACKs."""

        swift_sent_ps = Int(doc="when the packet left")
        swift_hops = Byte(doc="switches passed")

    def on_open(params, qp, sender):
        sender.window = params.initial_window
        sender.rtt_ps = qp.base_rtt_ps
        sender.rate_bps = qp.line_bps

    def on_start(params, qp, sender, message):
        apply(params, qp, sender, message, sender.window, 0)

    def on_send(params, qp, sender, message, transfer, packet, now):
        packet.swift_sent_ps = now
        if message.timeouts > transfer.timeouts:  # first packet after a timeout
            transfer.timeouts = message.timeouts
            transfer.resends += 1
            if transfer.resends >= params.reset_after:
                apply(params, qp, sender, message, params.min_window, now)
            elif can_cut(sender, now):
                apply(params, qp, sender, message, sender.window * (1.0 - params.max_cut), now)

    def on_dequeue(port, packet):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            packet.swift_hops += 1

    def on_data(packet, reply):
        reply.swift_sent_ps = packet.swift_sent_ps
        reply.swift_hops = packet.swift_hops

    def on_ack(params, qp, sender, message, transfer, packet, now):
        acked = max(0, packet.psn - transfer.acked_psn)
        if acked > 0:
            transfer.acked_psn = packet.psn
            transfer.resends = 0
        sender.rtt_ps = now - packet.swift_sent_ps
        delay = float(sender.rtt_ps)
        sender.target_ps = target_delay(params, sender.window, packet.swift_hops)
        window = sender.window
        if packet.kind == NAK:
            if can_cut(sender, now):
                window *= 1.0 - params.max_cut
        elif delay < sender.target_ps:
            window += params.increase * acked / max(window, 1.0)
        elif can_cut(sender, now):
            window *= max(1.0 - params.beta * (delay - sender.target_ps) / delay, 1.0 - params.max_cut)
        apply(params, qp, sender, message, window, now)


def target_delay(params, window, hops):
    """Return the target delay in ps: base, hops and flow scaling (section 3.2)."""
    a = params.range_ps / (1.0 / sqrt(params.range_from) - 1.0 / sqrt(params.range_to))
    b = -a / sqrt(params.range_to)
    scaling = max(0.0, min(a / sqrt(window) + b, float(params.range_ps)))
    return params.base_target_ps + hops * params.hop_target_ps + scaling


def can_cut(sender, now):
    """Return whether the last cut is at least a round trip old."""
    return now - sender.cut_ps >= sender.rtt_ps


def apply(params, qp, sender, message, window, now):
    """Set the window within its bounds, and the pace if it is below one packet."""
    window = min(max(window, params.min_window), params.max_window)
    if window < sender.window:
        sender.cut_ps = now
    sender.window = window
    sender.window_bytes = max(1, int(window)) * message.payload_bytes
    sender.rate_bps = qp.line_bps
    if window < 1.0:
        sender.rate_bps = min(qp.line_bps, qp.last_wire_bytes * 8e12 * window / sender.rtt_ps)
