"""Anti-ECN: a mark that survives only if every link on the path had room for one more packet.

Source: Hu et al., "AMRT: Anti-ECN marking to improve utilization of receiver-driven transmission in data center", ICPP
2020, from the description in REN (IEEE TCC 2021, section 7), the only source available; there is no public code.

The sender sets the bit. A port clears it unless the link was idle for at least the time of a full packet since the last
data packet left. The receiver copies it into its grant.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class AntiEcn(Component):
    """Clear the bit of packets that closely follow the previous one."""

    mss_bytes: Size = param("1500B", "packet whose transmission time is the minimum gap", source="AMRT", low=1)

    class Egress(Record):
        end_ps = Int(doc="end of the last data packet's transmission")

    class Header(Record):
        has_room = Byte(1, doc="1 until a port on the path clears it")

    def on_dequeue(params, port, egress, packet, now):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            byte_ps = 8e12 / port.rate_bps
            if now - egress.end_ps < int(params.mss_bytes * byte_ps):
                packet.has_room = 0
            egress.end_ps = now + int(packet.wire_bytes * byte_ps)

    def on_data(packet, reply):
        reply.has_room = packet.has_room
