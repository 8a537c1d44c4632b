"""The trace: the same from both engines, every packet accounted for, and the faults that show in it.

`retransmissions` counts packets that were sent before, whatever the order of the others.
"""

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.faults import LinkDown, Loss, ScriptedLoss
from rdmacc.results.hops import find_hops
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES
from tests.support import mostly_at_night

ENGINES = ["simpy", "compiled"]


def run(engine, network=None, work=None, scheme="line-rate", **options):
    network = rdmacc.topology.igbn_pair() if network is None else network
    messages = rdmacc.messages([("h0", "h1", "12kB")]) if work is None else work
    return rdmacc.simulate(network, messages, scheme, engine=engine, trace=True, progress=False, **options)


def both(**arguments):
    """Run on both engines, assert equal traces, and return a result."""
    one, other = (run(engine, **arguments) for engine in ENGINES)
    assert len(one.outcome.trace) == len(other.outcome.trace)
    for name in one.outcome.trace.dtype.names:
        np.testing.assert_array_equal(one.outcome.trace[name], other.outcome.trace[name], err_msg=name)
    return one


DROPPING_TAIL = rdmacc.scheme("dcqcn", timeout_ps="200us", buffer=rdmacc.DropTail(limit_bytes="5kB"))

LEAF_SPINE = {
    "network": rdmacc.leaf_spine(2, 2, 2, rate="100Gbps"),
    "work": rdmacc.messages([("h0", "h2", "30kB"), ("h1", "h2", "30kB"), ("h3", "h0", "9kB")]),
}


def test_engines_make_the_same_trace_when_a_port_fails_while_others_are_paused_for_it():
    """Dropping its packets frees buffer space, so RESUME frames go out in between."""
    both(
        network=rdmacc.star(5, buffer="800kB"),
        work=rdmacc.incast(["h1", "h2", "h3", "h4"], "h0", "200kB"),
        scheme=rdmacc.scheme("line-rate").replace(buffer=rdmacc.Pfc(alpha=0.01)),
        faults=[LinkDown(link=("h0", "s0"), at_ps="20us")],
        until="60us",
    )


@pytest.mark.parametrize(
    "case",
    [
        {},
        {"faults": [Loss(data=0.05, control=0.05)], "until": "500us"},
        {"network": rdmacc.star(4), "work": rdmacc.incast(["h1", "h2", "h3"], "h0", "60kB"), "scheme": "dcqcn"},
        {**LEAF_SPINE, "scheme": DROPPING_TAIL, "until": "1ms"},
        {**LEAF_SPINE, "faults": [LinkDown(link=("leaf0", "spine0"), at_ps="2us")], "until": "300us"},
    ],
    ids=["lone", "loss", "incast", "drop-tail", "link-down"],
)
def test_engines_make_the_same_trace_and_every_packet_has_an_end(case):
    result = both(**case)
    trace, hops = result.packet_trace, find_hops(result)
    assert trace["time_ps"].is_monotonic_increasing
    what = trace["what"].value_counts()
    fates = hops["fate"].value_counts()
    was_sent = hops["sent_ps"].notna()
    # Each packet sent on a link arrives, is lost or is in flight; each drop belongs to a packet.
    assert what["sent"] == was_sent.sum() == result.counters[["data_packet_hops", "control_packet_hops"]].sum()
    assert what["arrived"] == fates["arrived"]
    assert what.get("dropped", 0) == fates.get("lost", 0) + fates.get("dropped", 0)
    counters = result.counters
    assert what.get("dropped", 0) == counters["dropped_packets"] + counters["lost_packets"] + counters["pfc_violations"]
    assert (hops.loc[~was_sent, "fate"] == "dropped").all()
    if "until" not in case:
        assert fates.get("under way", 0) == 0
    # A journey continues where the packet arrived, later.
    hops = hops.sort_values(["journey", "hop"], kind="stable")
    before, after = hops.iloc[:-1], hops.iloc[1:]
    same = before["journey"].to_numpy() == after["journey"].to_numpy()
    assert (before["peer"].to_numpy()[same] == after["node"].to_numpy()[same]).all()
    assert (before["fate"].to_numpy()[same] == "arrived").all()
    begin = after["sent_ps"].fillna(after["end_ps"]).to_numpy(np.int64)
    assert (begin[same] >= before["end_ps"].to_numpy()[same]).all()


def test_a_lone_message_hop_by_hop():
    result = both(work=rdmacc.messages([("h0", "h1", "2500B")]))
    hops = find_hops(result)
    data = hops[hops["kind"] == "data"]
    assert data[data["hop"] == 0]["sent_ps"].tolist() == [0, 209_600, 419_200]
    arrivals = data[data["hop"] == 1]["end_ps"].tolist()
    assert arrivals[0] == 2 * (209_600 + 1_000_000)
    assert arrivals[2] == result.flows["fct_ps"].iloc[0]
    assert data["wire_bytes"].tolist().count(548) == 2
    assert hops[hops["kind"] == "ack"]["psn"].unique().tolist() == [1, 2, 3]
    assert (hops["fate"] == "arrived").all()
    assert (hops["nth"] == 1).all()


def lost(result):
    hops = find_hops(result)
    rows = hops[hops["fate"] == "lost"]
    return list(zip(rows["kind"], rows["message"], rows["psn"], rows["nth"], strict=True))


def test_a_script_loses_exactly_the_transmissions_that_it_names():
    scheme = rdmacc.scheme("line-rate", timeout_ps="20us")
    scripts = [ScriptedLoss(message=0, psn=7, nth=nth) for nth in (1, 3)]
    result = both(scheme=scheme, faults=scripts)
    assert lost(result) == [("data", 0, 7, 1)]  # sent only twice, so there was no third time
    assert (result.flows["status"] == "finished").all()
    scripts = [ScriptedLoss(message=0, psn=7, nth=nth) for nth in (1, 2, 3)]
    result = both(scheme=scheme, faults=scripts)
    assert lost(result) == [("data", 0, 7, nth) for nth in (1, 2, 3)]
    assert (result.flows["status"] == "finished").all()


_LEAF_SPINE = rdmacc.leaf_spine(2, 3, 3)
_HOSTS = rdmacc.topology.hosts(_LEAF_SPINE)


def first_hops(result: Result) -> pd.DataFrame:
    """Return, from the trace, the packets of messages that hosts sent."""
    trace = result.packet_trace
    return trace[(trace["what"] == "sent") & (trace["kind"] == "data") & trace["node"].isin(_HOSTS)]


def sent_again(result: Result) -> np.ndarray:
    """Count in the trace, per message, how often hosts sent a packet again."""
    data = first_hops(result)
    again: pd.Series[int] = data.groupby("message").size() - data.groupby("message")["psn"].nunique()
    return again.reindex(range(len(result.flows)), fill_value=0).to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(sorted(SCHEMES), every=4))
def test_retransmissions_are_packets_that_appear_twice_in_the_trace(name: str) -> None:
    work = rdmacc.incast(_HOSTS[1:], _HOSTS[0], "60kB")
    faults = [Loss(data=0.02, control=0.02)]
    counts = []
    for engine in ("simpy", "compiled"):
        result = rdmacc.simulate(_LEAF_SPINE, work, name, engine=engine, faults=faults, until="3ms", trace=True)
        counts.append(result.flows["retransmissions"].to_numpy())
        assert (counts[-1] == sent_again(result)).all()
    assert (counts[0] == counts[1]).all()


def test_without_losses_there_are_no_retransmissions_in_any_order(engine: str) -> None:
    """pHost sends its tokens' packets; sprayed tokens overtake each other, yet no packet is sent twice."""
    work = rdmacc.permutation(_HOSTS, "300kB")
    scheme = rdmacc.scheme("phost").replace(buffer=rdmacc.Pfc(), resend_packets=1e4)
    result = rdmacc.simulate(_LEAF_SPINE, work, scheme, engine=engine, trace=True, progress=False)
    data = first_hops(result)
    assert (data.groupby("message")["psn"].diff() < 0).any()
    assert result.counters.dropped_packets == result.counters.retransmissions == sent_again(result).sum() == 0
