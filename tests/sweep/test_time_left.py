"""The time left of a sweep, with a clock of our own: points end exactly when they are said to."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from rdmacc.sweep.time_left import TimeLeft


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def run(costs, seconds, processes, told=True, failing=()):
    """Return (share of the work that is done, seconds left as said, seconds left) whenever a point ends."""
    clock = Clock()
    time_left = TimeLeft(costs, processes if told else None, clock=clock)
    begin, waiting, running = clock.now, list(costs), []
    ends = []
    for name in waiting[:processes]:
        heapq.heappush(running, (clock.now + seconds[name], name))
    del waiting[:processes]
    done = 0.0
    while running:
        clock.now, name = heapq.heappop(running)
        time_left.finish(name, None if name in failing else seconds[name], 1_000_000)
        done += costs[name]
        ends.append((done / sum(costs.values()), time_left.left_s, clock.now))
        if waiting:
            name = waiting.pop(0)
            heapq.heappush(running, (clock.now + seconds[name], name))
    assert time_left.left_s in (0.0, None)
    assert time_left.hops_per_s == pytest.approx((len(costs) - len(failing)) * 1e6 / (clock.now - begin))
    return [(share, left, clock.now - now) for share, left, now in ends]


def costs_of(rng, count):
    """Return costs over two decades, the largest first, as a sweep starts them."""
    costs = sorted((10 ** rng.uniform(0, 2, count)).tolist(), reverse=True)
    return {f"point {i}": cost for i, cost in enumerate(costs)}


@pytest.mark.parametrize("processes", [1, 2, 3, 8])
def test_the_time_left_is_exact_if_costs_are(processes):
    costs = costs_of(np.random.default_rng(1), 60)
    for _, said, left in run(costs, {name: 3.7 * cost for name, cost in costs.items()}, processes):
        assert said == pytest.approx(left, abs=1e-6)


@pytest.mark.parametrize(("told", "after"), [(True, 0.1), (False, 0.5)])
@pytest.mark.parametrize("processes", [1, 2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_after_a_tenth_of_the_work_it_is_right_within_a_fifth(processes, seed, told, after):
    """Points take a third more or less than their cost says; how many are computed at once takes longer to learn."""
    rng = np.random.default_rng(seed)
    costs = costs_of(rng, 200)
    seconds = {name: 0.2 * cost * rng.uniform(0.67, 1.33) for name, cost in costs.items()}
    said = [(left, truth) for share, left, truth in run(costs, seconds, processes, told) if after <= share <= 0.9]
    assert len(said) > 30
    for left, truth in said:
        assert left == pytest.approx(truth, rel=0.2)


def test_time_passes_while_points_are_computed():
    clock = Clock()
    time_left = TimeLeft({"a": 4.0, "b": 4.0, "c": 2.0}, 2, clock=clock)
    assert time_left.left_s is None
    assert "unknown" in str(time_left)
    clock.now += 40.0
    time_left.finish("a", 40.0, 80_000_000)  # 10 s for a unit: b is late and may end any moment, c has begun
    assert time_left.left_s == pytest.approx(20.0)
    clock.now += 15.0
    assert time_left.left_s == pytest.approx(5.0)
    assert str(time_left) == "00:05 left, 1.5 M packet-hops/s"


def test_points_computed_before_tell_the_pace_until_one_is_finished():
    clock = Clock()
    time_left = TimeLeft({"a": 4.0, "b": 2.0}, 1, known=[(3.0, 1.0), (3.0, 1.0)], clock=clock)
    assert time_left.left_s == pytest.approx(18.0)
    clock.now += 4.0
    time_left.finish("a", 4.0)
    assert time_left.left_s == pytest.approx(2.0)
    assert str(time_left) == "00:02 left"


def test_a_point_that_fails_teaches_nothing_and_is_not_waited_for():
    costs = {f"point {i}": 1.0 for i in range(20)}
    seconds = dict.fromkeys(costs, 5.0) | {"point 1": 400.0, "point 2": 0.01}
    for share, said, left in run(costs, seconds, 1, failing=("point 1", "point 2")):
        if share >= 0.15:
            assert said == pytest.approx(left)


def test_hours_are_written_out():
    clock = Clock()
    time_left = TimeLeft({"a": 1.0, "b": 10.0}, 1, clock=clock)
    clock.now += 400.0
    time_left.finish("a", 400.0)
    assert str(time_left) == "1:06:40 left"
