"""By which port a packet leaves a switch, and what trimming leaves of it.

Adaptive routing goes by the queues alone: the packet on the
link does not count. Whose end comes first would decide between empty queues, and flows at line rate would keep to one
port each, as if it were chosen for good.
"""

from rdmacc.interface import ACCEPT, DATA, IN_NETWORK, NEVER, REQUEST, hash63

ECMP, SYMMETRIC, SPRAY_RANDOM, SPRAY_ROUND_ROBIN, SOURCE, ENTROPY, ADAPTIVE = range(7)
"""Places in `rdmacc.switch.queueing.ROUTINGS`."""

ENTROPY_BITS = 16
"""Number of values of a packet's `path`, if a hash of it chooses the route."""

FLOWLETS = 1024
"""Entries of a switch's flowlet table (adaptive routing), indexed by a hash of the message."""

_DEFLECTIONS = 1 << 40  # where a switch's deflections begin in its stream of chance


def modulo(number, count):
    """Return number % count, quickly for powers of two."""
    if count & (count - 1) == 0:
        return number & (count - 1)
    return number % count


def route_key(packet):
    """Return twice the number of a packet's message, and 1 more on the way back."""
    key = packet.message * 2
    if packet.kind != DATA and packet.kind != REQUEST:
        key += 1
    return key


def way_by_packet(routing, switch, packet, key, count):
    """Choose among equal ways by what the packet and the switch's hash say; return its place."""
    if routing == ECMP:
        return modulo(hash63(switch.salt, key), count)
    if routing == SPRAY_RANDOM:
        switch.spray_count += 1
        return modulo(hash63(switch.salt, switch.spray_count - 1), count)
    if routing == SOURCE:
        way = modulo(packet.path, count)
        packet.path //= count
        return way
    if switch.is_nic:  # every link its share of the values
        return modulo(packet.path, count)
    return modulo(hash63(switch.salt, (key << ENTROPY_BITS) + packet.path), count)


def way_by_distance(salt, key, distance, count):
    """Choose the same way at equal distance from the receiver, there and back, and another one at each tier."""
    return modulo(hash63(salt, (key >> 1) * 64 + distance), count)


def way_in_turn(switch, column, turn, count):
    """Choose among the ways towards a host's switch in turn."""
    return modulo(hash63(switch.salt, column) + turn, count)


def flowlet_place(key):
    """Return the place of a message in a switch's table of flowlets."""
    return modulo(hash63(key, 0), FLOWLETS)


def first_in_scan(switch, count):
    """Return the random way at which the search for the shortest queue begins, so that equal queues share the load."""
    switch.spray_count += 1
    return modulo(hash63(switch.salt, switch.spray_count - 1), count)


def wait_ps(port):
    """Return the transmission time of the data in a port's queue; NEVER if its link is down."""
    if port.is_down:
        return NEVER
    return int(port.queue_bytes * port.byte_ps)


def is_deflection_port(port, chosen, in_port):
    """Return whether a packet may be deflected to a port: to a switch, not back and not where it is crowded."""
    return port.link_class == IN_NETWORK and port.number != chosen and port.number != in_port and not port.is_down


def draw_deflection(switch, count):
    """Draw one of the ports that a packet may be deflected to."""
    switch.deflections += 1
    return modulo(hash63(switch.salt, _DEFLECTIONS + switch.deflections - 1), count)


def cut_payload(packet, wire_bytes, cls):
    """Cut a packet's payload off; `wire_bytes` remain, in another class."""
    packet.payload_bytes = 0
    packet.wire_bytes = wire_bytes
    packet.priority = cls
    packet.is_trimmed = 1
    packet.verdict = ACCEPT
