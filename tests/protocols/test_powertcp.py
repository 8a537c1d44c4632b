"""PowerTCP and theta-PowerTCP: power by hand, windows, the simulator's rates; fair shares and short queues."""

import pytest

import rdmacc
from rdmacc.interface import Message, QueuePair
from rdmacc.protocols.powertcp import PowerTcp, measure, open_window, set_window, step
from rdmacc.protocols.theta_powertcp import ThetaPowerTcp
from rdmacc.units import us
from tests.support import packet_with

LINE = 25e9
RTT = us(8)
BDP = 25_000


def sender_of(params):
    qp, sender = QueuePair(), type(params).Sender()
    qp.line_bps, qp.base_rtt_ps = LINE, RTT
    open_window(params, qp, sender)
    return qp, sender


def power_of(sent, queue, last_queue=0, elapsed=RTT, **changes):
    """Return the power after one interval of a base RTT on a link of the line rate."""
    params = PowerTcp(**changes)
    _, sender = sender_of(params)
    packet = packet_with(PowerTcp.Header)
    packet.int_hops, packet.int_rate_bps, packet.int_time_ps = 1, [LINE], [elapsed]
    packet.int_tx_bytes, packet.int_queue_bytes = [sent], [queue]
    sender.last_time_ps, sender.last_tx_bytes, sender.last_queue_bytes = [0], [0], [last_queue]
    measure(params, sender, packet)
    return sender.power


@pytest.mark.parametrize(
    ("sent", "queue", "last_queue", "power"),
    [(BDP, 0, 0, 1.0), (BDP, BDP, BDP, 2.0), (BDP, BDP, 0, 4.0), (BDP // 2, 0, 0, 0.5), (BDP, 0, BDP, 0.0)],
)
def test_power_is_current_times_voltage(sent, queue, last_queue, power):
    """A full link gives 1; a queue of a BDP 2; that queue built up in a round trip 2 x 2."""
    assert power_of(sent, queue, last_queue, least_current=0.0) == pytest.approx(power)


def test_arrivals_count_as_at_least_a_share_of_the_link():
    assert power_of(BDP, 0, BDP) == pytest.approx(0.5)


def test_power_is_averaged_over_a_base_rtt():
    assert power_of(BDP // 2, BDP, BDP, elapsed=RTT // 2) == pytest.approx(0.5 * 1 + 0.5 * 2)


@pytest.mark.parametrize(("power", "rate_gbps"), [(2.0, 13.3225), (1.0, 24.01)])
def test_rates_as_in_the_simulator(power, rate_gbps):
    """0.9 (R / (power / 0.95) + 150 Mb/s) + 0.1 R."""
    params = rdmacc.preset("powertcp-ns3")["powertcp"].control[0]
    qp, sender = sender_of(params)
    sender.window = 0.0  # the reference counts
    set_window(params, qp, sender, step(params, sender, power / params.eta))
    assert sender.rate_bps == pytest.approx(rate_gbps * 1e9)


@pytest.mark.parametrize(("rtts", "rate_gbps"), [(2.0, 16.79), (1.0, 25.0)])
def test_theta_rates_as_in_the_simulator(rtts, rate_gbps):
    """With a flat RTT."""
    params = rdmacc.preset("powertcp-ns3")["theta-powertcp"].control[0]
    qp, sender = sender_of(params)
    message, transfer = Message(), ThetaPowerTcp.Transfer()
    packet = packet_with(ThetaPowerTcp.Header)
    sender.last_rtt_ps, sender.last_ack_ps = int(rtts * RTT), us(100)
    packet.power_sent_ps, now = us(100) + RTT - int(rtts * RTT), us(100) + RTT
    ThetaPowerTcp.on_ack(params, qp, sender, message, transfer, packet, now)
    assert sender.power == pytest.approx(rtts / 1.05)
    assert sender.rate_bps == pytest.approx(rate_gbps * 1e9, rel=1e-3)


def test_two_acks_at_once_have_no_gradient():
    params = ThetaPowerTcp()
    qp, sender = sender_of(params)
    message, transfer, packet = Message(), ThetaPowerTcp.Transfer(), packet_with(ThetaPowerTcp.Header)
    sender.last_ack_ps = us(100)
    ThetaPowerTcp.on_ack(params, qp, sender, message, transfer, packet, us(100))
    assert sender.power == 1.0
    assert sender.last_rtt_ps == us(100)
