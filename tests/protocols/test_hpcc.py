"""HPCC: the sender's arithmetic on its own, then windows, utilisation and queue in the simulator.

Theory (Li et al., SIGCOMM 2019): W = W_c / (U / eta) + W_AI, or W_c + W_AI; with an empty queue U = sum W / (B T), so
sum W settles at eta B T + N W_AI for any number of flows; each flow's reference moves once per round trip.

The preset `hpcc-ns3` to the nanosecond: against that simulator's results, and rule by rule.
"""

from dataclasses import replace

import numpy as np
import pytest

import rdmacc
from rdmacc import ConfigError, probes, workload
from rdmacc.experiments import experiment
from rdmacc.experiments.validation.references import theirs
from rdmacc.interface import CONTROL, DATA_CLASS, Message, QueuePair
from rdmacc.models.hpcc import HpccSteady
from rdmacc.protocols.hpcc import Hpcc
from rdmacc.switch.int_stamp import HOPS
from rdmacc.units import cut_ps, ns, us
from tests.support import packet_with

LINE, T = 100e9, us(13)


def make(**changes):
    """Return parameters, queue pair, sender, message and transfer after `on_open`."""
    params, qp, sender = Hpcc(base_rtt_ps=T, **changes), QueuePair(), Hpcc.Sender()
    qp.line_bps, qp.base_rtt_ps = LINE, us(10)
    Hpcc.on_open(params, qp, sender)
    message = Message()
    message.packets = 10_000
    return params, qp, sender, message, Hpcc.Transfer()


def ack(state, psn, next_psn, time, tx, queue=0, rate=LINE):
    params, qp, sender, message, transfer = state
    packet = packet_with(Hpcc.Header)
    for name in ("int_rate_bps", "int_time_ps", "int_tx_bytes", "int_queue_bytes"):
        setattr(packet, name, [0] * HOPS)
    packet.psn, packet.int_hops = psn, 1
    packet.int_rate_bps[0], packet.int_time_ps[0] = rate, time
    packet.int_tx_bytes[0], packet.int_queue_bytes[0] = tx, queue
    message.next_psn = next_psn
    Hpcc.on_ack(params, qp, sender, message, transfer, packet)


def window(sender):
    """Return R T, which the record holds in whole bytes."""
    return sender.rate_bps * T / 8e12


@pytest.mark.parametrize(("line", "full"), [(100e9, 162_500), (25e9, 40_625)])
def test_it_starts_with_the_bdp_at_line_rate(line, full):
    params, qp, sender = Hpcc(base_rtt_ps=T), QueuePair(), Hpcc.Sender()
    qp.line_bps = line
    Hpcc.on_open(params, qp, sender)
    assert (sender.rate_bps, sender.window_bytes, sender.inflight) == (line, full, 1.0)


def test_one_multiplicative_step_does_not_compound():
    """U = 1.5 cuts a window from 162,500 to 102,996.67 bytes; a second ACK in the round trip does not cut further."""
    state = make()
    sender = state[2]
    ack(state, 1, 162, 0, 0)
    assert sender.rate_bps == LINE  # nothing to compare with yet
    ack(state, 163, 300, T, 162_500, queue=0)
    sender.reference_rate_bps, sender.stage = LINE, 0
    for psn in (300, 300):  # both within the round trip that ends above 300; the link was full, with half a BDP queued
        tx = 325_000 if psn == 300 else 0
        sender.last_time_ps[0], sender.last_tx_bytes[0], sender.last_queue_bytes[0] = T, 162_500, 81_250
        ack(state, psn, 400, 2 * T, tx, queue=90_000)
        assert sender.inflight == pytest.approx(1.5)
        assert window(sender) == pytest.approx(102_996.67, abs=0.01)
    assert sender.reference_rate_bps == LINE
    sender.last_time_ps[0], sender.last_tx_bytes[0], sender.last_queue_bytes[0] = T, 162_500, 81_250
    ack(state, 301, 400, 2 * T, 325_000, queue=90_000)
    assert sender.reference_rate_bps == sender.rate_bps
    assert state[4].update_after_psn == 400


def additive_and_multiplicative(max_stage, rounds):
    """Return the window after each round trip in which half the link was used."""
    state = make(max_stage=max_stage)
    sender = state[2]
    ack(state, 1, 10, 0, 0)
    sender.reference_rate_bps = 10e9
    sender.inflight = 0.5
    found = []
    for i in range(1, rounds + 1):
        ack(state, 10 * i + 1, 10 * (i + 1), i * T, i * 81_250)
        found.append(window(sender))
    return np.array(found)


def test_additive_steps_then_a_multiplicative_one():
    """maxStage steps of 80 bytes, then W / (0.5 / 0.95) + 80; with maxStage 0 every step is multiplicative."""
    start = 10e9 * T / 8e12
    assert additive_and_multiplicative(5, 7) == pytest.approx(
        [*(start + 80 * n for n in range(1, 6)), (start + 400) / (0.5 / 0.95) + 80, (start + 400) * 1.9 + 160]
    )
    assert additive_and_multiplicative(0, 2) == pytest.approx([start * 1.9 + 80, (start * 1.9 + 80) * 1.9 + 80])


def test_inflight_is_averaged_over_t_and_the_lower_queue_counts():
    state = make()
    sender = state[2]
    ack(state, 1, 100, 0, 0, queue=50_000)
    ack(state, 2, 100, T // 4, 40_625, queue=16_250)  # a full link for T / 4: u = 1 + 0.1
    assert sender.inflight == pytest.approx(0.75 * 1.0 + 0.25 * 1.1)


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [({}, "cut", "kept"), ({"has_reference": False}, "cut", "cut"), ({"fast_reaction": False}, "kept", "kept")],
)
def test_acks_within_a_round_trip(changes, first, second):
    """Without a reference a second ACK compounds; without fast reaction only the ACK that ends a round trip counts."""
    state = make(**changes)
    ack(state, 1, 100, 0, 0)
    rates = [LINE]
    for i in (1, 2):
        ack(state, 1 + i, 100, i * T, i * 325_000)
        rates.append(state[2].rate_bps)
    assert (rates[1] < LINE) == (first == "cut")
    assert (rates[2] < 0.8 * rates[1]) == (second == "cut")
    ack(state, 101, 200, 3 * T, 3 * 325_000)
    assert state[2].rate_bps < LINE


def test_another_path_length_or_simultaneous_records_change_nothing():
    state = make()
    sender = state[2]
    ack(state, 1, 100, 0, 0)
    sender.hops = 2
    ack(state, 2, 100, T, 400_000)
    assert (sender.rate_bps, sender.hops) == (LINE, 1)
    before = sender.inflight
    ack(state, 3, 100, T, 400_000)  # no time between the records
    assert sender.inflight == before


def test_a_rate_step_scales_with_the_link():
    """10 Mb/s at 25 Gb/s are 40 Mb/s at 100: 65 bytes in 13 us, not 80."""
    _, _, sender, _, _ = make(additive_bps="10Mbps", reference_bps="25Gbps")
    assert sender.step_bps == 40e6
    assert sender.step_bps * T / 8e12 == 65.0
    assert make()[2].step_bps * T / 8e12 == pytest.approx(80.0)


NETWORK = {"rate": "100Gbps", "delay": "1us"}


def steady(engine, flows, max_stage, until="600us", since="300us"):
    """Return the mean and the largest queue, and each host's received bytes over the link's capacity."""
    scheme = rdmacc.scheme("hpcc", max_stage=max_stage, base_rtt_ps="4.4us", additive_bytes="10B")
    work = rdmacc.long_flows([(f"h{i}", "h0") for i in range(1, flows + 1)], "1GB")
    simulation = rdmacc.Simulation(
        rdmacc.star(flows + 1, **NETWORK), work, scheme, engine=engine, probes=[probes.queue("s0", "h0", "1us")]
    )
    before = simulation.run(since).outcome.messages["received_packets"].sum()
    result = simulation.run(until)
    packets = result.outcome.messages["received_packets"].sum() - before
    span_s = (rdmacc.units.time_ps(until) - rdmacc.units.time_ps(since)) * 1e-12
    queue = result.samples("queue s0->h0")
    return queue[queue.index >= rdmacc.units.time_ps(since)], packets * 1090 * 8 / span_s / LINE, result


@pytest.mark.parametrize(("flows", "max_stage"), [(1, 0), (2, 0), (4, 0), (2, 5)])
def test_the_steady_state_matches_the_model(engine, flows, max_stage):
    """The link carries eta + N W_AI / (B T) of its rate, and the queue is nearly empty."""
    queue, used, result = steady(engine, flows, max_stage)
    model = HpccSteady(flows=flows, capacity_bps=LINE, rtt_ps=us(4.4), additive_bytes=10, max_stage=max_stage)
    assert used == pytest.approx(model.steady_state()["utilisation"], abs=0.02)
    assert queue.mean() < 2 * 1090
    assert result.counters.pfc_pauses == 0


def test_a_rate_in_whole_bits_per_second():
    """ns-3's DataRate truncates the quotient, not the step that is added to it."""
    for whole in (False, True):
        state = make(whole_bps=whole, max_stage=0, additive_bps=1e6)
        sender = state[2]
        ack(state, 1, 162, 0, 0)
        ack(state, 163, 300, T, 200_003)
        quotient = LINE / (sender.inflight / 0.95)
        assert quotient % 1 > 0
        assert sender.rate_bps == (quotient // 1 if whole else quotient) + 1e6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hpcc", "timely", "dctcp"])
@pytest.mark.parametrize(
    ("case", "engine"),
    [("8 x 1 MB", "simpy"), *((case, "compiled") for case in ("8 x 1 MB", "8 x 10 MB", "32 x 1 MB", "permutation"))],
)
def test_every_flow_is_exact(name, case, engine):
    """On stars, and where data and ACKs meet in every switch, on the paths that the HPCC simulator chose."""
    rows = theirs("hpcc_ns3")
    wanted = rows[rows["point"] == f"{name}, {case}"].set_index("flow")["fct_ps"]
    point = next(one for one in experiment("validation.hpcc_ns3").points() if one.name == f"{name}, {case}")
    flows = replace(point.scenario, engine=engine).run().flows.set_index("flow")
    assert len(flows) == len(wanted) >= 8
    assert flows["fct_acked_ps"].loc[wanted.index].tolist() == wanted.tolist()


def test_whole_nanoseconds_come_out_one_short():
    """ns-3's `Seconds(double)` truncates them like this; other times lose their fraction."""
    assert cut_ps(1056, 1e9, 1000) == ns(8447)
    assert cut_ps(1048, 100e9, 1000) == ns(83)
    assert cut_ps(1090, 100e9, 1000) == ns(87)
    assert cut_ps(1000, 100e9, 1000) == ns(79)
    assert cut_ps(1048, 1e-3, 1000) == 10**17  # a day, longer than any run


def test_pauses_take_transmission_time_when_compiled():
    """The scheme pauses, and longer frames change when flows end."""
    graph = rdmacc.star(9, rate="100Gbps", delay="1us", buffer="1MB")
    work = workload.incast([f"h{i}" for i in range(8)], "h8", 400_000)
    ends = {}
    for frame_bytes in (43, 1500):
        scheme = rdmacc.preset("hpcc-ns3")["timely"].replace(**{"Pfc.frame_bytes": frame_bytes})
        runs = [rdmacc.simulate(graph, work, scheme, engine=name, progress=False) for name in ("simpy", "compiled")]
        assert runs[0].counters.pfc_pauses == runs[1].counters.pfc_pauses > 0
        ends[frame_bytes], again = (run.flows["fct_acked_ps"].tolist() for run in runs)
        assert ends[frame_bytes] == again
    assert ends[43] != ends[1500]


def test_replies_have_a_separate_class_only_at_the_nic(engine):
    """On the wire and in switches they are data. If they share its class in the NIC too, a pause of data stops them."""
    graph = rdmacc.star(10, rate="10Gbps", buffer="1MB")
    work = workload.messages([(f"h{i}", "h9", 400_000) for i in range(8)] + [("h8", "h0", 10_000, "500us")])
    acked = {}
    for cls in (-1, CONTROL):
        scheme = rdmacc.scheme("line-rate", ack_priority=DATA_CLASS, nic_ack_priority=cls)
        result = rdmacc.simulate(graph, work, scheme, engine=engine, trace=True)
        assert result.counters.pfc_pauses > 0
        trace = result.packet_trace
        assert set(trace.loc[trace["kind"] == "ack", "priority"]) == {DATA_CLASS}
        acked[cls] = result.flows["fct_acked_ps"].iloc[8]
    assert acked[CONTROL] < acked[-1] - us(10)
    with pytest.raises(ConfigError, match="nic_ack_priority = 0.*-1, or a class from 2 to 10"):
        rdmacc.scheme("line-rate", nic_ack_priority=0)
