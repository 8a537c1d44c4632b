"""What each lab asks, and how an answer is judged: against numbers computed here, from what the starter defines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import brentq

import rdmacc
from rdmacc.notebooks.labs import Question

Truth = Callable[[SimpleNamespace], Any]


def number(truth: Truth, within: float = 0.01) -> Callable[[Any, SimpleNamespace], str]:
    """Judge a number, or numbers in a list or a dictionary, each within a share of the right one."""

    def judge(answer: Any, lab: SimpleNamespace) -> str:
        return _far(answer, truth(lab), within)

    return judge


def same(truth: Truth) -> Callable[[Any, SimpleNamespace], str]:
    """Judge an answer that must be equal to the right one: a name, or a set of names."""
    return lambda answer, lab: "" if answer == truth(lab) else f"{answer!r} is not what the simulation says"


def _far(answer: Any, right: Any, within: float) -> str:
    if isinstance(right, dict):
        if set(answer) != set(right):
            return f"needs the keys {', '.join(map(repr, right))}"
        return "; ".join(f"{key}: {wrong}" for key in right if (wrong := _far(answer[key], right[key], within)))
    if isinstance(right, list):
        if len(answer) != len(right):
            return f"needs {len(right)} numbers"
        return _far(dict(enumerate(answer)), dict(enumerate(right)), within)
    if right is None or answer is None:
        return "" if right is answer else f"{answer} is not what the simulation says"
    value = float(answer)
    if math.isclose(value, right, rel_tol=within):
        return ""
    return f"{value:.4g} is too {'large' if value > right else 'small'}" if math.isfinite(value) else "is not a number"


# Lab 1


def _small(flows: pd.DataFrame) -> pd.Series[Any]:
    return flows[flows["size_bytes"] == 4000].iloc[0]


def _drain_us(lab: SimpleNamespace) -> float:
    scheme = rdmacc.scheme("dcqcn")
    return 8 * 64_000 * scheme.wire_bytes / scheme.payload_bytes * 8 / 100e9 * 1e6


def _waiting(lab: SimpleNamespace) -> float:
    return 1 - 1 / float(_small(rdmacc.simulate(lab.network, lab.crowd(32), "dcqcn").flows)["slowdown"])


def _unharmed(lab: SimpleNamespace) -> set[str]:
    runs = {name: rdmacc.simulate(lab.network, lab.long_work, name).flows for name in lab.SCHEMES}
    return {name for name, flows in runs.items() if _small(flows)["fct_us"] < 10}


def _slowest(lab: SimpleNamespace) -> str:
    def end_ps(name: str) -> int:
        flows = rdmacc.simulate(lab.network, lab.long_work, name).flows
        return int((flows["start_ps"] + flows["fct_ps"]).max())

    return max(_unharmed(lab), key=end_ps)


# Lab 2


def _jain(answer: Callable[[Sequence[float]], float], lab: SimpleNamespace) -> str:
    draw = np.random.default_rng(0).uniform(1, 9, 7)
    for shares, right in (
        ([3.0, 3.0, 3.0], 1.0),
        ([5.0, 0.0, 0.0, 0.0], 0.25),
        ([2.0, 0.0, 2.0, 0.0], 0.5),
        (list(draw), 1 / (1 + float(np.var(draw)) / float(np.mean(draw)) ** 2)),  # by the coefficient of variation
    ):
        if wrong := _far(answer(shares), right, 1e-9):
            return f"of {np.round(shares, 2).tolist()}: {wrong}"
    return ""


def _converged_us(lab: SimpleNamespace) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in ("dcqcn", "hpcc", "swift", "dasr"):
        rows = lab.packets(name).loc[1_500_000_000:]
        fair = rows.sum(axis=1) ** 2 >= 0.95 * 4 * (rows**2).sum(axis=1)
        stays = fair[::-1].cummin()[::-1]
        found[name] = (stays.idxmax() - 1_500_000_000) / 1e6 if stays.any() else None
    return found


def _hpcc_share(lab: SimpleNamespace) -> float:
    hpcc, swift = (lab.packets(name).loc[2_500_000_001:].to_numpy().sum() for name in ("hpcc", "swift"))
    return float(hpcc / swift)


def _goodputs(lab: SimpleNamespace) -> dict[str, list[float]]:
    runs = {name: rdmacc.simulate(lab.parking, lab.crossing, name, until="3ms") for name in ("swift", "hpcc")}
    return {name: [run.goodput(flow) / 1e9 for flow in range(4)] for name, run in runs.items()}


# Lab 3


def _swing(lab: SimpleNamespace) -> float:
    late, soon = (lab.found[delay].frame for delay in ("85us", "4us"))
    queues = [frame[(frame["quantity"] == "queue") & (frame["x"] >= 20e9)]["simulation"] for frame in (late, soon)]
    return float(queues[0].std() / queues[1].std())


def _queue_bytes(lab: SimpleNamespace, flows: int) -> float:
    return float(lab.loop(flows).fluid.fixed_point()["queue_bytes"])


# Lab 4

_FOUR = ("line-rate", "dcqcn", "hpcc", "swift")


def _victim(lab: SimpleNamespace, names: Sequence[str], victim_class: int) -> dict[str, float]:
    runs = {name: rdmacc.simulate(lab.fabric(), lab.work(victim_class), name) for name in names}
    return {name: float(run.flows["slowdown"].iloc[-1]) for name, run in runs.items()}


def _enough_mb(lab: SimpleNamespace) -> int:
    sizes = range(2, 64)
    return next(
        mb for mb in sizes if not rdmacc.simulate(lab.fabric(f"{mb}MB"), lab.work(), "dcqcn").ports["pauses"].any()
    )


def _circle(lab: SimpleNamespace, name: str) -> set[str]:
    """Return the ports of the deadlock, if there is one."""
    try:
        rdmacc.simulate(lab.circle(), lab.clockwise, name)
    except rdmacc.DeadlockError as error:
        return set(error.ports)
    return set()


# Lab 5


def _beats_dcqcn(mine: Any, lab: SimpleNamespace) -> str:
    small = rdmacc.incast(["h1", "h2", "h3"], "h0", "64kB")
    first, second = (rdmacc.simulate(lab.network, small, mine, engine=engine).flows for engine in ("simpy", "compiled"))
    if not first.equals(second):
        return "the engines differ"
    ratios = [np.divide(lab.tail_and_mean(mine, seed), lab.tail_and_mean("dcqcn", seed)) for seed in (101, 102, 103)]
    tail, mean = np.median(ratios, axis=0)
    wrong = [f"the tail of the small messages is {tail:.2f} times DCQCN's"] * (not tail <= 0.5)
    return "; ".join(wrong + [f"the mean of the large messages is {mean:.2f} times DCQCN's"] * (not mean <= 1.2))


LABS: dict[int, tuple[Question, ...]] = {
    1: (
        Question("drain_us", "a time in microseconds", number(_drain_us, 0.003)),
        Question("median_us", "a time in microseconds", number(lambda lab: lab.result.flows["fct_us"].median(), 0.003)),
        Question(
            "queue_share",
            "a number from 0 to 1",
            number(lambda lab: lab.result.summary().peak_queue_bytes * 8 / 100e3 / _drain_us(lab)),
        ),
        Question(
            "small_us",
            "a dictionary of times in microseconds",
            number(
                lambda lab: {
                    n: _small(rdmacc.simulate(lab.network, lab.crowd(n), "dcqcn").flows)["fct_us"] for n in (1, 8, 32)
                }
            ),
        ),
        Question("waiting_share", "a number from 0 to 1", number(_waiting, 0.003)),
        Question("unharmed", "a set of names", same(_unharmed)),
        Question("slowest", "a name", same(_slowest)),
    ),
    2: (
        Question("jain", "a function", _jain),
        Question("converged_us", "a dictionary of times in microseconds, or None", number(_converged_us)),
        Question("hpcc_share", "a number from 0 to 1", number(_hpcc_share)),
        Question("max_min_gbps", "four rates in Gb/s", number(lambda lab: [100 / 3, 200 / 3, 100 / 3, 100 / 3])),
        Question("goodput_gbps", "a dictionary of four rates each, in Gb/s", number(_goodputs)),
        Question("missed", "a ratio", number(lambda lab: 100 / 3 / _goodputs(lab)["swift"][0])),
    ),
    3: (
        Question("fixed_queue_kb", "a size in kB", number(lambda lab: _queue_bytes(lab, 8) / 1e3)),
        Question(
            "most_flows",
            "a number of flows",
            same(lambda lab: next(n for n in range(2, 100) if _queue_bytes(lab, n + 1) >= 200e3)),
        ),
        Question(
            "least_stable",
            "a number of flows",
            same(lambda lab: min(range(2, 65), key=lambda n: lab.loop(n).margins().phase_deg)),
        ),
        Question(
            "critical_us",
            "a time in microseconds",
            number(lambda lab: brentq(lambda us: lab.loop(10, f"{us}us").margins().phase_deg, 20, 100), 0.016),
        ),
        Question(
            "stable_pmax",
            "a probability",
            number(
                lambda lab: next(
                    p for p in (0.01 / 2**k for k in range(1, 9)) if lab.loop(10, "85us", p).margins().phase_deg > 0
                )
            ),
        ),
        Question("swing_ratio", "a ratio", number(_swing, 0.02)),
    ),
    4: (
        Question("round_trip_bytes", "a number of bytes", number(lambda lab: 2 * 1e-6 * 100e9 / 8)),
        Question("victim_slowdown", "a dictionary of slowdowns", number(lambda lab: _victim(lab, _FOUR, 3))),
        Question(
            "paused_us",
            "a time in microseconds",
            number(lambda lab: lab.result.ports.set_index("port")["paused_ps"]["s0->s1"] / 1e6),
        ),
        Question("root", "the name of a port", same(lambda lab: "s1->h5")),
        Question("own_class_slowdown", "a dictionary of slowdowns", number(lambda lab: _victim(lab, _FOUR[:2], 4))),
        Question("enough_mb", "a whole number of MB", same(_enough_mb)),
        Question("waiting_ports", "a set of names of ports", same(lambda lab: _circle(lab, "line-rate"))),
        Question(
            "survivors",
            "a set of names",
            same(lambda lab: {name for name in _FOUR[1:] if not _circle(lab, name)}),
        ),
    ),
    5: (Question("mine", "a Scheme", _beats_dcqcn),),
}
