"""`retransmissions` counts the packets that were sent before, whatever the order of the others."""

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.faults import Loss, ScriptedLoss
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES
from tests.support import mostly_at_night

_STAR = rdmacc.star(2)
_LEAF_SPINE = rdmacc.leaf_spine(2, 3, 3)
_HOSTS = rdmacc.topology.hosts(_LEAF_SPINE)


def first_hops(result: Result) -> pd.DataFrame:
    """Return the packets of messages that hosts sent, from the trace."""
    trace = result.packet_trace
    return trace[(trace["what"] == "sent") & (trace["kind"] == "data") & trace["node"].isin(_HOSTS)]


def sent_again(result: Result) -> np.ndarray:
    """Count in the trace how often hosts sent a packet of each message after its first time."""
    data = first_hops(result)
    again: pd.Series[int] = data.groupby("message").size() - data.groupby("message")["psn"].nunique()
    return again.reindex(range(len(result.flows)), fill_value=0).to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(sorted(SCHEMES), every=4))
def test_what_is_counted_is_what_the_trace_shows_twice(name: str) -> None:
    work = rdmacc.incast(_HOSTS[1:], _HOSTS[0], "60kB")
    faults = [Loss(data=0.02, control=0.02)]
    counts = []
    for engine in ("simpy", "compiled"):
        result = rdmacc.simulate(
            _LEAF_SPINE, work, name, engine=engine, faults=faults, until="3ms", trace=True, progress=False
        )
        counts.append(result.flows["retransmissions"].to_numpy())
        assert (counts[-1] == sent_again(result)).all()
    assert (counts[0] == counts[1]).all()


def test_without_losses_there_is_none_whatever_the_order(engine: str) -> None:
    """pHost sends its tokens' packets; sprayed tokens overtake one another, and none is sent twice so soon."""
    work = rdmacc.permutation(_HOSTS, "300kB")
    scheme = rdmacc.scheme("phost").replace(buffer=rdmacc.Pfc(), resend_packets=1e4)
    result = rdmacc.simulate(_LEAF_SPINE, work, scheme, engine=engine, trace=True, progress=False)
    data = first_hops(result)
    assert (data.groupby("message")["psn"].diff() < 0).any()
    assert result.counters.dropped_packets == result.counters.retransmissions == sent_again(result).sum() == 0


@pytest.mark.parametrize("lost", [0, 3, 9])
def test_go_back_n_sends_all_from_the_lost_packet_on_again(engine: str, lost: int) -> None:
    """Ten packets are on their way before the NAK comes, or, for the last one, the timeout."""
    work = rdmacc.messages([("h0", "h1", "10kB")])
    faults = [ScriptedLoss(message=0, psn=lost)]
    scheme = rdmacc.scheme("go-back-n").replace(timeout_ps="1ms", ack_every_packets=1)
    result = rdmacc.simulate(_STAR, work, scheme, engine=engine, faults=faults, progress=False)
    assert result.flows["retransmissions"][0] == 10 - lost


@pytest.mark.parametrize("name", ["irn", "ndp", "homa", "phost"])
def test_others_send_only_what_was_lost_again(engine: str, name: str) -> None:
    scheme = rdmacc.scheme(name)
    work = rdmacc.messages([("h0", "h1", 20 * scheme.payload_bytes)])
    faults = [ScriptedLoss(message=0, psn=psn) for psn in (12, 17)] + [ScriptedLoss(message=0, psn=12, nth=2)]
    result = rdmacc.simulate(_STAR, work, scheme, engine=engine, faults=faults, progress=False)
    assert (result.flows["status"][0], result.flows["retransmissions"][0]) == ("finished", 3)
