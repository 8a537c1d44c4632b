"""DCTCP of RDMA simulators: a rate, cut by alpha / 2 once a round trip with marks, raised by a constant otherwise.

Theory: rdma-hw.cc, mode 8, whose rules `Rules` states in bytes; alpha decays by 15/16 each round without marks.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import probes
from rdmacc.protocols.dctcp_hpcc import DctcpHpcc
from rdmacc.state import DATA_CLASS, Message, Port, QueuePair
from rdmacc.units import us
from tests.support import ACK_WIRE, WIRE, check_finished, packet_with, samples, transmission

LINE = 100e9
RAI = 615e6


class Flow:
    """One flow's records, called as an engine calls them."""

    def __init__(self, packets=1000, last_bytes=1000, line=LINE, rtt=0, **changes):
        self.params, self.qp, self.sender = DctcpHpcc(base_rtt_ps=rtt, **changes), QueuePair(), DctcpHpcc.Sender()
        self.qp.line_bps, self.qp.base_rtt_ps = line, us(13)
        self.message, self.transfer = Message(), DctcpHpcc.Transfer()
        self.message.packets, self.message.payload_bytes = packets, 1000
        self.message.size_bytes = (packets - 1) * 1000 + last_bytes
        DctcpHpcc.on_open(self.params, self.qp, self.sender)

    def ack(self, psn, echo=0, next_psn=None):
        if next_psn is not None:
            self.message.next_psn = next_psn
        packet = packet_with(DctcpHpcc.Header)
        packet.psn, packet.ecn_echo = psn, echo
        DctcpHpcc.on_ack(self.params, self.qp, self.sender, self.message, self.transfer, packet)
        return self.sender.current_bps


class Rules:
    """The same in the simulator's terms: byte sequence numbers and a state of two values."""

    def __init__(self, line, g, min_rate):
        self.line, self.g, self.min_rate = line, g, min_rate
        self.rate, self.alpha = line, 1.0
        self.ecn = self.last_update = self.high = self.batch = 0
        self.in_cwr = False

    def ack(self, ack, snd_nxt, echo):
        self.ecn += echo
        new_batch = ack > self.last_update
        if new_batch:
            if self.last_update == 0:
                self.batch = snd_nxt // 1000 + 1
            else:
                self.alpha = (1 - self.g) * self.alpha + self.g * min(1.0, self.ecn / self.batch)
                self.ecn = 0
                self.batch = (snd_nxt - ack) // 1000 + 1
            self.last_update = snd_nxt
        if self.in_cwr and ack > self.high:
            self.in_cwr = False
        if echo and not self.in_cwr:
            self.rate = max(self.min_rate, self.rate * (1 - self.alpha / 2))
            self.in_cwr, self.high = True, snd_nxt
        if not self.in_cwr and new_batch:
            self.rate = min(self.line, self.rate + RAI)


def test_starts_at_line_rate_with_a_window_of_one_bandwidth_delay_product():
    flow = Flow()
    assert (flow.sender.current_bps, flow.sender.window_bytes, flow.sender.alpha) == (LINE, 162_500, 1.0)
    assert Flow(rtt="4160ns").sender.window_bytes == 52_000


def test_the_increase_is_the_same_at_any_line_rate():
    """615 Mb/s each round trip without marks, whatever the line."""
    for line in (10e9, 100e9):
        flow = Flow(line=line)
        flow.ack(1, 1, next_psn=10)
        assert flow.ack(11, next_psn=20) == line / 2 + RAI
        assert flow.ack(15, next_psn=25) == line / 2 + RAI
        assert flow.ack(21, next_psn=30) == line / 2 + 2 * RAI


@given(
    steps=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 8), st.booleans()), max_size=150),
    last_bytes=st.sampled_from([1, 999, 1000]),
    line=st.sampled_from([10e9, 100e9]),
    g=st.sampled_from([1 / 16, 1 / 256]),
)
def test_any_sequence_of_acks_follows_the_rules(steps, last_bytes, line, g):
    """Random ACKs, marks and packets sent: rate and alpha are those of the simulator's rules, bit by bit."""
    flow = Flow(packets=300, last_bytes=last_bytes, line=line, g=g)
    rules = Rules(line, g, 1e9)
    una = sent = 0
    for acked, more, echo in steps:
        sent = min(300, sent + more)
        una = min(sent, una + acked)
        flow.ack(una, int(echo), next_psn=sent)
        in_bytes = [flow.message.size_bytes if psn == 300 else psn * 1000 for psn in (una, sent)]
        rules.ack(*in_bytes, int(echo))
        assert (flow.sender.current_bps, flow.sender.alpha) == (rules.rate, rules.alpha)
        assert flow.transfer.reduced == rules.in_cwr


@pytest.mark.parametrize(("rate", "kmin"), [("10Gbps", 30_000), ("25Gbps", 75_000), ("100Gbps", 300_000)])
def test_the_threshold_scales_with_the_link(rate, kmin):
    """30 kB for each 10 Gb/s, one step, at dequeue; ACKs share the data's class."""
    scheme = rdmacc.scheme("dctcp-hpcc")
    step = scheme.switch[0]
    port, egress = Port(), step.Egress()
    port.rate_bps = rdmacc.units.rate_bps(rate)
    step.on_port(step, port, egress)
    assert (egress.kmin_bytes, egress.kmax_bytes) == (kmin, kmin)
    assert step.at_dequeue
    assert scheme.ack_priority == DATA_CLASS


# In the simulator


def test_the_first_cut_at_the_computed_time(engine):
    """Every packet that leaves others behind is marked: of two senders' packets the second one, then all."""
    scheme = rdmacc.scheme("dctcp-hpcc", kmin_bytes=0)
    work = rdmacc.long_flows([("h1", "h0"), ("h2", "h0")], "1MB")
    result = rdmacc.simulate(
        rdmacc.star(3),
        work,
        scheme,
        engine=engine,
        until="20us",
        probes=[probes.field("flow", i, "DctcpHpcc.current_bps") for i in (0, 1)],
    )
    t, t_ack, d = transmission(WIRE, LINE), transmission(ACK_WIRE, LINE), us(1)
    heard = t + d + 2 * t + d + 2 * (t_ack + d)  # h2's packet waits for h1's
    for flow, at in ((1, heard), (0, heard + t)):
        cut = next(sample for sample in samples(result, f"DctcpHpcc.current_bps {flow}") if sample[1] < LINE)
        assert cut == (at, LINE / 2)


def test_the_window_holds_back_the_second_round_trip(engine):
    """A window of 10 packets: the eleventh leaves when the first is acknowledged."""
    scheme = rdmacc.scheme("dctcp-hpcc", base_rtt_ps="800ns")
    work = rdmacc.messages([("h0", "h1", 11_000)])
    result = rdmacc.simulate(rdmacc.star(2), work, scheme, engine=engine)
    check_finished(result)
    t, t_ack, d = transmission(WIRE, LINE), transmission(ACK_WIRE, LINE), us(1)
    round_trip = 2 * (t + d) + 2 * (t_ack + d)
    assert result.flows["fct_ps"][0] == round_trip + 2 * (t + d)


def long_run(engine, flows, since, until):
    """Return goodput on the wire by flow, and the bottleneck's queue, both between the two times."""
    work = rdmacc.long_flows([(f"h{i + 1}", "h0") for i in range(flows)], "1GB")
    watch = [probes.queue("s0", "h0", "1us")]
    simulation = rdmacc.Simulation(rdmacc.star(flows + 1), work, "dctcp-hpcc", engine=engine, probes=watch)
    before = simulation.run(us(since)).outcome.messages["received_packets"]
    result = simulation.run(us(until))
    goodput = (result.outcome.messages["received_packets"] - before) * WIRE * 8e6 / (until - since)
    queue = result.probes.loc[result.probes["time_ps"] > us(since), "value"]
    return goodput, queue, result


def test_two_flows_are_held_by_their_windows_alone(engine):
    """Two windows of one bandwidth-delay product queue one of them, far below the threshold: no marks, no cuts."""
    goodput, queue, result = long_run(engine, 2, 100, 300)
    assert goodput == pytest.approx(LINE / 2, rel=0.005)
    assert result.counters.marked_arrivals == 0
    bdp = LINE * result.plan.qp_base_rtt_ps[0] / 8e12
    packets = -(-int(bdp) // 1000)  # a packet may leave as long as less than the window is under way
    assert queue.mean() == pytest.approx(2 * packets * WIRE - bdp, rel=0.01)


def test_ten_flows_share_the_link_at_the_threshold(engine):
    """Their windows would queue more: marks hold the queue at 300 kB, the link is full, nothing is paused."""
    goodput, queue, result = long_run(engine, 10, 500, 1000)
    assert goodput.sum() == pytest.approx(LINE, rel=0.005)
    assert goodput == pytest.approx(LINE / 10, rel=0.2)
    assert result.counters.marked_arrivals > 0
    assert 0.7 * 300_000 < queue.min() < 300_000 < queue.max() < 1.1 * 300_000
    assert result.ports["pauses"].sum() == 0
