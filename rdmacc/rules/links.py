"""Transmissions: how long one takes, what it changes at its port, and what the link loses. And the hosts' clocks.

`agenda` knows the scheme's tick and the order of the event under way (`rdmacc.rules.ranks`).
"""

from rdmacc.interface import DATA, MAC, uniform
from rdmacc.rules.ranks import next_order
from rdmacc.units import cut_ps


def put_on_link(port, packet, agenda, now):
    """Begin a packet's transmission: count it, set when it ends and when the packet arrives."""
    wire = packet.wire_bytes
    if agenda.tick_ps:
        end = now + cut_ps(wire, port.rate_bps, agenda.tick_ps)
        packet.order = port.order = next_order(agenda)
    else:
        end = now + int(wire * port.byte_ps + 0.5)
    port.busy_until_ps = end
    port.tx_bytes += wire
    if packet.kind == DATA:
        port.tx_data_packets += 1
    else:
        port.tx_control_packets += 1
    packet.arrival_ps = end + port.delay_ps


def is_busy(agenda, port, now):
    """Return whether a transmission is under way; with a tick, its end may be still to come in this instant."""
    if port.busy_until_ps != now:
        return port.busy_until_ps > now
    return agenda.tick_ps > 0 and port.order > agenda.order_now


def is_lost(port, packet):
    """Draw whether a link with random loss loses a packet."""
    loss = port.loss_data if packet.kind == DATA else port.loss_control
    if loss > 0.0 and packet.priority != MAC:
        port.loss_count += 1
        return uniform(port.loss_key, port.loss_count) < loss
    return False


def end_pause(port, now):
    """Clear all pauses of a port whose link is back."""
    if port.paused:
        port.paused_ps += now - port.paused_since_ps
        port.paused = 0


def read_clock(host, jitter_ps, now):
    host.clock_count += 1
    side = 2.0 * uniform(host.clock_key, host.clock_count) - 1.0
    return now + host.clock_offset_ps + int(side * jitter_ps)
