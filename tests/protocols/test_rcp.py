"""RCP's sender: it follows the stamped rate; rates converge; the times of short messages.

Theory: the fixed point is C / N; a lone message takes a round trip for its first packet, then runs at the link's rate.
"""

import pytest

import rdmacc
from rdmacc.interface import NEVER, REQUEST, Message, QueuePair
from rdmacc.protocols.rcp import Rcp
from rdmacc.switch.rcp_stamp import RcpStamp
from rdmacc.units import us
from tests.support import ACK_WIRE, WIRE, check_finished, packet_with, transmission

C = 10e9


def make():
    qp, sender, message = QueuePair(), Rcp.Sender(), Message()
    qp.line_bps, message.packets = C, 50
    message.granted_psn = 50
    Rcp.on_open(qp, sender)
    Rcp.on_start(message)
    return qp, sender, message


def test_the_first_packet_asks_for_the_rate():
    qp, sender, message = make()
    assert message.granted_psn == 1
    packet = packet_with(RcpStamp.Header, Rcp.Header)
    Rcp.on_send(sender, packet, us(3))
    assert (packet.rcp_rtt_ps, packet.rcp_sent_ps) == (0, us(3))
    reply = packet_with(RcpStamp.Header, Rcp.Header)
    Rcp.on_data(packet, reply)
    reply.rcp_bps = 3e9
    Rcp.on_ack(Rcp(), qp, sender, message, reply, us(20))
    assert (sender.rate_bps, sender.rtt_ps, message.granted_psn) == (3e9, us(17), 50)
    Rcp.on_send(sender, packet, us(21))
    assert packet.rcp_rtt_ps == us(17)


def test_the_rate_is_the_latest_stamp_up_to_the_line():
    qp, sender, message = make()
    for stamped, rate in ((3e9, 3e9), (9e9, 9e9), (1e7, 1e7), (40e9, C), (-1.0, C)):
        ack = packet_with(RcpStamp.Header, Rcp.Header)
        ack.rcp_bps = stamped
        Rcp.on_ack(Rcp(), qp, sender, message, ack, us(20))
        assert sender.rate_bps == rate


@pytest.mark.parametrize(("stamped", "is_armed"), [(1e9, False), (0.4e9, True)])
def test_probes_are_sent_while_packets_are_over_a_round_trip_apart(stamped, is_armed):
    """1,048 B take 20.96 us at 0.4 Gb/s and 8.4 us at 1 Gb/s; the round trip is 17 us."""
    qp, sender, message = make()
    packet = packet_with(RcpStamp.Header, Rcp.Header)
    packet.wire_bytes = WIRE
    Rcp.on_send(sender, packet, us(3))
    ack = packet_with(RcpStamp.Header, Rcp.Header)
    ack.rcp_bps, ack.rcp_sent_ps = stamped, us(3)
    Rcp.on_ack(Rcp(), qp, sender, message, ack, us(20))
    assert sender.probe_timer_ps == (us(37) if is_armed else NEVER)
    request = packet_with(RcpStamp.Header, Rcp.Header)
    sender.probe_timer_ps = NEVER
    Rcp.on_probe_timer(Rcp(), sender, request, us(37))
    assert (request.kind == REQUEST) == is_armed
    assert sender.probe_timer_ps == (us(54) if is_armed else NEVER)
    if is_armed:
        assert (request.rcp_rtt_ps, request.rcp_sent_ps) == (us(17), us(37))
    message.next_psn = message.packets
    Rcp.on_ack(Rcp(), qp, sender, message, ack, us(60))
    assert sender.probe_timer_ps == NEVER


def test_probes_find_the_rate_after_a_crowd(engine):
    """100 flows join at once: the rate falls to one packet in many round trips; probes notice when it rises."""
    work = rdmacc.incast([f"h{i + 1}" for i in range(100)], "h0", "10kB")
    graph = rdmacc.star(101, rate="10Gbps", delay="5us")
    last = {}
    for rtts in (0.0, 1.0):
        result = rdmacc.simulate(graph, work, rdmacc.scheme("rcp", probe_rtts=rtts), engine=engine)
        check_finished(result)
        assert (result.counters.requests > 0) == (rtts > 0)
        last[rtts] = result.flows["fct_ps"].max()
    assert last[1.0] < 0.9 * last[0.0]


def test_a_lone_message(engine):
    """One round trip to learn the rate, here the whole link's, then the rest back to back."""
    packets = 15
    scheme = rdmacc.scheme("rcp", initial_fraction=1.0)
    work = rdmacc.messages([("h0", "h1", packets * 1000)])
    result = rdmacc.simulate(rdmacc.star(2, rate="10Gbps", delay="5us"), work, scheme, engine=engine)
    check_finished(result)
    t, t_ack, d = transmission(WIRE, C), transmission(ACK_WIRE, C), us(5)
    round_trip = 2 * (t + d) + 2 * (t_ack + d)
    assert result.flows["fct_ps"][0] == round_trip + (packets - 2) * t + 2 * (t + d)
    least = 1.5 * (4 * d) + packets * t  # 1.5 RTT + L / C
    assert result.flows["fct_ps"][0] == pytest.approx(least, rel=0.1)
