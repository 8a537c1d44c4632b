"""PowerTCP: a window from the power of a link, its arrival rate times what is in flight on it.

Sources: Addanki, Michel, Schmid, "PowerTCP: Pushing the performance limits of datacenter networks", NSDI 2022,
algorithm 1; ns3-datacenter (`rdma-hw.cc`, `UpdateRatePower`), whose rate-based form is R = W / T. Switches stamp every
data packet (`IntStamp`); each ACK carries the records back.

At a link of capacity C, current is the arrival rate, dq/dt + dtx/dt, and voltage is q + C T. Power over C^2 T is 1 for
a full link without a queue, and 2 if twice as much arrives or if a bandwidth-delay product is queued. The largest power
over the path, averaged over T, divides the window that was in use one round trip ago. There is nothing else: no target,
no stages.

Assumptions: an arrival rate counts as at least half of the link, as in ns3-datacenter (`least_current`). The text has
no bound; without one, power falls towards 0 while a queue drains, windows jump to their maximum, and two flows on one
link swing between an empty queue and one of a BDP every 13 us, which leaves part of the link unused. The first ACK is
only stored; ns3-datacenter compares it with a record of zeros.
"""

from rdmacc.interface import *
from rdmacc.protocols.hpcc import store
from rdmacc.switch.int_stamp import HOPS, IntStamp, elapsed_ps, sent_bytes


@dataclass(frozen=True, kw_only=True)
class PowerWindow(Component):
    """A window from power, as PowerTCP and theta-PowerTCP set it."""

    gamma: float = param(0.9, "weight of the new window", symbol="gamma", source="section 3.4", low=0.01, high=1.0)
    additive_share: float = param(
        0.006, "additive step, as a share of C T", symbol="beta", source="rdma-hw.cc: 150 Mb/s at 25 Gb/s", low=0.0
    )
    from_reference: bool = param(
        False, "the remaining weight is on the window of a round trip ago, not on the current one",
        source="rdma-hw.cc, UpdateRatePower",
    )  # fmt: skip
    base_rtt_ps: OptionalTime = param(
        None, "base RTT of all queue pairs; 0: each uses its own", unit="ps", symbol="tau", source="algorithm 1"
    )
    min_rate_bps: Rate = param("100Mbps", "lowest rate", source="ns3-datacenter: MIN_RATE", low=1.0)

    class Sender(Record):
        rate_bps = Float(doc="W / T, at most the line rate")
        window_bytes = Int(doc="W in whole bytes")
        window = Float(doc="W, bytes")
        old_window = Float(doc="W_old, bytes, changes once a round trip")
        power = Float(1.0, doc="average power, over C^2 T")
        rtt_ps = Float(doc="T")
        bdp_bytes = Float(doc="C T")

    class Transfer(Record):
        """Round trips of a message, counted by packet numbers."""

        update_after_psn = Int32(doc="an ACK above it ends the round trip; 0 before the first")

    def on_open(params, qp, sender):
        open_window(params, qp, sender)


@dataclass(frozen=True, kw_only=True)
class PowerTcp(PowerWindow, IntStamp):
    """The switches' telemetry, and the sender's window."""

    eta: float = param(
        1.0, "power at equilibrium", symbol="eta", source="section 3.3; rdma-hw.cc: 0.95", low=0.01, high=1.0
    )
    least_current: float = param(
        0.5, "lower bound of the arrival rate, as a share of the link", source="rdma-hw.cc", low=0.0, high=1.0
    )

    class Sender(PowerWindow.Sender):
        hops = Byte(doc="records of the last ACK")
        last_time_ps = Ints(HOPS)
        last_tx_bytes = Ints(HOPS)
        last_queue_bytes = Ints(HOPS)

    def on_ack(params, qp, sender, message, transfer, packet):
        if sender.hops == packet.int_hops and packet.int_hops > 0:
            measure(params, sender, packet)
            set_window(params, qp, sender, step(params, sender, sender.power / params.eta))
        store(sender, packet)
        note_round(sender, message, transfer, packet)


def open_window(params, qp, sender):
    """Start at line rate with a window of C T."""
    sender.rtt_ps = float(params.base_rtt_ps if params.base_rtt_ps > 0 else qp.base_rtt_ps)
    sender.bdp_bytes = qp.line_bps * sender.rtt_ps / 8e12
    sender.old_window = sender.bdp_bytes
    set_window(params, qp, sender, sender.bdp_bytes)


def measure(params, sender, packet):
    """Update the power: the largest on the path since the last ACK (algorithm 1, normPower)."""
    most, interval_ps = -1.0, 0.0
    for i in range(min(packet.int_hops, HOPS)):
        elapsed = elapsed_ps(params.unit_multiple, sender.last_time_ps[i], packet.int_time_ps[i])
        if elapsed > 0:
            link = packet.int_rate_bps[i] / 8e12  # bytes per ps
            sent = sent_bytes(params.unit_multiple, sender.last_tx_bytes[i], packet.int_tx_bytes[i])
            arrived = sent + packet.int_queue_bytes[i] - sender.last_queue_bytes[i]
            current = max(arrived / elapsed, params.least_current * link)
            power = current * (packet.int_queue_bytes[i] + link * sender.rtt_ps) / (link * link * sender.rtt_ps)
            if power > most:
                most, interval_ps = power, float(elapsed)
    smooth(sender, max(most, 0.0), interval_ps)


def smooth(sender, power, interval_ps):
    """Average the power over a base RTT."""
    interval = min(interval_ps, sender.rtt_ps)
    sender.power = (sender.power * (sender.rtt_ps - interval) + power * interval) / sender.rtt_ps


def step(params, sender, power):
    """Return the new window in bytes."""
    rest = sender.old_window if params.from_reference else sender.window
    target = sender.old_window / max(power, 1e-6) + params.additive_share * sender.bdp_bytes
    return params.gamma * target + (1.0 - params.gamma) * rest


def set_window(params, qp, sender, window):
    """Set the window, at most C T plus one additive step, and the pacing rate."""
    least = params.min_rate_bps * sender.rtt_ps / 8e12
    sender.window = min(max(window, least), sender.bdp_bytes * (1.0 + params.additive_share))
    sender.window_bytes = max(1, int(sender.window))
    sender.rate_bps = min(sender.window * 8e12 / sender.rtt_ps, qp.line_bps)


def note_round(sender, message, transfer, packet):
    """Once a round trip, save the window as the reference of the next ACKs; return whether a round trip has ended."""
    is_new = packet.psn > transfer.update_after_psn
    if is_new:
        sender.old_window = sender.window
        transfer.update_after_psn = max(transfer.update_after_psn, message.next_psn)
    return is_new
