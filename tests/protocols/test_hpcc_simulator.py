"""The preset `hpcc-ns3` to the nanosecond: against that simulator's own results, and rule by rule."""

from dataclasses import replace

import pytest

import rdmacc
from rdmacc import ConfigError, workload
from rdmacc.experiments import experiment
from rdmacc.experiments.validation.references import theirs
from rdmacc.state import CONTROL, DATA_CLASS
from rdmacc.units import cut_ps, ns, us


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hpcc", "timely", "dctcp"])
@pytest.mark.parametrize(
    ("case", "engine"),
    [("8 x 1 MB", "simpy"), *((case, "compiled") for case in ("8 x 1 MB", "8 x 10 MB", "32 x 1 MB", "permutation"))],
)
def test_every_flow_is_exact(name, case, engine):
    """On stars; and where data and ACKs meet in every switch, on the paths that the HPCC simulator chose."""
    rows = theirs("hpcc_ns3")
    wanted = rows[rows["point"] == f"{name}, {case}"].set_index("flow")["fct_ps"]
    point = next(one for one in experiment("validation.hpcc_ns3").points() if one.name == f"{name}, {case}")
    flows = replace(point.scenario, engine=engine).run().flows.set_index("flow")
    assert len(flows) == len(wanted) >= 8
    assert flows["fct_acked_ps"].loc[wanted.index].tolist() == wanted.tolist()


def test_whole_nanoseconds_come_out_one_short():
    """As `Seconds(double)` of ns-3 cuts them; others lose their fraction."""
    assert cut_ps(1056, 1e9, 1000) == ns(8447)
    assert cut_ps(1048, 100e9, 1000) == ns(83)
    assert cut_ps(1090, 100e9, 1000) == ns(87)
    assert cut_ps(1000, 100e9, 1000) == ns(79)
    assert cut_ps(1048, 1e-3, 1000) == 10**17  # a day, longer than any run


def test_pauses_take_the_time_of_their_bytes():
    """In both engines: the scheme pauses, and and longer frames change when flows end."""
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


def test_replies_wait_in_a_class_of_their_own_at_the_nic_only(engine):
    """On the wire and in switches they are data; where they share its class in the NIC too, its pause stops them."""
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
