"""Polo: the number of packets driven beyond one for each, by the marks of an epoch; losses found without a timeout."""

import numpy as np
import pytest

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.protocols.polo import Polo, end_epoch
from tests.protocols.test_ren import dumbbell
from tests.support import check_finished, samples


def after(epochs, answered=1):
    """Return D after some epochs, each (packets that came, those marked)."""
    transfer = Polo.Transfer()
    transfer.answered = answered
    for came, marked in epochs:
        transfer.came, transfer.came_marked = came, marked
        end_epoch(transfer)
        transfer.answered += 1
    return transfer.extra


def test_the_first_epoch_counts_unmarked_packets():
    assert after([(10, 3)]) == 7
    assert after([(10, 3)], answered=0) == 0  # before the first adjoint packet there is no epoch


def test_one_more_for_each_epoch_without_marks():
    assert [after([(0, 0)] + [(10, 0)] * n) for n in range(5)] == [0, 1, 2, 3, 4]


def test_half_of_the_marked_packets_fewer():
    assert after([(10, 0), (20, 8)]) == 6
    assert after([(10, 0), (20, 7)]) == 7  # rounded down
    assert after([(0, 0), (1, 1)]) == 0  # the last packet is driven


def test_the_difference_is_driven_or_withheld():
    for marked, change in ((0, 1), (6, -3)):
        transfer = Polo.Transfer()
        transfer.answered, transfer.extra, transfer.came, transfer.came_marked = 2, 10, 10, marked
        end_epoch(transfer)
        assert (transfer.change, transfer.withhold) == (change, max(0, -change))
        assert transfer.extra == 10 + change


def test_it_fills_the_link_and_slows_down_on_marks(engine):
    """4 packets in 8 slots: one more each epoch until a queue of 4 is marked, then fewer; a queue like a saw."""
    scheme = rdmacc.scheme("polo").replace(unscheduled_packets=4, timeout_rtts=20.0, kmin_bytes="6kB")
    work = rdmacc.messages([("h0", "h2", 500 * 1460)])
    watch = [rdmacc.probes.field("flow", 0, "extra", every="9.604us"), rdmacc.probes.queue("s0", "s1", every="9.604us")]
    result = rdmacc.simulate(dumbbell(8), work, scheme, engine=engine, probes=watch, progress=False)
    check_finished(result)
    extra, queue = (np.array(samples(result, probe.name))[:, 1] for probe in watch)
    steps = np.diff(extra)
    assert set(steps[steps > 0]) <= {1, 2, 4}  # the first epoch, then 1; two epochs may end between samples
    assert (steps < 0).any()
    assert 4 <= queue.max() / 1500 <= 8
    assert result.flows["slowdown"].iloc[0] < 1.15
    assert result.counters.timeouts == result.counters.retransmissions == 0


@pytest.mark.parametrize("nth", [2, 5, 9])
def test_a_loss_in_the_burst_needs_no_timeout(engine, nth):
    scheme = rdmacc.scheme("polo").replace(unscheduled_packets=8, timeout_rtts=50.0, kmin_bytes="6kB")
    work = rdmacc.messages([("h0", "h2", 100 * 1460)])
    faults = [ScriptedLoss(message=0, psn=None, nth=nth)]
    result = rdmacc.simulate(dumbbell(8), work, scheme, engine=engine, faults=faults, progress=False)
    check_finished(result)
    assert result.counters.timeouts == 0
    assert result.counters.retransmissions == 1
