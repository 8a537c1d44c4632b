"""Homa: grants, priorities, RESEND and cut-offs, by exact counts and closed forms; and the ns-3 port's settings.

Theory (Montazeri et al., SIGCOMM 2018): a message of at most RTTbytes needs no grant; a longer one needs a grant for
each packet beyond. At most RTTbytes are granted and not yet received. Of n granted messages the best has level 8 - n.
If a receiver's link never idles, the last of N messages ends when all their bytes have passed.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import DATA_CLASS, NAK, NONE, REQUEST, Message, set_bit
from rdmacc.protocols.homa import Homa, level_of_rank, level_of_size, resend
from rdmacc.protocols.homa_cutoffs import unscheduled_bytes, unscheduled_cutoffs, unscheduled_levels
from rdmacc.units import ms
from rdmacc.workload import SIZES, SizeDistribution
from tests.support import WIRE, check_finished, packet_with, plain, refused, samples

RTT = 10
"""RTTbytes in packets."""

STAR = rdmacc.star(10, "10Gbps", "250ns")
PACKET_PS = WIRE * 800


SHORT = {"rtt_bytes": 1000 * RTT, "resend_interval_ps": "1ms", "ping_interval_ps": "2ms"}
"""Short timers."""


def homa(**changes):
    return rdmacc.scheme("homa", **(SHORT | changes))


def run(work, engine, scheme=None, **options):
    """Run messages, given as rows (src, dst, size), to h0 of a star."""
    messages = rdmacc.messages(work) if isinstance(work, list) else work
    return rdmacc.simulate(STAR, messages, scheme or homa(), engine=engine, trace=True, progress=False, **options)


def rows_of(result, kind, what, node):
    """Return the trace's rows for packets of a kind that a host sent, or that arrived at it."""
    trace = result.packet_trace
    end = trace["node"] if what == "sent" else trace["peer"]
    return trace[(trace["kind"] == kind) & (trace["what"] == what) & (end == node)]


@pytest.mark.parametrize(("packets", "grants"), [(1, 0), (RTT, 0), (RTT + 1, 1), (100, 90)])
def test_a_grant_for_each_packet_beyond_rttbytes(engine, packets, grants):
    result = run([("h1", "h0", f"{packets}kB")], engine)
    check_finished(result)
    assert result.counters.credits == grants
    assert (result.counters.acks, result.counters.requests, result.counters.naks) == (1, 0, 0)
    assert result.flows["slowdown"].iloc[0] == pytest.approx(1.0)


@pytest.mark.parametrize("overcommit", [1, 2, 7])
def test_at_most_rttbytes_are_granted_and_not_received(engine, overcommit):
    """Per message; and K times that per receiver, in scheduled packets of messages that still want grants."""
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "60kB")
    result = run(work, engine, homa(overcommit=overcommit))
    check_finished(result)
    granted, received, most = np.full(8, RTT), np.zeros(8, int), 0
    rows = [rows_of(result, "data", "arrived", "h0"), rows_of(result, "credit", "sent", "h0")]
    for row in pd.concat(rows).sort_values(["time_ps", "what"]).itertuples():  # arrivals, then departures
        if row.kind == "data":
            received[row.message] += 1
        else:
            granted[row.message] = row.psn
            assert granted[row.message] - received[row.message] <= RTT
            scheduled = (granted - np.maximum(received, RTT))[granted < 60]
            most = max(most, scheduled.sum())
    assert 0 < most <= overcommit * RTT


def test_the_receivers_link_never_idles(engine):
    """The last of 8 messages ends when all bytes have passed the link."""
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "200kB")
    result = run(work, engine)
    check_finished(result)
    assert result.flows["fct_ps"].max() == 2 * 250_000 + PACKET_PS + 8 * 200 * PACKET_PS


def test_one_message_per_sender_is_granted(engine):
    """With K = 2 the two shorter messages are from one host, so a long one from another host takes the second place."""
    rows = [("h1", "h0", "60kB"), ("h1", "h0", "70kB"), ("h2", "h0", "200kB")]
    result = run(rows, engine, homa(overcommit=2))
    check_finished(result)
    ends = result.flows["fct_ps"].to_numpy()
    assert ends[0] < ends[1] < ends[2]
    credits = rows_of(result, "credit", "sent", "h0")
    early = credits[credits["time_ps"] < ends[0] - 12 * PACKET_PS]
    assert set(early["message"]) == {0, 2}


@pytest.mark.parametrize("count", [1, 3])
def test_granted_messages_have_the_lowest_levels(engine, count):
    """A lone message: level 7. Three: 5, 6 and 7, by what is left of them."""
    rows = [(f"h{i}", "h0", f"{100 + 50 * i}kB") for i in range(1, count + 1)]
    watch = [rdmacc.probes.field("flow", i, "granted_level") for i in range(count)]
    result = run(rows, engine, probes=watch, until="100us")
    levels = [samples(result, probe.name)[-1][1] for probe in watch]
    assert levels == [8 - count + rank for rank in range(count)]
    data = rows_of(result, "data", "arrived", "h0")
    first, later = data[data["psn"] < RTT], data[(data["psn"] >= 2 * RTT) & (data["message"] == 0)]
    assert set(first["priority"]) == {DATA_CLASS}
    assert set(later["priority"]) == {DATA_CLASS + 8 - count}


def test_the_level_of_a_rank():
    homa7, ns3 = Homa(), Homa(cutoffs="10kB", lowest_levels=False)
    levels = [[level_of_rank(homa7, rank, n) for rank in range(n)] for n in (1, 3, 7)]
    assert levels == [[7], [5, 6, 7], [1, 2, 3, 4, 5, 6, 7]]
    assert [level_of_rank(ns3, rank, 6) for rank in range(8)] == [2, 3, 4, 5, 6, 7, 7, 7]
    assert level_of_rank(replace(homa7, overcommit=12), 0, 12) == 1  # unscheduled packets keep theirs


def test_unscheduled_packets_have_the_level_of_their_size(engine):
    scheme = homa(cutoffs="2kB 5kB")
    rows = [("h1", "h0", "2kB"), ("h2", "h0", "2001B"), ("h3", "h0", "5kB"), ("h4", "h0", "90kB")]
    result = run(rows, engine, scheme)
    data = rows_of(result, "data", "arrived", "h0")
    first = data[data["psn"] == 0].sort_values("message")["priority"] - DATA_CLASS
    assert first.tolist() == [0, 1, 1, 2]
    assert data["priority"].max() == DATA_CLASS + 7
    levels = [level_of_size(scheme.recovery, size) for size in (1, 2000, 2001, 5000, 5001, 10**9)]
    assert levels == [0, 0, 1, 1, 2, 2]


def test_cutoffs_split_bytes_equally():
    """Sizes are uniform up to S, all unscheduled: bytes grow as the square, so two levels are split at S / sqrt(2)."""
    sizes = SizeDistribution.uniform(1, 100_000)
    assert unscheduled_cutoffs(sizes, 100_000, 2) == [pytest.approx(100_000 / np.sqrt(2), abs=2)]
    assert unscheduled_cutoffs(sizes, 100_000, 5) == pytest.approx([1e5 * np.sqrt(k / 5) for k in range(1, 5)], abs=2)
    assert unscheduled_cutoffs(sizes, 100_000, 1) == []


@pytest.mark.parametrize("name", SIZES)
def test_cutoffs_of_published_sizes_split_sampled_bytes_equally(name):
    sizes = SIZES[name]
    sampled = sizes.sample(np.random.default_rng(1), 200_000)
    unscheduled = np.minimum(sampled, 9_700)
    assert unscheduled_bytes(sizes, 9_700, sizes.sizes[-1]) == pytest.approx(unscheduled.mean(), rel=0.01)
    cutoffs = unscheduled_cutoffs(sizes, "9.7kB", 4)
    for rank, cutoff in enumerate(cutoffs, start=1):  # a size with a probability mass may lie at a cut-off
        below = unscheduled[sampled < cutoff - 1].sum() / unscheduled.sum()
        up_to = unscheduled[sampled <= cutoff + 1].sum() / unscheduled.sum()
        assert below - 0.01 <= rank / 4 <= up_to + 0.01


def test_levels_follow_the_share_of_unscheduled_bytes():
    assert unscheduled_levels(SizeDistribution.uniform(1, 5_000), "10kB") == 7  # all unscheduled, but one level remains
    assert unscheduled_levels(SIZES["web_search"], "9.7kB") == 1
    assert unscheduled_levels(SizeDistribution.choice([20_000]), "10kB") == 4
    made = Homa.for_sizes(SizeDistribution.uniform(1, 20_000), "10kB")
    assert (made.unscheduled_levels, made.overcommit, made.rtt_bytes) == (6, 2, 10_000)
    assert len(made.cutoffs) == 5
    refused(lambda: unscheduled_levels(SIZES["web_search"], "9.7kB", levels=1), "levels")
    refused(lambda: unscheduled_cutoffs(SIZES["web_search"], "9.7kB", 0), "count")


def test_rttbytes_follow_the_link(engine):
    """The default is line rate times base RTT, for each pair of hosts."""
    result = run([("h1", "h0", "100kB")], engine, rdmacc.scheme("homa"))
    base_rtt_ps = 4 * 250_000 + 2 * PACKET_PS + 2 * 64 * 800
    window = -(-int(10e9 * base_rtt_ps / 8e12) // 1000)
    assert result.counters.credits == 100 - window
    assert result.flows["slowdown"].iloc[0] == pytest.approx(1.0)


def test_a_lost_packet_is_requested_after_the_interval(engine):
    """The last packet of an unscheduled message: one RESEND, one retransmission, at the highest level."""
    result = run([("h1", "h0", "5kB")], engine, faults=[ScriptedLoss(message=0, psn=4)])
    check_finished(result)
    assert (result.counters.naks, result.counters.retransmissions, result.counters.requests) == (1, 1, 0)
    alone = run([("h1", "h0", "4kB")], engine).flows["fct_ps"].iloc[0]
    nak_ps = 2 * 64 * 800 + 2 * 250_000
    assert result.flows["fct_ps"].iloc[0] == alone + ms(1) + nak_ps + 2 * PACKET_PS + 2 * 250_000
    data = rows_of(result, "data", "arrived", "h0")
    assert data["priority"].iloc[-1] == DATA_CLASS


@pytest.mark.parametrize(("granted", "end"), [(2, None), (6, 6), (9, 9), (14, 9)])
def test_a_resend_requests_at_most_the_granted_packets(granted, end):
    """Nor for more than the message has, although packets requested again are granted beyond its end."""
    message, transfer, reply = Message(), Homa.Transfer(), packet_with(Homa.Header)
    message.packets, transfer.granted_packets, transfer.held = 9, granted, bytearray(9)
    for psn in (0, 1):
        set_bit(transfer.held, psn)
    Homa.on_resend_timer(plain(Homa()), message, transfer, reply, 0)
    assert message.timeouts == (end is not None)
    assert reply.kind == (NONE if end is None else NAK)
    if end is not None:
        assert (reply.psn, reply.end_psn) == (2, end)


@pytest.mark.parametrize(("psn", "end", "is_busy", "lost"), [(1, 3, 0, {1, 2, 4}), (3, 9, 0, {3, 4, 5}),
                                                              (4, 5, 1, {4}), (6, 8, 1, {4})])  # fmt: skip
def test_a_sender_asked_to_resend_says_busy_if_the_first_packet_still_waits(psn, end, is_busy, lost):
    """Of nine packets six have been sent, and 4 already waits to be sent again; section 3.7."""
    message, transfer, packet, request = Message(), Homa.Transfer(), packet_with(Homa.Header), packet_with(Homa.Header)
    message.packets, transfer.new_psn, transfer.lost, transfer.lost_packets = 9, 6, bytearray(9), 1
    set_bit(transfer.lost, 4)
    packet.psn, packet.end_psn, packet.level = psn, end, 5
    resend(message, transfer, packet, request)
    assert (request.kind, request.is_busy) == ((REQUEST, 1) if is_busy else (NONE, 0))
    assert {one for one in range(9) if transfer.lost[one]} == lost
    assert (transfer.lost_packets, transfer.resend_level) == (len(lost), 5)


def test_a_sender_without_a_receiver_gives_up(engine):
    result = run([("h1", "h0", "3kB")], engine, homa(retry_limit=3), faults=[rdmacc.Loss(data=1.0)])
    assert result.flows["status"].tolist() == ["failed"]


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
def test_only_a_share_of_senders_obeys_grants(engine, share):
    """The others send RTTbytes and answer BUSY; they keep their place among the K."""
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "100kB")
    result = run(work, engine, homa(responsive_fraction=share, overcommit=8), until="5ms")
    finished = result.flows["status"] == "finished"
    assert finished.sum() == 8 * share
    sent = rows_of(result, "data", "arrived", "h0").groupby("message")["psn"].count()
    assert set(sent[~finished]) <= {RTT}
    assert result.counters.retransmissions == 0


def ns3(rate="10Gbps"):
    return rdmacc.preset("homa-ns3", rate)["homa"]


@pytest.mark.parametrize(("senders", "size"), [(1, 146_000), (8, 200_000), (8, 1_000_000)])
def test_ns3_star(engine, senders, size):
    """1,502 B take 1,201.6 ns, truncated to 1,201. Nothing is lost; the last message ends when all bytes have."""
    work = rdmacc.incast([f"h{i}" for i in range(1, senders + 1)], "h0", size)
    result = rdmacc.simulate(STAR, work, ns3(), engine=engine, progress=False)
    packets, rest = divmod(size, 1460)
    last_ps = (rest + 42) * 800 // 1000 * 1000 if rest else 0
    assert result.counters.dropped_packets == result.counters.naks == 0
    assert result.flows["fct_ps"].max() == 500_000 + 1_201_000 + senders * (packets * 1_201_000 + last_ps)
    if senders == 1:
        assert result.counters.credits == 93


def test_ns3_levels(engine):
    """Unscheduled: level 0 below 13 packets, otherwise 1. A grant's level holds from the next packet on. Control is
    with data.

    That is what its code intends; but no packet keeps its tag, so all share one class.
    """
    rows = [("h1", "h0", 12 * 1460), ("h2", "h0", 12 * 1460 + 1), ("h3", "h0", 200 * 1460)]
    assert set(rows_of(run(rows, engine, ns3()), "data", "arrived", "h0")["priority"]) == {DATA_CLASS}
    scheme = ns3().replace(separates_levels=True)
    result = run(rows, engine, scheme)
    data = rows_of(result, "data", "arrived", "h0")
    first = data[data["psn"] == 0].sort_values("message")["priority"] - DATA_CLASS
    assert first.tolist() == [0, 1, 1]
    alone = run([("h3", "h0", 200 * 1460)], engine, scheme)
    data = rows_of(alone, "data", "arrived", "h0")
    assert (data.sort_values("psn")["priority"] - DATA_CLASS).tolist()[:7] == [1, 1, 1, 2, 2, 2, 2]
    credits = rows_of(result, "credit", "sent", "h0")
    assert set(credits["priority"]) == {DATA_CLASS}
    assert set(credits["wire_bytes"]) == {42}
