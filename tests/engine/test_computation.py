"""Computation on hosts, and dependencies with delays: schedules worked out by hand, on both engines."""

import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.topology.base_times import base_fct_ps
from rdmacc.topology.fabric import Fabric
from tests.support import refused

NET = rdmacc.star(4, rate="100Gbps", delay="1us")
US = 10**6


def alone_ps(size: int) -> int:
    """Return the time of a message between two hosts of the star."""
    fabric = Fabric.from_graph(NET)
    src, dst = fabric.hosts[:2].astype("i8")
    return int(base_fct_ps(fabric, src.reshape(1), dst.reshape(1), pd.Series([size]).to_numpy(), 1000, 48)[0])


def run(rows, engine, **options):
    return rdmacc.simulate(NET, rdmacc.messages(rows), "line-rate", engine=engine, progress=False, **options)


def test_a_step_of_two_hosts_takes_the_time_worked_out_by_hand(engine):
    result = run(
        [
            {"src": "h0", "duration": "4us"},
            {"src": "h0", "dst": "h1", "size": 50_000, "after": 0},
            {"src": "h1", "duration": "7us", "after": 1, "delay": "500ns"},
            {"src": "h1", "dst": "h0", "size": 1_000, "after": (2, 1), "delay": ("0ns", "9us")},
            {"src": "h0", "duration": "9us", "after": 3},
        ],
        engine,
    )
    arrives = 4 * US + alone_ps(50_000)
    back = arrives + 9 * US
    assert result.flows["flow"].tolist() == [1, 3]
    assert result.flows["start_ps"].tolist() == [4 * US, back]
    computation = result.computation.set_index("row")
    assert computation["start_ps"].to_dict() == {0: 0, 2: arrives + 500_000, 4: back + alone_ps(1_000)}
    assert computation["end_ps"].to_dict() == {0: 4 * US, 2: arrives + 7_500_000, 4: back + alone_ps(1_000) + 9 * US}
    assert computation["host"].tolist() == ["h0", "h1", "h0"]
    assert result.now_ps == computation["end_ps"][4], "the run lasts until the last row has ended"


def test_one_delay_per_message_would_not_suffice(engine):
    """Two messages with different ends and delays: the later sum decides, not the later end."""
    rows = [
        {"src": "h0", "dst": "h2", "size": 100_000},
        {"src": "h1", "dst": "h2", "size": 1_000, "start_ps": 3 * US},
        {"src": "h2", "dst": "h3", "size": 1_000, "after": (0, 1), "delay": ("0us", "40us")},
    ]
    start = run(rows, engine).flows["start_ps"][2]
    first, second = (int(x) for x in run(rows, engine).flows["fct_ps"][:2])
    assert start == max(first, 3 * US + second + 40 * US) == 3 * US + second + 40 * US


def test_packets_in_flight_are_counted_when_a_run_stops(engine):
    rows = [
        {"src": "h0", "duration": "4us"},
        {"src": "h0", "duration": "9us", "after": 0},
        {"src": "h1", "duration": "1us", "after": 1},
        {"src": "h0", "dst": "h1", "size": 1_000, "after": 0, "delay": "3us"},
    ]
    result = run(rows, engine, until="6us")
    assert result.computation["status"].tolist() == ["finished", "running", "waiting"]
    assert result.flows["status"].tolist() == ["waiting"]
    assert run(rows, engine).computation["status"].tolist() == ["finished"] * 3
    rows = [{"src": "h0", "duration": "0ns"}, {"src": "h0", "dst": "h1", "size": 1_000, "after": 0}]
    result = run(rows, engine, until="1ns")
    assert (result.computation["status"].tolist(), result.flows["status"].tolist()) == (["finished"], ["running"])


def test_rows_keep_their_labels(engine):
    """Probes, scripted losses and traces name messages by their rows, whether or not computation lies between them."""
    rows = [{"src": "h0", "duration": "4us"}, {"src": "h0", "dst": "h1", "size": 10_000, "after": 0}]
    loss = rdmacc.ScriptedLoss(message=1, psn=3)
    result = rdmacc.simulate(
        NET, rdmacc.messages(rows), "irn", engine=engine, faults=[loss], probes=[rdmacc.probes.rate(1)], trace=True
    )
    assert result.flows["retransmissions"].tolist() == [1]
    assert set(result.packet_trace["message"]) == {1}
    assert result.goodput(1) > 0
    with pytest.raises(ConfigError, match="that is a message"):
        rdmacc.simulate(NET, rdmacc.messages(rows), "irn", engine=engine, probes=[rdmacc.probes.rate(0)])


def test_files_and_saved_results_keep_them(engine, tmp_path):
    rows = [
        {"src": "h0", "duration": "4us"},
        {"src": "h0", "dst": "h1", "size": 10_000, "after": 0, "delay": "1us"},
        {"src": "h1", "dst": "h2", "size": 10_000, "after": (0, 1), "delay": ("1us", "2us")},
    ]
    work = rdmacc.messages(rows)
    from rdmacc.workload import to_csv, to_parquet

    to_csv(work, tmp_path / "step.csv")
    to_parquet(work, tmp_path / "step.parquet")
    pd.testing.assert_frame_equal(rdmacc.from_csv(tmp_path / "step.csv"), work)
    pd.testing.assert_frame_equal(rdmacc.from_parquet(tmp_path / "step.parquet"), work)
    result = rdmacc.simulate(NET, work, "dcqcn", engine=engine)
    back = rdmacc.load(result.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(back.computation, result.computation, check_dtype=False)


@pytest.mark.parametrize("given", [lambda schedule, frame: schedule, lambda schedule, frame: frame])
def test_copies_and_checkpoints_continue(engine, tmp_path, given):
    """Also if a plan of all rows is made during the run, as for pending faults."""
    made = rdmacc.cluster(2, 2)
    schedule, scheme = made.schedule("all_reduce", "2MB", algorithm="ring"), made.scheme("dcqcn")
    work = schedule.frame()
    simulation = rdmacc.Simulation(made.network, given(schedule, work), scheme, engine=engine)
    simulation.run("20us", progress=False)
    slow = rdmacc.SlowLink(link=made.nics(1)[0], share=0.5, at_ps="30us")
    twin = simulation.fork(faults=[slow]).run(progress=False)
    if engine == "compiled":
        simulation.save(tmp_path / "state")
        simulation = rdmacc.Simulation.load(tmp_path / "state")
    pd.testing.assert_frame_equal(simulation.workload, work)
    found = simulation.run(progress=False)
    for one, faults in ((found, []), (twin, [slow])):
        whole = rdmacc.simulate(made.network, work, scheme, engine=engine, faults=faults, progress=False)
        pd.testing.assert_frame_equal(one.flows, whole.flows)
        pd.testing.assert_frame_equal(one.computation, whole.computation)
    assert not twin.flows.equals(found.flows)


def test_messages_are_identified_by_row(engine):
    rows = [{"src": "h0", "duration": "4us"}, {"src": "h0", "dst": "h1", "size": 50_000, "after": 0}]
    simulation = rdmacc.Simulation(NET, rdmacc.messages(rows), "line-rate", engine=engine)
    end = simulation.run_until(1)
    assert (end.message, end.start_ps, end.fct_ps) == (1, 4 * US, alone_ps(50_000))
    refused(lambda: simulation.run_until(0), "computes")
