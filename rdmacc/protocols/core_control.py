"""How a receiver's credit follows congestion in the core: uet-htsim's control for oversubscribed networks.

Source: uet-htsim (`oversubscribed_cc.cpp`). Credit divides the receiver's own link, so it does not notice a bottleneck
above the leaves. With this control, each host decides about every 1.5 base RTTs by the packets that arrived since.
Trimmed packets, except those trimmed at the last hop, reduce the rate of its credit by their share. Marks reduce it in
proportion to their excess over a target. Without either it grows; if there are no marks at all, each increase is twice
the one before. `ReceiverCredit` has the parameters.

Assumptions: a host's first interval begins with its first packet, and the last one ends when the rate is 1 and nothing
has arrived. In the simulator intervals span the whole run.
"""

from rdmacc.interface import *

_INTERVAL_RTTS = 1.5
_LEAST_RATE = 0.01
_LEAST_SHARE = 0.9  # lower bound of the rate: this share of the link's rate over the oversubscription
_DRAWS = 1 << 40  # offset of these draws in the stream shared with reply values


class CoreRate(Record):
    """Counts of a host since its last decision."""

    core_timer_ps = Deadline("the next decision")
    core_rate = Float(1.0, doc="credit, as a share of what the link allows")
    marked_share = Float(doc="average share of marked packets")
    arrivals = Int32(doc="data packets, trimmed ones included")
    whole_arrivals = Int32(doc="of them untrimmed")
    marked = Int32(doc="of these marked")
    core_trims = Int32(doc="packets trimmed before the last hop")
    increases = Int32(doc="increases in a row")
    draws_key = Int(doc="random stream: that of the host's first sender")
    draws = Int(doc="random numbers used")


def note_arrival(host, endpoint, qp, packet, now):
    """Count a data packet; start the timer if it is the first one."""
    endpoint.arrivals += 1
    if not packet.is_trimmed:
        endpoint.whole_arrivals += 1
        endpoint.marked += int(packet.ce > 0)
    elif not packet.at_last_hop:
        endpoint.core_trims += 1
    if endpoint.core_timer_ps == NEVER:
        if endpoint.draws == 0:
            endpoint.draws_key = qp.reply_chance_key
        plan_decision(host, endpoint, now)


def plan_decision(host, endpoint, now):
    """Set the timer, at random between 0.75 and 1.25 intervals, so that hosts do not act together."""
    draw = uniform(endpoint.draws_key, _DRAWS + endpoint.draws)
    endpoint.draws += 1
    endpoint.core_timer_ps = now + int(_INTERVAL_RTTS * host.base_rtt_ps * (0.75 + 0.5 * draw))


def decide(params, endpoint):
    """Set the rate by what has arrived since the last decision."""
    share = endpoint.marked / endpoint.whole_arrivals if endpoint.whole_arrivals > 0 else 0.0
    endpoint.marked_share += params.core_gain * (share - endpoint.marked_share)
    rate = endpoint.core_rate
    excess = endpoint.marked_share - params.core_target
    if endpoint.core_trims > 0:
        rate -= endpoint.core_trims / endpoint.arrivals
    if excess > 0.0:
        rate *= 1.0 - params.core_decrease * excess
    if endpoint.core_trims > 0 or excess > 0.0:
        endpoint.increases = 0
    else:
        steps = 1 << min(endpoint.increases, 20) if endpoint.marked == 0 else 1
        rate += params.core_increase * steps
        endpoint.increases += 1
    least = max(_LEAST_RATE, _LEAST_SHARE / params.oversubscription)
    endpoint.core_rate = min(max(rate, least), 1.0)
    endpoint.arrivals = 0
    endpoint.whole_arrivals = 0
    endpoint.marked = 0
    endpoint.core_trims = 0
