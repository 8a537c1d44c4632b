"""Lab 5: a scheme that reads the longest queue of its path from a header."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class QueueHint(Component):
    """Keep the longest queue on the way at a target."""

    target_bytes: int = param("30kB", "queue to aim at", low=1)
    gain: float = param(0.02, "largest cut for one ACK, as a share of the rate", low=0.0, high=1.0)
    step_bps: float = param("20Mbps", "increase for one ACK")

    class Sender(Record):
        rate_bps = Float()  # the engine sends no faster than this,
        window_bytes = Int()  # and has no more than this in flight

    class Header(Record):
        hint_bytes = Int()  # travels with every packet

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps
        sender.window_bytes = int(qp.line_bps * qp.base_rtt_ps / 8e12)

    def on_dequeue(port, packet):
        if port.link_class != HOST_NIC:
            packet.hint_bytes = max(packet.hint_bytes, port.queue_bytes)

    def on_data(packet, reply):
        reply.hint_bytes = packet.hint_bytes

    def on_ack(params, qp, sender, packet):
        excess = packet.hint_bytes / params.target_bytes - 1.0
        rate = sender.rate_bps
        if excess > 0.0:
            rate -= params.gain * min(excess, 1.0) * rate
        sender.rate_bps = min(max(rate + params.step_bps, 1e-3 * qp.line_bps), qp.line_bps)
        sender.window_bytes = int(sender.rate_bps * qp.base_rtt_ps / 8e12)


mine = Scheme(name="mine", control=(QueueHint(),))

# To discuss 2: each window starts with a bandwidth-delay product, so an incast of many short messages still fills the
# queue; and a queue of one round trip ago says little about an incast that lasts no longer.
# To discuss 3: a header field, and switches that write their queue into it, as for in-band telemetry.
