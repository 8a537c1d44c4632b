"""REN's marker: budgets on plain records, and a bottleneck in steps of one packet under each reading."""

from collections import deque

import pytest

import rdmacc
from rdmacc.interface import DATA, HOST_NIC, LAST_HOP, NEVER, Port
from rdmacc.switch.ren_marker import FULL, OVER, UNDER, RenMarker
from tests.support import line_rate, packet_with, refused, spokes

WIRE, RATE = 1500, 10e9
TICK = 1_200_000
"""Time of a packet on the link; the RTT is 40 of them."""
RTT = 40 * TICK


class Bench:
    def __init__(self, **options):
        self.part = RenMarker(base_rtt_ps=RTT, **options)
        self.port, self.egress = Port(), RenMarker.Egress()
        self.port.rate_bps, self.port.link_class = RATE, LAST_HOP

    def join(self, now):
        packet = packet_with(RenMarker.Header)
        packet.kind, packet.wire_bytes = DATA, WIRE
        self.part.on_enqueue(self.part, self.port, self.egress, packet, now)
        self.port.queue_bytes += WIRE
        return packet

    def leave(self, packet, now):
        self.port.queue_bytes -= WIRE
        self.part.on_dequeue(self.part, self.port, self.egress, packet, now)
        self.port.tx_bytes += WIRE
        return packet.ren_mark

    def tick(self, now):
        if self.egress.period_timer_ps <= now:
            self.egress.period_timer_ps = NEVER
            self.part.on_period_timer(self.part, self.port, self.egress, now)


def test_a_slice_is_at_least_a_picosecond():
    """A round trip has 16 slices."""
    assert RenMarker(base_rtt_ps=16).base_rtt_ps == 16
    refused(lambda: RenMarker(base_rtt_ps=15), "base_rtt_ps = 15")


def period(bench, joins, leaves):
    """Run one period from time 0; return the marks of the packets that leave in the next."""
    waiting = [bench.join(0) for _ in range(joins)]
    for i in range(leaves):
        bench.leave(waiting.pop(0), i * TICK)
    bench.tick(RTT)
    return [bench.leave(packet, RTT) for packet in waiting]


@pytest.mark.parametrize("reading", ["literal", "outstanding"])
def test_a_queue_beyond_the_idle_time_is_marked_over(reading):
    """50 arrive and 40 leave in an RTT: all of the next 10 are too many."""
    assert period(Bench(reading=reading), 50, 40) == [OVER] * 10


def test_the_queue_is_offset_by_idle_time():
    """20 wait after 30 of 40 have left: 20 - 10 are OVER, the others FULL."""
    assert period(Bench(), 50, 30) == [OVER] * 10 + [FULL] * 10


def test_idle_time_beyond_the_queue_lets_packets_keep_under():
    bench = Bench(reading="literal")
    assert period(bench, 20, 15) == [UNDER] * 5
    assert bench.egress.under == 15  # 25 idle - 5 waiting - 5 used


@pytest.mark.parametrize(("reading", "left"), [("literal", 30), ("outstanding", 20)])
def test_marks_of_the_last_rtt_count_as_outstanding(reading, left):
    """20 idle, 10 of them reported in the second period: it has 30 idle, 10 of which are already on their way."""
    bench = Bench(reading=reading)
    period(bench, 20, 20)
    assert bench.egress.under == 20
    for i in range(10):
        assert bench.leave(bench.join(RTT + i * TICK), RTT + i * TICK) == UNDER
    bench.tick(2 * RTT)
    assert bench.egress.under == left


def test_alternate_budgets_skip_the_period_after_marks():
    """A queue of 50 that marks do not change is marked after every second period."""
    bench, seen = Bench(reading="alternate"), []
    waiting = [bench.join(0) for _ in range(50)]
    for number in range(1, 5):
        for i in range(40):
            bench.leave(waiting.pop(0), (number - 1) * RTT + i * TICK)
            waiting.append(bench.join((number - 1) * RTT + i * TICK))
        bench.tick(number * RTT)
        seen.append(bench.egress.over)
    assert seen == [50, 0, 50, 0]


def test_a_period_without_packets_does_not_count_as_a_sample():
    """A port's first packet has none before it; the first after a silence follows a gap, the next ones do not."""
    bench = Bench()
    assert bench.leave(bench.join(0), 0) == FULL
    bench.tick(RTT)
    bench.tick(2 * RTT)
    burst = [bench.join(9 * RTT) for _ in range(3)]
    assert [bench.leave(packet, 9 * RTT) for packet in burst] == [UNDER, FULL, FULL]


def test_a_switch_only_raises_the_code():
    bench = Bench()
    for before, after in ((UNDER, UNDER), (FULL, FULL), (OVER, OVER)):
        packet = bench.join(0)
        bench.egress.under = 1
        packet.ren_mark = before
        assert bench.leave(packet, 0) == after


def test_hosts_do_not_mark_and_readings_are_checked():
    bench = Bench()
    bench.port.link_class, bench.egress.over = HOST_NIC, 9
    assert bench.leave(bench.join(0), 0) == UNDER
    refused(lambda: RenMarker(reading="other"), "reading")


def bottleneck(reading):
    """Add a burst of one BDP to flows with a BDP in flight; return packets in flight and queue at the end."""
    bench = Bench(reading=reading)
    queue = deque(bench.join(0) for _ in range(40))
    way = deque([1] * 40)  # packets on their way to the port, one step each
    longest = []
    for step in range(30 * 40):
        now = step * TICK
        bench.tick(now)
        for _ in range(way.popleft()):
            queue.append(bench.join(now))
        mark = bench.leave(queue.popleft(), now) if queue else FULL + 2
        way.append({UNDER: 2, FULL: 1, OVER: 0}.get(mark, 0))
        longest.append(len(queue))
    return sum(way), longest


def test_literal_budgets_mark_the_same_queue_twice():
    """REN, 3.2: all flows die at once; outstanding marks drain the queue in a few RTTs, and the link stays full."""
    assert bottleneck("literal")[0] == 0
    for reading in ("outstanding", "packet", "alternate"):
        way, queue = bottleneck(reading)
        assert max(queue[6 * 40 :]) <= 2
        assert way >= 38


def test_marks_reach_the_receiver(engine):
    """Eight at once: the last hop sees too many, and it alone raises codes to OVER."""
    scheme = line_rate().replace(switch=(RenMarker(base_rtt_ps="5us"),))
    work = rdmacc.incast(4, "h0", "50kB", hosts=["h1", "h2", "h3", "h4"])
    watch = rdmacc.probes.field("port", ("s0", "h0"), "over")
    result = rdmacc.simulate(spokes(["10Gbps"] * 5), work, scheme, engine=engine, probes=[watch])
    assert (result.flows["status"] == "finished").all()
    assert result.probes.loc[result.probes["probe"] == watch.name, "value"].max() > 5
