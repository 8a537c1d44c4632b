"""What a packet carries, where it goes, and in which class it waits at its host.

`scheme` holds the sizes and classes (`rdmacc.schemes.Scheme`).
"""

from rdmacc.interface import CNP, DATA, DATA_CLASS


def write_data(scheme, packet, qp, message):
    """Make a fresh packet the next one of a message."""
    psn = message.next_psn
    packet.kind = DATA
    packet.priority = message.priority
    packet.message = message.number
    packet.qp = qp.number
    packet.dst = qp.dst
    packet.psn = psn
    payload = scheme.payload_bytes
    if psn == message.packets - 1:
        payload = message.size_bytes - psn * payload
    packet.payload_bytes = payload
    packet.wire_bytes = max(payload + scheme.header_bytes, scheme.least_wire_bytes)


def address_reply(scheme, reply, qp, message):
    """Address a reply to the sender of a message, at its kind's size if no handler has set another."""
    reply.message = message.number
    reply.qp = qp.number
    reply.dst = qp.src
    reply.payload_bytes = 0
    if reply.wire_bytes == 0:
        reply.wire_bytes = scheme.cnp_bytes if reply.kind == CNP else scheme.ack_bytes


def address_request(scheme, request, qp, message):
    """Address a request to the receiver of a message, at an ACK's size if no handler has set another."""
    request.message = message.number
    request.qp = qp.number
    request.dst = qp.dst
    request.payload_bytes = 0
    if request.wire_bytes == 0:
        request.wire_bytes = scheme.ack_bytes


def reply_class(scheme, reply):
    """Return a reply's priority class at its own NIC, where ACKs may have a class of their own."""
    is_other = reply.priority == scheme.ack_priority and scheme.nic_ack_priority >= 0
    return scheme.nic_ack_priority if is_other else reply.priority


def request_class(request, message):
    """Return the class in which a request behind a data packet waits: one of a data class, in that of its message."""
    return request.priority if request.priority < DATA_CLASS else message.priority
