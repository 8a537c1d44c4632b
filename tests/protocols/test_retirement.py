"""Paths that are retired when a packet is lost: turns, penalties, retirement and probes by hand; planes that fail."""

from collections import Counter

import pytest

import rdmacc
from rdmacc import LinkDown, topology
from rdmacc.protocols.retirement import Retirement, next_active, retire
from rdmacc.protocols.uet import Uet, take_older_as_lost
from rdmacc.state import ACK, NAK, QueuePair
from tests.protocols.test_uet import PAYLOAD, transfer_of
from tests.support import check_conservation, check_finished, packet_with, plain


def turns(params, sender, count):
    return [next_active(params, sender) for _ in range(count)]


def reply(sender, params, value, kind=ACK, marked=0, last_hop=0):
    packet = packet_with(Uet.Header, Retirement.Header)
    packet.kind, packet.entropy, packet.was_marked, packet.at_last_hop = kind, value, marked, last_hop
    Retirement.on_ack(params, sender, packet)


def test_each_value_has_its_turn_and_each_link_its_share():
    params, sender = plain(Retirement(values=16)), Retirement.Sender()
    sender.mask = 11
    taken = turns(params, sender, 160)
    for begin in range(145):
        assert set(Counter(taken[begin : begin + 16]).values()) == {1}
    for begin in range(0, 160, 4):
        assert sorted(value % 4 for value in taken[begin : begin + 4]) == [0, 1, 2, 3]


def test_a_mark_costs_a_turn_and_a_trim_four():
    params, sender = plain(Retirement(values=8)), Retirement.Sender()
    reply(sender, params, 3, marked=1)
    reply(sender, params, 5, kind=NAK)
    reply(sender, params, 6, kind=NAK, last_hop=1)
    taken = Counter(turns(params, sender, 42))
    assert taken[3] == taken[0] - 1
    assert taken[6] == taken[0]
    assert taken[5] == taken[0] - 4


def test_enough_values_stay_active():
    params, sender = plain(Retirement(values=16, least_active=0.25)), Retirement.Sender()
    for value in range(16):
        retire(params, sender, value, now=0)
    assert sender.retired_count == 12
    assert sender.penalties[12:16] == [15] * 4
    assert sender.probe_timer_ps == params.probe_ps
    assert set(turns(params, sender, 40)) <= {12, 13, 14, 15}


def test_probes_go_round_and_become_seldom_until_one_is_answered():
    params, sender = plain(Retirement(values=4, probe_ps="100us", longest_probe_ps="300us")), Retirement.Sender()
    retire(params, sender, 1, now=0)
    retire(params, sender, 2, now=0)
    asked, waits, now = [], [], sender.probe_timer_ps
    for _ in range(8):
        request = packet_with(Retirement.Header)
        Retirement.on_probe_timer(params, sender, request, now)
        asked.append((request.entropy, request.path))
        waits.append(sender.probe_timer_ps - now)
        now = sender.probe_timer_ps
    assert asked == [(1, 1), (2, 2)] * 4
    assert waits == [50_000_000] * 2 + [100_000_000] * 2 + [150_000_000] * 4
    reply(sender, params, 2)
    assert (sender.retired[1], sender.retired[2], sender.retired_count) == (1, 0, 1)


def test_what_left_long_before_is_lost():
    """Packets 0 to 5 left a us apart; 2 was sent again at 20 us. One that left at 12.5 us has come: T is 4 us."""
    params, qp, sender = Uet(reorder=2.0), QueuePair(), Uet.Sender()
    qp.base_rtt_ps = 4_000_000
    transfer, message = transfer_of(Uet, 10, "acked", "lost")
    transfer.new_psn = 6
    sender.sent_ps[:6] = [0, 1_000_000, 20_000_000, 3_000_000, 4_400_000, 4_600_000]
    take_older_as_lost(params, qp, sender, message, transfer, 12_500_000)
    assert transfer.lost_packets == 4
    assert qp.inflight_bytes == -4 * PAYLOAD


@pytest.mark.parametrize("planes", [4, 8])
def test_a_plane_that_dies_unseen_costs_its_share(engine, planes):
    """Routes never converge. After some round trips the other planes carry all: (n - 1) / n of the rate."""
    packets = 300 * planes if planes == 4 else 4000
    network = topology.multi_plane(planes, leaves=2, spines=1, hosts_per_leaf=1)
    work = rdmacc.messages([("h0", "h1", packets * PAYLOAD)])
    dead = [LinkDown(link=("h1", "p0leaf1"), at_ps=0, convergence_ps="1s")]
    watch = [rdmacc.probes.field("flow", 0, "Retirement.retired_count")]
    result = rdmacc.simulate(network, work, "nscc-retire", faults=dead, engine=engine, probes=watch)
    check_finished(result)
    check_conservation(result)
    assert result.flows["timeouts"][0] == 0
    assert result.probes["value"].max() == 256 // planes
    whole_us = packets / planes * 0.332
    assert whole_us * planes / (planes - 1) == pytest.approx(result.flows["fct_us"][0] - 8, rel=0.08)


def test_a_plane_that_comes_back_is_used_again():
    network = topology.multi_plane(4, leaves=2, spines=1, hosts_per_leaf=1)
    work = rdmacc.messages([("h0", "h1", 8000 * PAYLOAD)])
    dead = [LinkDown(link=("h1", "p0leaf1"), at_ps=0, until_ps="200us", convergence_ps="1s")]
    watch = [rdmacc.probes.field("flow", 0, "Retirement.retired_count")]
    result = rdmacc.simulate(network, work, "nscc-retire", faults=dead, probes=watch)
    check_finished(result)
    assert result.probes["value"].iloc[-1] == 0
    assert result.ports.set_index("port").loc["h0.nic->p0leaf0", "tx_data_packets"] > 600


def test_trims_retire_nothing():
    """Fifteen to one: the queue is at the last hop."""
    work = rdmacc.incast([f"h{i}" for i in range(1, 16)], "h0", "400kB")
    watch = [rdmacc.probes.field("flow", i, "Retirement.retired_count") for i in range(15)]
    result = rdmacc.simulate(rdmacc.star(16), work, "nscc-retire", probes=watch)
    assert result.ports["trimmed_packets"].sum() > 0
    assert result.probes["value"].max() == 0


def test_one_path_in_many_costs_a_packet_a_turn():
    """One core of 16 loses all that comes: few losses before its values are out, and the window never notices."""
    network = rdmacc.fat_tree(4)
    lost = [rdmacc.Loss(data=1.0, control=1.0, links=[("agg0", "core0")])]
    result = rdmacc.simulate(network, rdmacc.messages([("h0", "h15", "8MB")]), "nscc-retire", faults=lost)
    check_finished(result)
    assert result.flows["retransmissions"][0] < 150
    assert result.flows["slowdown"][0] < 1.1
