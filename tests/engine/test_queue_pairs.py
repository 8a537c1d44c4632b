"""Rows of queue pairs are created when a message is about to start, and freed when they are no longer read."""

import mmap

import numpy as np
import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.engine.compiled import engine as compiled_engine
from rdmacc.engine.compiled.engine import CompiledEngine
from rdmacc.engine.compiled.tables import queue_pairs
from rdmacc.engine.plan import make_plan
from rdmacc.faults import Loss
from rdmacc.interface import NEVER

MESSAGES = 3_000


def _plan(scheme, *, loss=0.0):
    network = rdmacc.star(9, rate="10Gbps", delay="1us")
    work = rdmacc.random_pairs([f"h{i}" for i in range(9)], MESSAGES, "3kB", seed=1)
    work["start_ps"] = np.random.default_rng(2).integers(0, 3_000, MESSAGES).cumsum() * 1_000
    faults = [Loss(data=loss, control=loss)] if loss else []
    return make_plan(network, work, rdmacc.scheme(scheme), faults=faults)


def _run(plan, monkeypatch, *, is_early):
    with monkeypatch.context() as patch:
        patch.setattr(compiled_engine, "_STARTS", 100)
        patch.setattr(queue_pairs, "_FREE_BLOCKS", 0)
        if is_early:
            patch.setattr(CompiledEngine, "_opens_early", lambda self: True)
        engine = CompiledEngine(plan)
        engine.run(NEVER)
    return engine


@pytest.mark.parametrize("loss", [0.0, 0.02])
@pytest.mark.parametrize("name", ["dcqcn", "go-back-n", "irn", "dctcp", "hpcc", "expresspass"])
def test_results_are_as_if_all_rows_were_there_from_the_start(name, loss, monkeypatch):
    plan = _plan(name, loss=loss)
    whole, lean = _run(plan, monkeypatch, is_early=True), _run(plan, monkeypatch, is_early=False)
    assert differences(whole.outcome(), lean.outcome()) == []
    assert whole.events == lean.events
    assert not lean.is_early
    assert len(whole.queue_pairs.blocks) == -(-plan.n_qps // queue_pairs.BLOCK)


def test_finished_rows_take_no_memory(monkeypatch):
    """All blocks but the last are returned: their pages read as zeros, like pages never written."""
    engine = _run(_plan("dcqcn"), monkeypatch, is_early=False)
    monkeypatch.setattr(queue_pairs, "_FREE_BLOCKS", 0)
    engine.queue_pairs.release(np.zeros(0, np.int32), [])
    is_written = engine.queue_pairs.raw.reshape(-1, mmap.PAGESIZE).any(axis=1)
    assert is_written.sum() * mmap.PAGESIZE < 2 * queue_pairs.BLOCK * engine.queue_pairs.row_bytes


def test_a_message_takes_at_most_300_bytes():
    """In the plan's columns and the engine's tables; packets, events and queue pairs are only as many as in use."""
    plan = _plan("dcqcn")
    engine = CompiledEngine(plan)
    in_use = {"qp", "packet", "heap", "nodes", "near_wheel", "far_wheel", "skipped"}
    arrays = [*vars(plan).values(), *(value for name, value in engine._memory.items() if name not in in_use)]
    taken = {
        id(array): len(array) * array.strides[0]
        for array in arrays
        if isinstance(array, np.ndarray) and len(array) >= MESSAGES
    }
    assert sum(taken.values()) > MESSAGES * engine.layout.row_bytes["message"]
    assert sum(taken.values()) <= 300 * MESSAGES
    assert engine.layout.row_bytes["packet"] <= 100
