"""InfiniBand's congestion control: the table, the index, its timer; recovery in the simulator at computed times.

Theory: line / (1 + multiplier / 2^shift); the index is BECNs times the increase less the ticks.
"""

import pytest

import rdmacc
from rdmacc import probes
from rdmacc.interface import CNP, NEVER, NONE, Packet, QueuePair
from rdmacc.protocols.infiniband_cc import InfinibandCc
from rdmacc.units import us
from tests.support import WIRE, check_finished, plain, samples, transmission

LINE = 40e9
TIMER = 150 * 1_024_000
"""The timer's 150 units of 1.024 us, in ps."""


def make(**changes):
    params, qp, sender = plain(InfinibandCc(**changes)), QueuePair(), InfinibandCc.Sender()
    qp.line_bps = LINE
    InfinibandCc.on_open(params, qp, sender)
    return params, qp, sender


def rate_at(index, **changes):
    """Return the rate at an index, reached by that many BECNs."""
    params, qp, sender = make(**changes)
    for _ in range(index):
        InfinibandCc.on_cnp(params, qp, sender, 0)
    return sender.rate_bps


@pytest.mark.parametrize(("multiplier", "shift", "share"), [(1, 0, 0.5), (3, 0, 0.25), (7, 0, 0.125), (8, 3, 0.5)])
def test_the_rate_of_a_multiplier(multiplier, shift, share):
    """With a linear table of step 1 the multiplier is the index."""
    assert rate_at(multiplier, table_step=1.0, is_quadratic=False, shift=shift) == share * LINE


@pytest.mark.parametrize(("index", "multiplier"), [(0, 0), (16, 0), (17, 1), (95, 32), (127, 57)])
def test_the_quadratic_table(index, multiplier):
    """The first 17 entries do nothing: 7 i^2 / 95^2 / 0.218, rounded down."""
    assert rate_at(index) == LINE / (1 + multiplier)


def test_the_index_is_becns_minus_ticks():
    """b inc - k, and the timer runs until the index reaches its minimum."""
    params, qp, sender = make(increase=3)
    for _ in range(10):
        InfinibandCc.on_cnp(params, qp, sender, us(7))
    assert sender.index == 30
    assert sender.step_timer_ps == us(7) + TIMER
    for k in range(1, 31):
        now, sender.step_timer_ps = sender.step_timer_ps, NEVER
        assert now == us(7) + k * TIMER  # each tick restarts it, BECNs do not
        InfinibandCc.on_step_timer(params, qp, sender, now)
        assert sender.index == 30 - k
    assert sender.step_timer_ps == NEVER
    assert sender.rate_bps == LINE


def test_the_index_stays_within_its_bounds():
    params, qp, sender = make(least=2, limit=4)
    assert sender.index == 2
    for _ in range(9):
        InfinibandCc.on_cnp(params, qp, sender, 0)
    assert sender.index == 4
    for _ in range(9):
        InfinibandCc.on_step_timer(params, qp, sender, 0)
    assert sender.index == 2


def test_each_mark_is_answered():
    for ce, kind in ((0, NONE), (1, CNP)):
        packet, notice = Packet(), Packet()
        packet.ce = ce
        InfinibandCc.on_data(packet, notice)
        assert notice.kind == kind


def test_recovery_is_linear_in_the_index(engine):
    """Each mark becomes a BECN and a step. Without further marks the index falls by one every 153.6 us."""
    work = rdmacc.long_flows([(f"h{i + 1}", "h0") for i in range(4)], "100MB")
    scheme, watch = rdmacc.preset("infiniband-2010")["infiniband-cc"], [probes.field("flow", 0, "InfinibandCc.index")]
    graph = rdmacc.star(5, rate="40Gbps")
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="2ms", probes=watch)
    index = samples(result, "InfinibandCc.index 0")
    assert result.counters.cnps == result.counters.marked_arrivals > 4 * 17
    falls = [(at, value) for (_, last), (at, value) in zip(index, index[1:]) if value < last]
    first_becn = index[1][0]
    assert [at for at, _ in falls] == [first_becn + k * TIMER for k in range(1, len(falls) + 1)]
    assert len(falls) == (us(2000) - first_becn) // TIMER


def test_the_delay_between_packets(engine):
    """A message that starts at index 34 (multiplier 4): its packets start five packet times apart."""
    work = rdmacc.messages([("h0", "h1", 10_000)])
    scheme = rdmacc.scheme("infiniband-cc", least=34)
    result = rdmacc.simulate(rdmacc.star(2, rate="40Gbps"), work, scheme, engine=engine)
    check_finished(result)
    t = transmission(WIRE, LINE)
    assert result.flows["fct_ps"][0] == 9 * 5 * t + 2 * (t + us(1))
