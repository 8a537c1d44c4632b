"""Compare the engines: their outcomes exactly, and their events up to the first difference."""

import numpy as np

from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.engine.trace import ROW
from rdmacc.interface import NEVER
from rdmacc.rules.ranks import class_and_number


def differences(one: RunOutcome, other: RunOutcome) -> list[str]:
    """Return the differences between two outcomes in words; empty if they are bit-identical."""
    found = [f"now_ps: {one.now_ps} and {other.now_ps}"] if one.now_ps != other.now_ps else []
    for place in ("messages", "computation", "ports", "hosts", "transfers"):
        mine, theirs = getattr(one, place), getattr(other, place)
        for name in mine:
            at = np.flatnonzero(mine[name] != theirs[name])
            if len(at):
                first = at[0]
                found.append(f"{place}[{first}].{name}: {mine[name][first]} and {theirs[name][first]}")
    at = np.flatnonzero(one.buffer_peak_bytes != other.buffer_peak_bytes)
    found += [f"buffer peak of node {n}" for n in at[:1]]
    for name in sorted(one.totals.keys() | other.totals.keys()):
        if one.totals.get(name) != other.totals.get(name):
            found.append(f"{name}: {one.totals.get(name)} and {other.totals.get(name)}")
    for number, ((times, values), (their_times, their_values)) in enumerate(
        zip(one.samples, other.samples, strict=True)
    ):
        if not np.array_equal(times, their_times) or not np.array_equal(values, their_values):
            found.append(f"samples of probe {number}")
    if one.trace is not None and other.trace is not None:
        mine, theirs = one.trace, other.trace
        if one.visits or other.visits:  # in windows, what happens at one instant is in the order of nodes
            mine, theirs = (rows[np.lexsort([rows[name] for name in ROW.names or ()])] for rows in (mine, theirs))
        if len(mine) != len(theirs) or (mine != theirs).any():
            found.append("trace")
    return found


def event_name(plan: Plan, time_ps: int, rank: int) -> str:
    name, number = class_and_number(plan.scheme, rank)
    where = f" {plan.fabric.port_name(number)}" if name in ("deliver", "wake") else ""
    return f"{name} {number}{where} at {time_ps} ps"


def first_difference(plan: Plan, until_ps: int = NEVER) -> str:
    """Run both engines event by event; describe the first event at which they differ, or return an empty text."""
    from rdmacc.engine.compiled.engine import CompiledEngine
    from rdmacc.engine.reference.network import Network

    reference, compiled = Network(plan), CompiledEngine(plan)
    last: list[str] = []
    while True:
        upcoming = [reference.peek(), compiled.peek()]
        if upcoming[0] != upcoming[1]:
            names = [event_name(plan, *event) if event else "nothing" for event in upcoming]
            before = "; ".join(last[-3:])
            return f"after {reference.events} events ({before}): SimPy does {names[0]}, the kernel {names[1]}"
        event = upcoming[0]
        if event is None or event[0] >= until_ps or not reference.unfinished:
            return "; ".join(differences(reference.outcome(), compiled.outcome()))
        last = [*last[-2:], event_name(plan, *event)]
        reference.step()
        compiled.step()
