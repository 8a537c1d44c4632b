"""NDP: handlers on plain records, and the properties given by its paper and simulators, on both engines.

Theory (Handley et al., SIGCOMM 2017): while headers and data both wait, ten 64 B headers go for each data packet. A
header queue of 8 x 9 KB holds 1125 headers. A burst loses only payloads, each sent again once. Pulls are spaced like
full packets on the receiver's link, and go to the messages in turn.
"""

import numpy as np
import pytest

import rdmacc
from rdmacc import preset
from rdmacc.interface import ACCEPT, ACK, CREDIT, DATA, LAST_HOP, NAK, RETURN, Host, Port, QueuePair, make_bits
from rdmacc.protocols.ndp import Ndp, is_bad_path
from rdmacc.protocols.permuted_paths import ScoredPaths, permute
from rdmacc.switch.trimming import PayloadTrimming
from rdmacc.units import ms, us
from tests.support import Sender, call, check_finished, make_message, packet_with, plain, transmission

NDP = preset("ndp-2017")["ndp"]
HTSIM = preset("ndp-htsim")
HOSTS = [f"h{i}" for i in range(1, 65)]


def run(engine, topology, work, scheme=NDP, **options):
    return rdmacc.simulate(topology, work, scheme, engine=engine, trace=True, progress=False, **options)


def sent(result, kind, node, peer=None):
    """Return the trace's rows of packets of a kind that a node sent."""
    rows = result.packet_trace
    rows = rows[(rows["what"] == "sent") & (rows["kind"] == kind) & (rows["node"] == node)]
    return rows if peer is None else rows[rows["peer"] == peer]


def packets(count, scheme=NDP):
    """Return the size of a message of `packets` full packets."""
    return f"{count * scheme.payload_bytes}B"


def sender_of(count, window, now=0):
    """Return a sender that has sent its first window."""
    sender = Sender(count, recovery=Ndp, initial_window=window)
    assert sender.burst(now) == list(range(window))
    return sender


def test_a_first_window_then_one_packet_per_pull():
    sender = sender_of(20, 4)
    sender.hear(ACK, 0, cumulative_psn=1)
    assert sender.burst() == []
    sender.hear(CREDIT, pull_number=1)
    assert sender.burst() == [4]
    sender.hear(ACK, 1, pull_number=2, cumulative_psn=2)  # a pull in an ACK
    assert sender.burst() == [5]


def test_a_pull_that_overtakes_its_nack_is_kept_for_it():
    """The first pull arrives early, when nothing waits: one NACK uses it, the next one waits for a pull."""
    sender = sender_of(4, 4)
    sender.hear(ACK, 0, cumulative_psn=1)
    sender.hear(CREDIT, pull_number=1)
    assert sender.burst() == []
    sender.hear(NAK, 1)
    assert sender.burst() == [1]
    sender.hear(NAK, 2)
    assert sender.burst() == []
    sender.hear(CREDIT, pull_number=2)
    assert sender.burst() == [2]


def test_pulls_are_cumulative():
    sender = sender_of(20, 2)
    sender.hear(CREDIT, pull_number=3)
    assert sender.burst() == [2, 3, 4]
    for late in (1, 2, 3):
        sender.hear(CREDIT, pull_number=late)
    assert sender.burst() == []


def test_trimmed_packets_go_before_new_ones():
    sender = sender_of(20, 4)
    sender.hear(NAK, 2)
    sender.hear(NAK, 1)
    assert sender.burst() == []
    for number, psn in ((1, 1), (2, 2), (3, 4)):
        sender.hear(CREDIT, pull_number=number)
        assert sender.burst() == [psn]
    assert sender.qp.inflight_bytes == 5000


def test_an_ack_covers_the_packets_below_it():
    sender = sender_of(6, 6)
    sender.hear(NAK, 1)
    sender.hear(ACK, 5, cumulative_psn=6)
    assert sender.message.una_psn == 6
    assert sender.transfer.lost_packets == 0
    assert sender.qp.inflight_bytes == 0
    sender.hear(NAK, 1)  # late
    assert sender.transfer.lost_packets == 0


def test_a_returned_header_waits_for_a_pull_if_one_will_come():
    sender = sender_of(20, 3)
    sender.hear(RETURN, 0)  # two answers of the first window are due
    assert sender.burst() == []
    sender.hear(RETURN, 1)  # one
    assert sender.burst() == [1]
    sender.hear(RETURN, 2)
    assert sender.burst() == [2]
    sender.hear(NAK, 1)
    sender.hear(RETURN, 2)  # the NACK's pull is still to come
    assert sender.burst() == []
    sender.hear(CREDIT, pull_number=1)
    assert sender.burst() == [2]  # returned last, goes first


@pytest.mark.parametrize(("acks", "is_bad"), [(0, False), (3, False), (4, True), (11, True)])
def test_a_path_with_more_than_a_quarter_of_acks_is_bad(acks, is_bad):
    sender = sender_of(40, 40)
    for psn in range(12):
        sender.hear(ACK if psn < acks else NAK, psn)
    assert is_bad_path(sender.transfer) == is_bad
    for psn in range(12, 24):  # only the last twelve count
        sender.hear(NAK, psn)
    assert not is_bad_path(sender.transfer)


def test_a_returned_header_on_a_bad_path_goes_again_at_once():
    sender = sender_of(20, 20)
    for psn in range(4):
        sender.hear(ACK, psn)
    sender.hear(RETURN, 9)
    assert sender.burst() == [9]


def test_a_packet_without_an_answer_goes_again_after_the_timeout():
    sender = sender_of(5, 3, us(1))
    sender.hear(ACK, 0, us(10), cumulative_psn=1)
    sender.hear(ACK, 2, us(11), cumulative_psn=1)
    assert sender.transfer.retransmit_timer_ps == us(1001)
    sender.expire(us(1001))
    assert sender.burst(us(1001)) == [1]
    assert sender.message.timeouts == 1
    assert sender.transfer.retransmit_timer_ps == us(2001)


@pytest.mark.parametrize(("later", "first"), [(us(124), [0, 1]), (us(125), [0])])
def test_one_timer_covers_what_is_sent_within_an_eighth_of_it(later, first):
    sender = sender_of(5, 1)
    sender.hear(CREDIT, pull_number=1, now=later)
    sender.burst(later)
    at = sender.transfer.retransmit_timer_ps
    assert at == ms(1) + (later if len(first) == 2 else 0)
    sender.expire(at)
    assert sender.burst(at) == first


def test_if_only_pulls_are_missing_a_packet_goes_after_a_longer_time():
    sender = sender_of(5, 1)
    sender.hear(ACK, 0, us(5), cumulative_psn=1)
    assert sender.transfer.retransmit_timer_ps == us(5) + ms(10)
    sender.expire(us(5) + ms(10))
    assert sender.burst(us(5) + ms(10)) == [1]


class Receiver:
    """A receiver at 10 Gb/s: pulls are 7.2 us apart."""

    def __init__(self, count):
        self.params, self.endpoint, self.host = plain(Ndp()), Ndp.Endpoint(), Host()
        self.host.line_bps = 10e9
        self.message, self.transfer = make_message(count), Ndp.Transfer()
        self.transfer.held = make_bits(count)

    def take(self, psn, now, trimmed=0):
        """Return (kind of the reply, packets below it, pull)."""
        packet, reply = packet_with(Ndp.Header), packet_with(Ndp.Header)
        packet.psn, packet.is_trimmed = psn, trimmed
        call(
            Ndp.on_data, params=self.params, host=self.host, endpoint=self.endpoint, message=self.message,
            transfer=self.transfer, packet=packet, reply=reply, now=now,
        )  # fmt: skip
        assert reply.psn == psn
        return reply.kind, reply.cumulative_psn, reply.pull_number


def test_an_idle_pacer_puts_the_pull_into_the_answer():
    receiver = Receiver(9)
    assert receiver.take(0, us(1)) == (ACK, 1, 1)
    assert receiver.take(1, us(2)) == (ACK, 2, 0)
    assert receiver.endpoint.pull_timer_ps == us(1) + 7_200_000
    assert receiver.take(3, us(3), trimmed=1) == (NAK, 2, 0)
    assert receiver.transfer.owed_pulls == receiver.endpoint.waiting_pulls == 2


def test_every_packet_earns_a_pull_until_the_last_even_duplicates():
    receiver = Receiver(3)
    receiver.take(0, us(1))
    receiver.take(0, us(2))
    receiver.take(2, us(3))
    assert receiver.transfer.owed_pulls == 2
    assert receiver.take(1, us(4)) == (ACK, 3, 0)
    assert receiver.transfer.owed_pulls == receiver.endpoint.waiting_pulls == 0
    assert receiver.take(1, us(40)) == (ACK, 3, 0)
    assert receiver.transfer.owed_pulls == 0
    assert receiver.message.received_packets == 3


@pytest.mark.parametrize(("name", "mtu", "share"), [("ndp", 9000, 0.0664), ("ndp-1500", 1500, 0.299)])
def test_ten_headers_per_packet_while_both_wait(engine, name, mtu, share):
    """16 senders at line rate: 15 headers and one packet per packet time, more than the port can serve."""
    scheme = preset("ndp-2017")[name]
    work = rdmacc.incast(HOSTS[:16], "h0", packets(30, scheme))
    result = run(engine, rdmacc.star(65, "10Gbps", "1us"), work, scheme)
    rows = sent(result, "data", "s0", "h0")
    burst = mtu * 8 * 30 * 100  # ps
    rows = rows[rows["time_ps"] < us(1) + burst]
    full = (rows["wire_bytes"] == mtu).to_numpy().nonzero()[0][2:]
    assert len(full) > 10
    assert set(full[1:] - full[:-1]) == {11}
    between = rows.iloc[full[0] : full[-1]]["wire_bytes"]
    assert between[between == 64].sum() / between.sum() == pytest.approx(share, abs=5e-4)
    check_finished(result)


def test_the_header_queue_holds_1125_headers(engine):
    """When the first header is returned, 1125 wait; no header is lost, and all messages finish."""
    work = rdmacc.incast(HOSTS[:48], "h0", packets(60))
    result = run(engine, rdmacc.star(65, "10Gbps", "1us"), work, NDP.replace(initial_window=60))
    trace = result.packet_trace
    back = sent(result, "return", "s0")
    first_ps = back["time_ps"].min()
    trimmed = trace[(trace["what"] == "trimmed") & (trace["time_ps"] <= first_ps)]
    headers = sent(result, "data", "s0", "h0")
    gone = headers[(headers["wire_bytes"] == 64) & (headers["time_ps"] <= first_ps)]
    returned_now = int((back["time_ps"] == first_ps).sum())
    assert len(trimmed) - len(gone) - returned_now == 1125
    assert result.ports["dropped_packets"].sum() == 0
    assert len(back) > 100
    check_finished(result)


@pytest.mark.parametrize("senders", [2, 8, 32])
def test_incast_counts(engine, senders):
    """Bursts of 30 packets: each trimmed packet causes a NACK and is sent again once; the link is never idle."""
    work = rdmacc.incast(HOSTS[:senders], "h0", packets(30))
    result = run(engine, rdmacc.star(65, "10Gbps", "1us"), work)
    port = result.ports.set_index("port").loc["s0->h0"]
    counters = result.counters
    assert counters.trimmed_packets == port["trimmed_packets"] == counters.naks == counters.retransmissions
    assert counters.acks == 30 * senders
    assert (counters.timeouts, counters.dropped_packets) == (0, 0)
    packet_ps = 7_200_000
    burst_ps = 30 * packet_ps  # from the first packet at the switch to the last
    header_ps = 51_200
    slot_ps = packet_ps + min(10, senders - 1) * header_ps
    trace = result.packet_trace
    trace = trace[(trace["time_ps"] <= us(1) + burst_ps) & (trace["kind"] == "data")]
    come = (trace["what"] == "arrived") & (trace["node"].str.startswith("h") & (trace["peer"] == "s0"))
    untrimmed = 30 * senders - (trace["what"] == "trimmed").sum()
    assert come.sum() == 30 * senders
    assert abs(untrimmed - (8 + 1 + (burst_ps - packet_ps) / slot_ps)) <= 1
    ideal_ps = 30 * senders * packet_ps + counters.trimmed_packets * header_ps
    rtt_ps = 4 * us(1) + 4 * packet_ps
    assert ideal_ps < result.flows["fct_ps"].max() + rtt_ps
    assert result.flows["fct_ps"].max() < ideal_ps + 2 * rtt_ps
    check_finished(result)


@pytest.mark.parametrize(
    ("scheme", "rate", "gap_ps"),
    [
        (preset("ndp-2017", "10Gbps")["ndp"], "10Gbps", 7_200_000),
        (preset("ndp-2017", "100Gbps")["ndp"], "100Gbps", 720_000),
        (preset("ndp-2017", "40Gbps")["ndp-1500"], "40Gbps", 300_000),
        (HTSIM["ndp-9000"], "100Gbps", int(9064 * 80 / 0.99)),  # 99 %
    ],
)
def test_pulls_are_a_packet_time_apart_and_go_in_turn(engine, scheme, rate, gap_ps):
    """Two long messages to one host get equal pulls, and the receiver gets no more than its link carries."""
    work = rdmacc.incast(["h1", "h2"], "h0", packets(300, scheme))
    result = run(engine, rdmacc.star(3, rate, "1us"), work, scheme, until=f"{200 * gap_ps}ps")
    times = sent(result, "credit", "h0")["time_ps"].to_numpy()
    late_ps = times - times[0] - gap_ps * np.arange(len(times))  # behind an ACK at the NIC
    assert abs(late_ps).max() <= transmission(64, rdmacc.units.rate_bps(rate))
    pulls = result.transfers["pull_number"].tolist()
    assert min(pulls) > 60
    assert abs(pulls[0] - pulls[1]) <= 1


@pytest.mark.parametrize(("count", "window", "delay_us"), [(200, 30, 1), (20, 2, 25)])
def test_a_lone_message(engine, count, window, delay_us):
    """With a window above the bandwidth-delay product, the last packet leaves as early as a line-rate sender's.

    Below it, each packet's ACK carries a pull: one window per round trip of the delays, two data and two header times.
    """
    work = rdmacc.messages([("h1", "h0", packets(count))])
    flows = run(engine, rdmacc.star(2, "10Gbps", f"{delay_us}us"), work, NDP.replace(initial_window=window)).flows
    data, header = transmission(9000, 1e10), transmission(64, 1e10)
    round_ps = max(4 * us(delay_us) + 2 * data + 2 * header, window * data)
    assert flows["fct_ps"].tolist() == [(count / window - 1) * round_ps + 2 * us(delay_us) + (window + 1) * data]


@pytest.mark.parametrize(
    ("waiting", "now", "fits"), [(5, 0, True), (6, 0, False), (6, 725_120, True), (7, 725_120, False)]
)
def test_htsim_queues_seven_packets_including_the_one_on_the_link(waiting, now, fits):
    """8 x 9,000 B hold 7 packets of 9,064 B."""
    part, port, egress = HTSIM["ndp-9000"].switch[0], Port(), PayloadTrimming.Egress()
    port.link_class, port.rate_bps = LAST_HOP, 100e9
    packet = packet_with()
    packet.kind, packet.wire_bytes = DATA, 9064
    part.on_dequeue(port, egress, packet, 0)
    port.queue_bytes = waiting * 9064
    part.on_enqueue(part, port, egress, packet, now)
    assert (packet.verdict == ACCEPT) == fits
    assert "on_dequeue" not in PayloadTrimming().handlers()


def test_each_path_is_used_once_per_round(engine):
    work = rdmacc.messages([("h0", "h15", packets(40))])
    result = run(engine, rdmacc.fat_tree(4, "100Gbps", "1us"), work)
    hops = {}
    trace = result.packet_trace
    for row in trace[(trace["what"] == "sent") & (trace["kind"] == "data")].itertuples():
        hops.setdefault(row.psn, []).append(row.node)
    rounds = [[tuple(hops[psn]) for psn in range(first, first + 4)] for first in range(0, 40, 4)]
    assert all(len(set(paths)) == 4 for paths in rounds)
    assert len({tuple(paths) for paths in rounds}) > 3
    replies = trace[(trace["what"] == "sent") & (trace["kind"] == "ack") & trace["node"].str.startswith("core")]
    assert replies["node"].nunique() == 4


def test_permutations_are_fair():
    order, draws, first = [0] * 64, 0, [0] * 4
    for _ in range(4000):
        draws = permute(order, 4, 7, draws)
        assert sorted(order[:4]) == [0, 1, 2, 3]
        first[order[0]] += 1
    assert draws == 12_000
    assert all(abs(count - 1000) < 4 * 28 for count in first)


def test_a_path_that_trims_more_than_the_others_is_skipped():
    part, sender, qp = ScoredPaths(), ScoredPaths.Sender(), QueuePair()
    qp.paths, qp.chance_key = 4, 5
    for path in range(4):
        for i in range(120):
            packet = packet_with(ScoredPaths.Header)
            packet.kind = NAK if path == 2 and i % 2 else ACK
            packet.path_tag = path
            part.on_ack(part, qp, sender, packet)
    assert sender.path_skips[2] > 0
    assert [sender.path_skips[path] for path in (0, 1, 3)] == [0, 0, 0]
    used = []
    for _ in range(16):
        packet = packet_with(ScoredPaths.Header)
        part.on_send(qp, sender, packet)
        used.append(packet.path_tag)
    assert used.count(2) < 4


def test_the_path_of_a_returned_header_is_not_the_next():
    part, sender, qp = ScoredPaths(), ScoredPaths.Sender(), QueuePair()
    qp.paths = 4
    for seed in range(50):
        qp.chance_key = seed
        for path in range(4):
            packet = packet_with(ScoredPaths.Header)
            packet.path_tag = path
            part.on_return(part, qp, sender, packet)
            part.on_send(qp, sender, packet)
            assert packet.path_tag != path
