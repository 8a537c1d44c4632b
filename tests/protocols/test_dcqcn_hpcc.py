"""DCQCN as in the HPCC simulator: a bit in the ACK, three periodic timers, no byte counter.

Theory: its rdma-hw.cc. The first notification starts the alpha timer and, 1 ns later than a period, the decrease
check; later ones only set two flags. A decrease lowers the target only if the rate has been increased since the last
one (or with clamp_target). Increases: stage < F recovery, = F additive, > F hyper.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import probes
from rdmacc.interface import NEVER, UNLIMITED, QueuePair
from rdmacc.protocols.dcqcn_hpcc import DcqcnHpcc
from rdmacc.units import ns, us
from tests.support import WIRE, packet_with, samples, transmission

LINE = 100e9


def header_packet(cnp_bit):
    packet = packet_with(DcqcnHpcc.Header)
    packet.cnp_bit = cnp_bit
    return packet


def make(line=LINE, **changes):
    params, qp, sender = DcqcnHpcc(**changes), QueuePair(), DcqcnHpcc.Sender()
    qp.line_bps = line
    DcqcnHpcc.on_open(params, qp, sender)
    return params, qp, sender


def notify(params, sender, now, bit=1):
    DcqcnHpcc.on_ack(params, sender, header_packet(bit), now)


def test_the_bit_is_the_mark_of_the_packet():
    for ce in (0, 1):
        packet, reply = header_packet(0), header_packet(0)
        packet.ce = ce
        DcqcnHpcc.on_data(packet, reply)
        assert reply.cnp_bit == ce


def test_the_first_notification_starts_the_timers_and_cuts_later():
    """The decrease check cuts the rate, one period and 1 ns later."""
    params, _, sender = make()
    notify(params, sender, us(10))
    assert sender.current_bps == LINE
    assert (sender.alpha, sender.alpha_flag, sender.decrease_flag) == (1.0, 0, 1)
    assert (sender.alpha_timer_ps, sender.decrease_timer_ps) == (us(11), us(14) + ns(1))
    assert sender.increase_timer_ps == NEVER
    notify(params, sender, us(12))  # a later one does not move them
    assert (sender.alpha_timer_ps, sender.decrease_timer_ps) == (us(11), us(14) + ns(1))
    assert sender.alpha_flag == 1


def test_alpha_follows_its_flag():
    params, _, sender = make()
    notify(params, sender, 0)
    DcqcnHpcc.on_alpha_timer(params, sender, us(1))
    assert sender.alpha == 1.0 - params.g
    notify(params, sender, us(1))
    DcqcnHpcc.on_alpha_timer(params, sender, us(2))
    assert sender.alpha == (1.0 - params.g) ** 2 + params.g
    assert (sender.alpha_flag, sender.alpha_timer_ps) == (0, us(3))


def test_consecutive_cuts_keep_the_target():
    """Without clamp_target the target stays at the rate before the burst; with it each cut lowers the target."""
    for clamp, target in ((False, LINE), (True, LINE / 2)):
        params, qp, sender = make(clamp_target=clamp)
        for now in (4, 8):
            notify(params, sender, us(now - 1))
            DcqcnHpcc.on_decrease_timer(params, qp, sender, us(now))
        assert sender.current_bps == LINE / 4
        assert sender.target_bps == target
        assert sender.increase_timer_ps == us(8) + us(300)


def test_a_cut_after_an_increase_lowers_the_target():
    """Without another notification there is no cut."""
    params, qp, sender = make()
    notify(params, sender, 0)
    DcqcnHpcc.on_decrease_timer(params, qp, sender, us(4))
    DcqcnHpcc.on_decrease_timer(params, qp, sender, us(8))
    assert (sender.current_bps, sender.increase_timer_ps, sender.decrease_timer_ps) == (LINE / 2, us(304), us(12))
    DcqcnHpcc.on_increase_timer(params, qp, sender, us(304))
    assert (sender.current_bps, sender.stage) == (0.75 * LINE, 1)
    notify(params, sender, us(305))
    DcqcnHpcc.on_decrease_timer(params, qp, sender, us(308))
    assert (sender.target_bps, sender.current_bps, sender.stage) == (0.75 * LINE, 0.375 * LINE, 0)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_the_three_stages(steps):
    """F recovery events, one additive increase, then hyper ones without a multiplier; 5 and 50 Mb/s per 25 Gb/s."""
    params, qp, sender = make(fast_recovery_steps=steps)
    sender.current_bps = sender.target_bps = 10e9
    targets = []
    for i in range(steps + 4):
        DcqcnHpcc.on_increase_timer(params, qp, sender, us(300) * i)
        targets.append(sender.target_bps)
    assert targets == [10e9] * steps + [10e9 + 20e6 + i * 200e6 for i in range(4)]


@given(st.lists(st.sampled_from(["bit", "no bit", "alpha", "decrease", "increase"]), max_size=80))
def test_invariants_of_any_sequence(events):
    params, qp, sender = make(25e9)
    for now, event in enumerate(events):
        before = sender.current_bps
        if event in ("bit", "no bit"):
            notify(params, sender, now, bit=int(event == "bit"))
            assert sender.current_bps == before
        elif sender.is_notified:
            {
                "alpha": lambda: DcqcnHpcc.on_alpha_timer(params, sender, now),
                "decrease": lambda: DcqcnHpcc.on_decrease_timer(params, qp, sender, now),
                "increase": lambda: DcqcnHpcc.on_increase_timer(params, qp, sender, now),
            }[event]()
        if event != "decrease":
            assert sender.current_bps >= before or event != "increase"
        assert params.min_rate_bps <= sender.current_bps <= sender.target_bps <= 25e9
        assert 0.0 < sender.alpha <= 1.0
        assert (sender.decrease_timer_ps < NEVER) == bool(sender.is_notified)


def test_there_are_no_cnps_and_the_first_cut_is_on_time(engine):
    """Two to one: the first marked packet's ACK starts the decrease check, which halves the rate 4.001 us later."""
    scheme = rdmacc.scheme("dcqcn-hpcc").replace(kmin_bytes=WIRE, kmax_bytes=WIRE)
    work = rdmacc.long_flows([("h1", "h0"), ("h2", "h0")], "2MB")
    watch = [
        probes.field("flow", 1, "DcqcnHpcc.is_notified"),
        probes.field("flow", 1, "DcqcnHpcc.current_bps"),
        probes.field("flow", 1, "DcqcnHpcc.alpha"),
    ]
    graph = rdmacc.star(3, rate="25Gbps")
    result = rdmacc.simulate(graph, work, scheme, engine=engine, until="100us", probes=watch)
    assert result.counters.cnps == 0
    assert result.counters.marked_arrivals > 0
    notified = next(at for at, value in samples(result, "DcqcnHpcc.is_notified 1") if value == 1)
    cut_at, rate = next((at, value) for at, value in samples(result, "DcqcnHpcc.current_bps 1") if value < 25e9)
    assert cut_at == notified + us(4) + ns(1)
    alpha = [value for at, value in samples(result, "DcqcnHpcc.alpha 1") if at <= cut_at][-1]
    assert rate == 25e9 * (1 - alpha / 2)
    assert notified > 2 * (transmission(WIRE, 25e9) + us(1))


def test_the_window_is_proportional_to_the_rate():
    """HAS_WIN and VAR_WIN: a base RTT at the current rate; without them, no window."""
    params, qp, sender = make(has_window=True, base_rtt_ps="4160ns")
    assert sender.window_bytes == 52_000
    notify(params, sender, 0)
    DcqcnHpcc.on_decrease_timer(params, qp, sender, us(4))
    assert sender.window_bytes == 26_000
    assert make()[2].window_bytes == UNLIMITED
