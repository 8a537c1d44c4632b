"""HPCC: windows and rates from in-band telemetry.

Sources: Li et al., "HPCC: High precision congestion control", SIGCOMM 2019, algorithm 1; the authors' simulator
(rdma-hw.cc, mode 3), of which this is the rate-based form: R = W / T, so that W / k + W_AI becomes R / k + R_AI and
the window at line rate is the bandwidth-delay product B T. Switches stamp every data packet (`IntStamp`); each ACK
carries the records back.

The inflight bytes of a link, over B T, are the lower of its last two queues plus its throughput in between; the largest
over the path, averaged over T, is U. Rates are computed from the reference rate R_C, which changes only once a round
trip, so all ACKs of a round trip give the same rate for the same U.
"""

from rdmacc.interface import *
from rdmacc.switch.int_stamp import HOPS, IntStamp, elapsed_ps, sent_bytes


@dataclass(frozen=True, kw_only=True)
class Hpcc(IntStamp):
    """HPCC: the switches' telemetry, and the sender's reaction."""

    at_reference: ClassVar[tuple[str, ...]] = ("additive_bps",)

    eta: float = param(0.95, "target utilisation", symbol="eta", source="section 5.1", low=0.01, high=1.0)
    max_stage: int = param(
        5,
        "additive steps in a row; 0: always a multiplicative step",
        symbol="maxStage",
        source="section 5.1",
        low=0,
    )
    additive_bytes: Size = param("80B", "additive step of the window", symbol="W_AI", source="section 5.1")
    additive_bps: OptionalRate = param(
        None, "additive step of the rate; 0: the window's step over T", unit="bps", symbol="R_AI"
    )
    reference_bps: OptionalRate = param(
        None, "line rate at which `additive_bps` holds; it scales with the line rate; 0: no scaling", unit="bps"
    )
    base_rtt_ps: OptionalTime = param(
        None, "base RTT of all queue pairs; 0: each uses its own", unit="ps", symbol="T", source="section 3.2"
    )
    min_rate_bps: Rate = param("100Mbps", "lowest rate", source="rdma-hw.cc, class default", low=1.0)
    whole_bps: bool = param(False, "truncate a rate over k to whole bits per second", source="rdma-hw.cc: DataRate")
    fast_reaction: bool = param(True, "every ACK sets the rate; otherwise one per round trip", source="section 3.2")
    has_reference: bool = param(
        True, "R_C changes once a round trip; otherwise with every ACK that sets the rate", source="section 3.2"
    )

    class Sender(Record):
        rate_bps = Float(doc="R")
        window_bytes = Int(doc="R T")
        reference_rate_bps = Float(doc="R_C, changes once a round trip")
        inflight = Float(1.0, doc="U, averaged")
        stage = Int32(doc="incStage: additive steps since the last multiplicative one")
        rtt_ps = Float(doc="T")
        bdp_bytes = Int(doc="B T, the window at line rate")
        step_bps = Float(doc="R_AI")
        hops = Byte(doc="records of the last ACK")
        last_time_ps = Ints(HOPS)
        last_tx_bytes = Ints(HOPS)
        last_queue_bytes = Ints(HOPS)

    class Transfer(Record):
        """Round trips of a message, counted by packet numbers."""

        update_after_psn = Int32(doc="an ACK above it ends the round trip; 0 before the first")

    def on_open(params, qp, sender):
        sender.rtt_ps = float(params.base_rtt_ps if params.base_rtt_ps > 0 else qp.base_rtt_ps)
        sender.bdp_bytes = int(qp.line_bps * sender.rtt_ps / 8e12)
        scale = qp.line_bps / params.reference_bps if params.reference_bps > 0.0 else 1.0
        sender.step_bps = params.additive_bps * scale
        if params.additive_bps == 0.0:
            sender.step_bps = params.additive_bytes * 8e12 / sender.rtt_ps
        sender.reference_rate_bps = qp.line_bps
        set_rate(sender, qp.line_bps)

    def on_ack(params, qp, sender, message, transfer, packet):
        is_new_round = packet.psn > transfer.update_after_psn
        is_known = sender.hops == packet.int_hops and packet.int_hops > 0
        if not is_known or not transfer.update_after_psn:  # nothing to compare with yet
            store(sender, packet)
        elif is_new_round or params.fast_reaction:
            measure(params, qp, sender, packet)
            store(sender, packet)
            k = sender.inflight / params.eta
            if k >= 1.0 or sender.stage >= params.max_stage:
                rate, stage = sender.reference_rate_bps / k, 0
                rate = (float(int(rate)) if params.whole_bps else rate) + sender.step_bps
            else:
                rate, stage = sender.reference_rate_bps + sender.step_bps, sender.stage + 1
            rate = min(max(rate, params.min_rate_bps), qp.line_bps)
            set_rate(sender, rate)
            if is_new_round or not params.has_reference:
                sender.reference_rate_bps = rate
                sender.stage = stage
        if is_new_round:
            transfer.update_after_psn = max(transfer.update_after_psn, message.next_psn)


def measure(params, qp, sender, packet):
    """Update U from the busiest hop since the last ACK (algorithm 1, lines 1 to 9).

    This follows the order of operations in rdma-hw.cc (UpdateRateHp): hops with the same traffic are often equally
    busy, and then rounding decides whose interval counts.
    """
    most, tau_ns = 0.0, 0.0
    for i in range(min(packet.int_hops, HOPS)):
        elapsed_ns = elapsed_ps(params.unit_multiple, sender.last_time_ps[i], packet.int_time_ps[i]) / 1000
        if elapsed_ns > 0.0:
            link = packet.int_rate_bps[i]
            sent = sent_bytes(params.unit_multiple, sender.last_tx_bytes[i], packet.int_tx_bytes[i])
            queue = min(sender.last_queue_bytes[i], packet.int_queue_bytes[i])
            u = sent * 8 / (elapsed_ns * 1e-9) / link + queue * qp.line_bps / link / sender.bdp_bytes
            if u > most:
                most, tau_ns = u, elapsed_ns
    rtt_ns = sender.rtt_ps / 1000
    tau_ns = min(tau_ns, rtt_ns)
    sender.inflight = (sender.inflight * (rtt_ns - tau_ns) + most * tau_ns) / rtt_ns


def store(sender, packet):
    """Store the records for the next ACK."""
    sender.hops = packet.int_hops
    for i in range(HOPS):
        sender.last_time_ps[i] = packet.int_time_ps[i]
        sender.last_tx_bytes[i] = packet.int_tx_bytes[i]
        sender.last_queue_bytes[i] = packet.int_queue_bytes[i]


def set_rate(sender, rate_bps):
    """Set the rate, and the window that corresponds to it over a base RTT."""
    sender.rate_bps = rate_bps
    sender.window_bytes = max(1, int(rate_bps * sender.rtt_ps / 8e12))
