"""Every picosecond of every message belongs to one part, whatever happens; both engines explain it alike."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError, HandlerError, SimulationError
from rdmacc.results.explain import Explanation
from rdmacc.results.explain.walk import KINDS
from rdmacc.schemes import SCHEMES
from tests.engine.scenarios import WIDENED, Scenario, draw, on_planes, with_computation

PER_BATCH = 20
WORDED_EVERY = 7
"""One in this many messages is also explained in words."""


def run(scenario: Scenario, engine: str, explain: bool | list[Any] = True, **options: Any) -> rdmacc.Result | None:
    """Run a scenario to whatever end, explaining all messages; return None if a handler's error ends it."""
    arguments = scenario.arguments() | {"engine": engine, "check": False, "explain": explain} | options
    simulation = rdmacc.Simulation(**arguments)
    try:
        simulation.run(scenario.until)
    except HandlerError:
        return None
    except SimulationError:
        pass
    return simulation.result()


def explanations(result: rdmacc.Result) -> dict[Any, Explanation]:
    """Return the explanations of all messages that have started."""
    found = {}
    asked = result.flows["flow"][result.plan.explained].tolist()
    for flow in asked:
        with suppress(ConfigError):
            found[flow] = result.explain(flow)
    flows = result.flows.set_index("flow")
    missing = flows.loc[[flow for flow in asked if flow not in found]]
    assert ((missing["status"].isin(["waiting", "failed"])) | (missing["start_ps"] > result.now_ps)).all()
    return found


def check(result: rdmacc.Result) -> None:
    """Check that the parts of each message's time follow one another, and sum to it."""
    flows = result.flows.set_index("flow")
    for number, (flow, why) in enumerate(explanations(result).items()):
        start, fct = flows.loc[flow, "start_ps"], flows.loc[flow, "fct_ps"]
        end = result.now_ps if fct is pd.NA else start + fct
        assert why.is_delivered == (fct is not pd.NA)
        at = start
        for span in why.spans:
            assert span.begin_ps == at
            assert span.end_ps > at
            assert span.kind in KINDS
            at = span.end_ps
        assert at == end or not why.spans
        assert why.parts["time_ps"].sum() == why.time_ps == end - start
        if number % WORDED_EVERY == 0:
            assert str(why).startswith(f"Message {flow} (")
            assert len(why.causes) >= 0


def batches(count: int, quick: int, slow: int) -> list[Any]:
    marks = [()] * quick + [pytest.mark.slow] * slow + [pytest.mark.nightly] * (count - quick - slow)
    return [pytest.param(batch, marks=mark) for batch, mark in enumerate(marks)]


def check_all(scenarios: Iterable[Scenario]) -> None:
    for scenario in scenarios:
        result = run(scenario, "simpy")
        if result is not None:
            check(result)


@pytest.mark.parametrize("batch", batches(40, quick=1, slow=2))
def test_times_sum_to_the_picosecond(batch: int) -> None:
    check_all(map(draw, range(batch * PER_BATCH, (batch + 1) * PER_BATCH)))


@pytest.mark.parametrize("batch", batches(40, quick=0, slow=1))
def test_times_of_widened_scenarios_sum(batch: int) -> None:
    """All schemes, with any legal parameters and ticks, links that fail and heavy losses."""
    check_all(map(draw, range(WIDENED + batch * PER_BATCH, WIDENED + (batch + 1) * PER_BATCH)))


@pytest.mark.parametrize("batch", batches(20, quick=0, slow=1))
def test_times_with_computation_and_several_links_sum(batch: int) -> None:
    for number in range(batch * PER_BATCH, (batch + 1) * PER_BATCH):
        check_all([with_computation(draw(number)), on_planes(number)])


@pytest.mark.parametrize("batch", batches(50, quick=1, slow=1))
def test_engines_explain_alike(batch: int) -> None:
    for number in range(batch * 3, (batch + 1) * 3):
        for scenario in (draw(number), draw(WIDENED + number)):
            scenario = replace(scenario, has_trace=scenario.has_trace and number % 2 == 0)
            one, other = run(scenario, "simpy"), run(scenario, "compiled")
            threads = run(scenario, "compiled", order="windows", threads=2)
            assert (one is None) == (other is None) == (threads is None)
            if one is not None and other is not None and threads is not None:
                same(one, other)
                same(one, threads)


def same(one: rdmacc.Result, other: rdmacc.Result) -> None:
    mine, theirs = explanations(one), explanations(other)
    assert mine.keys() == theirs.keys()
    for flow in mine:
        assert contents(mine[flow]) == contents(theirs[flow])
        assert mine[flow].found == theirs[flow].found


def contents(why: Explanation) -> list[Any]:
    """Return the parts of a message's time with the row that ended each, not its position, which depends on threads."""
    rows = why._recording.rows
    return [(*span[:5], rows[span.cause].tolist() if span.cause >= 0 else None) for span in why.spans]


@pytest.mark.parametrize("batch", batches(20, quick=1, slow=1))
def test_explaining_some_messages_gives_the_same_as_explaining_all(batch: int) -> None:
    """Except for what a port was sending when the first of them arrived there."""
    for number in range(batch * 8, (batch + 1) * 8):
        scenario = replace(draw(number), has_trace=False)
        every, flows = run(scenario, "simpy"), rdmacc.messages(scenario.workload).index[::3].tolist()
        engines = ("simpy", "compiled") if number % 8 < 2 else ("simpy",)
        some = [one for engine in engines if (one := run(scenario, engine, flows)) is not None]
        if every is None or not some:
            continue
        all_of_them, mine = explanations(every), explanations(some[0])
        assert set(mine) >= set(all_of_them) & set(flows)
        for flow, why in mine.items():
            assert [span[:5] for span in why.spans] == [span[:5] for span in all_of_them[flow].spans]
        if len(some) == 2:
            same(*some)
            one, other = (result.recording(result.plan.explained).rows for result in some)
            assert (one == other).all()


@pytest.mark.parametrize(
    "scheme", [pytest.param(name, marks=() if name in ("dcqcn", "ndp") else pytest.mark.slow) for name in SCHEMES]
)
def test_every_scheme_explains_an_incast(scheme: str) -> None:
    """On both engines, and in windows."""
    work = rdmacc.incast([f"h{number}" for number in range(1, 9)], "h0", "60kB")
    arguments = {"network": rdmacc.star(9), "workload": work, "scheme": scheme, "explain": True, "progress": False}
    one = rdmacc.simulate(**arguments, engine="simpy")
    check(one)
    same(one, rdmacc.simulate(**arguments, engine="compiled"))
    same(one, rdmacc.simulate(**arguments, engine="compiled", order="windows"))
