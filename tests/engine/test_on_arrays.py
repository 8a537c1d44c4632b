"""Functions of arrays that models have compiled: all kinds of arguments, and code that is never stale."""

import heapq

import numpy as np

from rdmacc.engine.compiled.machine_code.callees import call_on_arrays

FACTOR = 2.0


def scaled(value):
    return FACTOR * value


def ranked(values, chosen, count, scale, order, found):
    """Write the numbers of the chosen values, least first, and the least `count` of them, scaled twice."""
    queue = [(0.0, 0)]
    queue.clear()
    for i in range(len(values)):
        if chosen[i]:
            heapq.heappush(queue, (values[i], i))
    for rank in range(count):
        value, order[rank] = heapq.heappop(queue)
        found[rank] = scaled(scale * value)


def arguments():
    values = np.random.default_rng(3).random(100)
    return values, values > 0.5, 20, 3.0, np.zeros(20, np.int64), np.zeros(20)


def test_it_computes_what_python_does():
    for_python, for_machine = arguments(), arguments()
    ranked(*for_python)
    call_on_arrays(ranked, *for_machine)
    assert for_machine[4].tolist() == for_python[4].tolist() == sorted(for_python[4], key=for_python[0].__getitem__)
    assert for_machine[5].tolist() == for_python[5].tolist() != [0.0] * 20


def test_what_the_function_reaches_counts_at_once(monkeypatch):
    first, second = arguments(), arguments()
    call_on_arrays(ranked, *first)
    monkeypatch.setattr("tests.engine.test_on_arrays.FACTOR", 6.0)
    call_on_arrays(ranked, *second)
    assert second[5].tolist() == (3 * first[5]).tolist()
