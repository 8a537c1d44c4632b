"""Parts of a message's time by a few lines of arithmetic, to the picosecond where nothing is random."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import Scheme
from rdmacc.faults import LinkDown, PauseStorm, ScriptedLoss
from rdmacc.interface import Component, Float, Int, Record, param
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.units import us
from tests.support import ACK_WIRE, WIRE, chain, transmission

G100 = 100e9
TX = transmission(WIRE, G100)
D = us(1)


@dataclass(frozen=True, kw_only=True)
class Fixed(Component):
    """A constant rate and window."""

    rate_bps: float = param(G100, "pacing rate", unit="bps")
    window_bytes: int = param(10**9, "window", unit="bytes")

    class Sender(Record):
        rate_bps = Float()
        window_bytes = Int()

    def on_open(params, qp, sender):
        sender.rate_bps = params.rate_bps
        sender.window_bytes = params.window_bytes


def explained(scheme, work, engine, network=None, flow=0, **options):
    network = rdmacc.star(2) if network is None else network
    result = rdmacc.simulate(network, work, scheme, engine=engine, explain=True, **options)
    return result.explain(flow)


def times(why):
    """Return the time per kind, and assert that it sums to the completion time."""
    parts = why.parts.set_index("kind")["time_ps"]
    assert parts.sum() == why.time_ps
    return {kind: int(time) for kind, time in parts.items() if time}


def one(size):
    return rdmacc.messages([("h0", "h1", size)])


def test_alone_at_line_rate(engine):
    why = explained("line-rate", one("50kB"), engine)
    assert times(why) == {"transmission": 51 * TX, "propagation": 2 * D}
    assert "as fast as alone" in str(why)


@pytest.mark.parametrize("packets", [1, 2, 10, 40])
def test_a_window_costs_one_minus_its_share_of_the_bandwidth_delay_product(engine, packets):
    """Each round trip sends a window; then the sender waits until the first ACK is back."""
    rounds = 50
    rtt = 2 * (TX + D) + 2 * (transmission(ACK_WIRE, G100) + D)
    why = explained(Scheme(control=Fixed(window_bytes=packets * 1000)), one(rounds * packets * 1000), engine)
    waits = (rounds - 1) * (rtt - packets * TX)
    assert times(why) == {"own window": waits, "transmission": (rounds * packets + 1) * TX, "propagation": 2 * D}
    share = why.parts.set_index("kind")["share"]["own window"]
    assert share == pytest.approx(1 - packets * TX / rtt, abs=0.02)
    trips = why.causes[why.causes["cause"] == "round trip"].iloc[0]
    assert trips["time_ps"] == trips["count"] * rtt


@pytest.mark.parametrize("rate_bps", [50e9, 10e9, 33e9])
def test_a_rate_costs_the_gaps_between_packets(engine, rate_bps):
    gap = transmission(WIRE, rate_bps)
    why = explained(Scheme(control=Fixed(rate_bps=rate_bps)), one("30kB"), engine)
    assert times(why) == {"own rate": 29 * (gap - TX), "transmission": 31 * TX, "propagation": 2 * D}


def test_a_single_loss_costs_its_timer(engine):
    """The last packet is lost; the timer runs from the last ACK, which is for the packet before."""
    timeout = us(300)
    scheme = rdmacc.scheme("line-rate").replace(recovery=GoBackN(timeout_ps=timeout))
    why = explained(scheme, one("6kB"), engine, faults=[ScriptedLoss(message=0, psn=5)])
    last_ack = 4 * TX + 2 * (TX + D) + 2 * (transmission(ACK_WIRE, G100) + D)
    assert times(why) == {
        "recovery": last_ack + timeout - 5 * TX, "transmission": 5 * TX + 2 * TX, "propagation": 2 * D,
    }  # fmt: skip
    assert "lost on h0->s0, and sent again on a timer" in " ".join(str(why).split())


def test_a_loss_in_the_middle_costs_the_packets_sent_in_vain(engine):
    """Packet 3 is lost: a NAK for packet 4 comes back, and everything from packet 3 on is sent again."""
    why = explained("line-rate", one("100kB"), engine, faults=[ScriptedLoss(message=0, psn=3)])
    nak = 4 * TX + 2 * (TX + D) + 2 * (transmission(ACK_WIRE, G100) + D)
    resent = -(-nak // TX) * TX  # the packet in transmission goes first
    assert times(why) == {"recovery": resent - 3 * TX, "transmission": 3 * TX + 98 * TX, "propagation": 2 * D}
    assert why.time_ps == resent + 97 * TX + TX + 2 * D


def test_a_pause_costs_the_time_until_resume(engine):
    """The receiver's port pauses the switch when the last packet is on its way to it."""
    frame = transmission(64, G100) + D
    why = explained("line-rate", one("10kB"), engine, faults=[PauseStorm(host="h1", at_ps=us(0.5), until_ps=us(20))])
    arrived = 10 * TX + D
    assert times(why)["paused"] == us(20) + frame - arrived
    assert "s0->h1 was paused by h1" in " ".join(str(why).split())


def test_a_link_that_is_down_stops_its_host(engine):
    down = LinkDown(link=("h0", "s0"), at_ps=us(1), until_ps=us(10))
    why = explained("line-rate", rdmacc.messages([("h0", "h1", "20kB", us(2))]), engine, faults=[down])
    assert times(why) == {"paused": us(8), "transmission": 21 * TX, "propagation": 2 * D}
    assert "h0->s0 was down for 8 us" in " ".join(str(why).split())


def test_a_queue_is_attributed_to_the_packets_in_front(engine):
    """Two hosts send a packet each at the same time; the second one waits for the first."""
    why = explained("line-rate", rdmacc.incast(["h1", "h2"], "h0", "1kB"), engine, rdmacc.star(3), flow=1)
    assert times(why) == {"queue at a port": TX, "transmission": 2 * TX, "propagation": 2 * D}
    cause = why.causes[why.causes["kind"] == "queue at a port"]
    assert cause[["cause", "place", "by", "time_ps"]].to_numpy().tolist() == [["behind data", "s0->h0", 0, TX]]


def test_time_at_a_nic_busy_with_another_message(engine):
    """Two messages of one host take turns; the second one's last packet is the last of all."""
    work = rdmacc.messages([("h0", "h1", "10kB"), ("h0", "h2", "10kB")])
    why = explained("line-rate", work, engine, rdmacc.star(3), flow=1)
    assert times(why) == {"NIC busy with others": 10 * TX, "transmission": 11 * TX, "propagation": 2 * D}
    assert "behind message 0" in " ".join(str(why).split())


def test_messages_of_a_queue_pair_wait_for_their_turn(engine):
    work = pd.DataFrame({"src": "h0", "dst": "h1", "size_bytes": [10_000, 3000], "queue_pair": [0, 0]})
    why = explained("line-rate", rdmacc.messages(work), engine, flow=1)
    assert times(why) == {"waiting to start": 10 * TX, "transmission": 4 * TX, "propagation": 2 * D}
    assert "served message 0 first" in " ".join(str(why).split())


def test_waiting_for_other_messages_is_not_counted(engine):
    work = rdmacc.messages(pd.DataFrame({"src": "h0", "dst": "h1", "size_bytes": [5000, 1000], "after": [(), (0,)]}))
    why = explained("line-rate", work, engine, flow=1)
    assert times(why) == {"transmission": 2 * TX, "propagation": 2 * D}
    assert "for others before it started" in " ".join(str(why).split())


def test_a_schemes_start_delay_is_counted(engine):
    scheme = rdmacc.scheme("line-rate").replace(start_delay_ps=us(3))
    why = explained(scheme, one("1kB"), engine)
    assert times(why) == {"waiting to start": us(3), "transmission": 2 * TX, "propagation": 2 * D}


def test_every_hop_counts(engine):
    delays = [us(1), us(2), us(3)]
    why = explained("line-rate", one("1kB"), engine, chain([G100, 10e9, 40e9], delays))
    assert times(why) == {
        "transmission": sum(transmission(WIRE, rate) for rate in (G100, 10e9, 40e9)), "propagation": sum(delays)
    }  # fmt: skip
    assert why.events["place"].nunique() == 3


def test_an_m_d_1_queue_takes_the_time_of_the_formula(engine):
    """Single packets from 50 hosts arrive at random; each queues until those before it have left (Lindley).

    In the long run that is rho / 2 (1 - rho) transmissions on average (Pollaczek and Khinchine).
    """
    load, count, long = 0.6, 1000, 200_000
    starts = np.cumsum(np.random.default_rng(3).exponential(TX / load, long)).round().astype(np.int64)
    queued = [0]
    for gap in np.diff(starts).tolist():
        queued.append(max(queued[-1] + TX - gap, 0))
    assert np.mean(queued) == pytest.approx(load / (2 * (1 - load)) * TX, rel=0.03)
    work = pd.DataFrame(
        {"src": [f"h{n % 50 + 1}" for n in range(count)], "dst": "h0", "size_bytes": 1000, "start_ps": starts[:count]}
    )
    result = rdmacc.simulate(rdmacc.star(51), rdmacc.messages(work), "line-rate", engine=engine, explain=True)
    assert [times(result.explain(flow)).get("queue at a port", 0) for flow in range(count)] == queued[:count]
