"""REN, figure 9: queue and utilisation under random arrivals and departures, equations (1) to (9) and packets.

The equations (`rdmacc.models.ren_figures`, where the choices that the paper leaves open are named), and beside them
packets on the same arrivals and departures, trial by trial: flows at line rate through one link of 40 Gb/s with a
round trip of 10 us, each from a host of its own. A flow leaves by the failure of its host's link. (a) Flows arrive at
the start of a round. (b) F flows share the link without a queue; their packets have 150 bytes, so that the share of a
flow in the bandwidth-delay product is 17 packets for F = 20, and 11 for F = 30. They start within a round trip, and
leave from the sixth round on.

Where they part: a flow without marks holds its bandwidth-delay product for good, and takes all of it away when it
leaves, its share of the queue included; equation (4) takes only a share of one. Equation (3) drains from the round of
the arrivals on; packets carry the marks back first.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import rdmacc
from rdmacc import topology
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Run
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.ren.known import known
from rdmacc.experiments.ren.setup import LOOKS, PACKET_BYTES, SIMULATED, SIMULATED_LINE_BPS, SIMULATED_RTT_PS
from rdmacc.faults import LinkDown
from rdmacc.models.ren import bdp_packets, departures_at_most, queue_lengths, throughputs
from rdmacc.models.ren_figures import STRENGTHS, RenQueue, RenUtilisation
from rdmacc.plotting.style import style
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import tidy
from rdmacc.units import bps, ps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure9"]

Counts = npt.NDArray[np.int64]

ROUNDS = 20
CAPACITIES = (10e9, 40e9)
FLOWS = (20, 30)
_PROTOCOLS = {"REN": "ren", "traditional": "traditional"}
_WARM_UP = 5
_SMALL_BYTES, _HEADER_BYTES = 150, 40
_DRAWS = 5009


def _network(senders: int) -> Any:
    return topology.dumbbell(senders, 1, rate=SIMULATED_LINE_BPS, delay=ps(SIMULATED_RTT_PS // 6), buffer="200MB")


def _departing(chance: np.random.Generator, arrived: Counts, leave: Counts) -> dict[int, int]:
    """Return the round in which each flow that leaves does so: any of those that came in an earlier round."""
    gone: dict[int, int] = {}
    for number, count in enumerate(leave):
        here = [flow for flow in range(int(arrived[:number].sum())) if flow not in gone]
        gone.update(dict.fromkeys(chance.permutation(here)[: int(count)].tolist(), number))
    return gone


def _queue_trial(strength: float, protocol: str, seed: int) -> tuple[Scenario | None, dict[str, float]]:
    """Return the packets of one trial of (a), and the mean queue of the equations for it."""
    chance = np.random.default_rng([seed, round(100 * strength), _DRAWS])
    arrivals, wanted = (chance.poisson(strength, ROUNDS) for _ in range(2))
    leave = departures_at_most(wanted, arrivals)
    bdp = bdp_packets(SIMULATED_LINE_BPS, SIMULATED_RTT_PS, PACKET_BYTES)
    model = {"model": float(queue_lengths(arrivals, leave, bdp, is_ren=protocol == "REN").mean())}
    flows = int(arrivals.sum())
    if flows == 0:
        return None, model
    rounds = np.repeat(np.arange(ROUNDS), arrivals)
    starts = rounds * SIMULATED_RTT_PS + chance.integers(0, 300_000, flows)  # within a packet's time
    work = rdmacc.messages([(f"h{i}", f"h{flows}", 10**9) for i in range(flows)]).assign(start_ps=starts)
    downs = [
        LinkDown(link=(f"h{flow}", "s0"), at_ps=ps(number * SIMULATED_RTT_PS))
        for flow, number in _departing(chance, arrivals, leave).items()
    ]
    scheme = SIMULATED[_PROTOCOLS[protocol]].replace(
        **{"DropTail.limit_bytes": "100MB", "GrantClock.least_timeout_ps": "10ms", "unscheduled_packets": round(bdp)}
    )
    scenario = Scenario(
        topology=partial(_network, flows), workload=work, scheme=scheme, seed=seed, faults=downs,
        until=ps(ROUNDS * SIMULATED_RTT_PS + 1), probes=[rdmacc.probes.queue("s0", "s1", every=ps(SIMULATED_RTT_PS))],
    )  # fmt: skip
    return scenario, model


def _use_trial(count: int, strength: float, protocol: str, seed: int) -> tuple[Scenario, dict[str, float]]:
    """Return the packets of one trial of (b), and the mean utilisation of the equations for it."""
    chance = np.random.default_rng([seed, round(100 * strength), count, _DRAWS])
    wanted = chance.poisson(strength, ROUNDS)
    ren, traditional, left = throughputs(count, wanted)
    active = left > 0
    use = ren if protocol == "REN" else traditional
    gone = np.diff(np.concatenate([[count], left])) * -1
    starts = np.linspace(0, SIMULATED_RTT_PS, count, endpoint=False).astype(np.int64)
    work = rdmacc.messages([(f"h{i}", f"h{count}", 10**9) for i in range(count)]).assign(start_ps=starts)
    order = chance.permutation(count).tolist()
    downs = []
    for number, leaving in enumerate(gone):
        at_ps = ps((number + _WARM_UP) * SIMULATED_RTT_PS)
        downs += [LinkDown(link=(f"h{order.pop()}", "s0"), at_ps=at_ps) for _ in range(int(leaving))]
    share = bdp_packets(SIMULATED_LINE_BPS, SIMULATED_RTT_PS, _SMALL_BYTES) / count
    scheme = SIMULATED[_PROTOCOLS[protocol]].replace(
        **{
            "payload_bytes": _SMALL_BYTES - _HEADER_BYTES, "unscheduled_packets": round(share),
            "GrantClock.least_timeout_ps": "10ms", "DropTail.limit_bytes": "100MB",
        }
    )  # fmt: skip
    scenario = Scenario(
        topology=partial(_network, count), workload=work, scheme=scheme, seed=seed, faults=downs,
        until=ps((ROUNDS + _WARM_UP) * SIMULATED_RTT_PS + 1),
        probes=[rdmacc.probes.throughput("s0", "s1", every=ps(SIMULATED_RTT_PS))],
    )  # fmt: skip
    return scenario, {"model": float(use[active].mean()) if active.any() else np.nan, "rounds": float(active.sum())}


def _of(table: pd.DataFrame, quantity: str, case: float) -> pd.DataFrame:
    """Return a quantity of a case, the capacity of (a) or F of (b), by strength and protocol."""
    rows = table[(table["quantity"] == quantity) & (table["case"] == case)]
    return rows.pivot_table(index="strength", columns="protocol", values="value")


def _ratio(table: pd.DataFrame) -> Verdict:
    words, least = [], []
    for capacity in CAPACITIES:
        queue = _of(table, "queue", capacity)
        ratio = queue["traditional"] / queue["REN"].clip(lower=1e-9)
        words.append(f"{capacity / 1e9:g} Gb/s: REN {queue['REN'].iloc[0]:.1f} to {queue['REN'].iloc[-1]:.1f} packets,"
                     f" traditional {ratio.min():.1f} to {ratio.max():.0f} times as many")  # fmt: skip
        least.append(ratio.min())
    return Verdict("; ".join(words), min(least) >= 5, min(least) > 1)


def _rises(table: pd.DataFrame) -> Verdict:
    queues = [_of(table, "queue", capacity)["traditional"] for capacity in CAPACITIES]
    words = "; ".join(f"{queue.iloc[0]:.1f} to {queue.iloc[-1]:.1f} packets" for queue in queues)
    return Verdict(words, all(after > before for queue in queues for before, after in pairwise(queue)))


def _more(table: pd.DataFrame) -> Verdict:
    gaps = {flows: 100 * _of(table, "utilisation", flows).diff(axis=1)["traditional"] * -1 for flows in FLOWS}
    words = "; ".join(f"F = {flows}: {gap.min():.1f} to {gap.max():.1f} points more" for flows, gap in gaps.items())
    return Verdict(words, all((gap > 0).all() for gap in gaps.values()))


def _grows(table: pd.DataFrame) -> Verdict:
    gaps = {flows: 100 * _of(table, "utilisation", flows).diff(axis=1)["traditional"] * -1 for flows in FLOWS}
    words = "; ".join(f"F = {flows}: " + ", ".join(f"{value:.1f}" for value in gap) for flows, gap in gaps.items())
    return Verdict(f"points: {words}", all(b > a for gap in gaps.values() for a, b in pairwise(gap)))


def _by_flows(table: pd.DataFrame) -> Verdict:
    few, many = (100 * _of(table, "utilisation", flows) for flows in FLOWS)
    last = few.index[-1]
    words = "; ".join(f"{name} {few[name].iloc[-1]:.1f} and {many[name].iloc[-1]:.1f}%" for name in few)
    return Verdict(f"F = 20 and 30 at strength {last:g}: {words}", bool((many > few).all().all()))


def _bdp(table: pd.DataFrame) -> Verdict:
    found = [table.loc[(table["quantity"] == "BDP") & (table["case"] == one), "value"].iloc[0] for one in CAPACITIES]
    return Verdict(f"{found[0]:.2f} and {found[1]:.2f} packets", [round(one, 2) for one in found] == [8.33, 33.33])


def _packets_queue(table: pd.DataFrame) -> Verdict:
    found, model = _of(table, "queue, packets", 40e9), _of(table, "queue, same draws", 40e9)
    words = "; ".join(
        f"{name} {', '.join(f'{a:.0f} ({b:.0f})' for a, b in zip(found[name], model[name], strict=True))}"
        for name in found
    )
    less = bool((found["REN"] < found["traditional"]).all())
    return Verdict(f"packets (equations on the same draws): {words}", less)


def _packets_use(table: pd.DataFrame) -> Verdict:
    words, off, more = [], [], []
    for flows in FLOWS:
        found, model = (100 * _of(table, f"utilisation, {name}", flows) for name in ("packets", "same draws"))
        words += [
            f"F = {flows}, {name}: "
            + ", ".join(f"{a:.0f} ({b:.0f})" for a, b in zip(found[name], model[name], strict=True))
            for name in found
        ]
        off.append((found - model)["traditional"].abs().max())
        more.append((found["REN"] > found["traditional"]).all())
    return Verdict(f"% (equations on the same draws): {'; '.join(words)}", bool(all(more)) and max(off) <= 10)


@register_experiment
class Figure9(Experiment):
    """Mean queue by arrivals, and utilisation by departures."""

    name = "ren.fig9"
    title = "Numerical analysis"
    description = "REN, figure 9: equations (1) to (9) for random arrivals and departures, and packets beside them"
    seed_stride = 20
    claims = (
        Claim(
            id="ren-f9a-1",
            place="4.3",
            quantity="mean queue",
            condition="10 and 40 Gb/s, every strength",
            published="REN ultra-low, near zero at small strengths",
            words="traditional at least 5 times REN's; direction: more",
            judge=_ratio,
        ),
        Claim(
            id="ren-f9a-2",
            place="4.3, figure 9a",
            quantity="traditional queue",
            condition="strength up",
            published="increases",
            words="with every step",
            judge=_rises,
        ),
        Claim(
            id="ren-f9b-1",
            place="4.3",
            quantity="utilisation",
            condition="F = 20, 30; 40 Gb/s",
            published="REN above traditional",
            words="at every strength",
            judge=_more,
        ),
        Claim(
            id="ren-f9b-2",
            place="4.3",
            quantity="REN's advantage in utilisation",
            condition="leaving strength up",
            published="grows",
            words="with every step, 20 rounds",
            judge=_grows,
        ),
        Claim(
            id="ren-f9b-3",
            place="figure 9b",
            quantity="utilisation",
            condition="F = 30 against 20",
            published="higher for the larger F",
            words="for both protocols, at every strength",
            judge=_by_flows,
        ),
        Claim(
            id="ren-f9-4",
            place="4.1",
            quantity="BDP",
            condition="10 and 40 Gb/s, 10 us, packets of 1,500 B",
            published="C RTT / MSS",
            words="8.33 and 33.33 packets",
            judge=_bdp,
        ),
        Claim(
            id="ren-f9-a",
            place="4.1",
            quantity="mean queue, packet by packet",
            condition="40 Gb/s",
            published="(equations 3 and 4)",
            words="REN's below the traditional one at every strength",
            judge=_packets_queue,
            **known("ren-f9-a"),
        ),
        Claim(
            id="ren-f9-b",
            place="4.2",
            quantity="utilisation, packet by packet",
            condition="F = 20, 30",
            published="(equations 7 to 9)",
            words="REN's above the traditional one at every strength; traditional within 10 points of the equations",
            judge=_packets_use,
            **known("ren-f9-b"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        trials, strengths = (2, (0.2, 1.0)) if is_quick else (20, (0.2, 0.4, 0.6, 0.8, 1.0))
        points = [Point(name="equations", labels={"seed": seed, "trials": 2000}, cost=0.1)]
        for strength in strengths:
            for protocol in _PROTOCOLS:
                for flows in (0, *FLOWS):
                    what = f"F = {flows}" if flows else "arrivals"
                    labels = {"seed": seed, "trials": trials}
                    points.append(Point(name=f"{what}, {protocol}, {strength:g}", labels=labels))
        return points

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        seed, trials = point.labels["seed"], point.labels["trials"]
        if point.name == "equations":
            return _equations(point.name, seed, trials)
        what, protocol, strength = point.name.split(", ")
        flows = int(what.removeprefix("F = ")) if what != "arrivals" else 0
        found, model, weights = [], [], []
        for number in range(trials):
            if flows:
                scenario, expected = _use_trial(flows, float(strength), protocol, seed + number)
                samples = run(scenario).samples("throughput s0->s1").to_numpy()[_WARM_UP:]
                counted = samples[: int(expected["rounds"])]
                found.append(float(counted.mean() / SIMULATED_LINE_BPS) if len(counted) else np.nan)
            else:
                queue, expected = _queue_trial(float(strength), protocol, seed + number)
                found.append(_mean_queue(run(queue)) if queue is not None else 0.0)
            model.append(expected["model"])
            weights.append(expected.get("rounds", 1.0))
        kept = np.isfinite(found) & np.isfinite(model)
        means = [float(np.average(np.array(v)[kept], weights=np.array(weights)[kept])) for v in (found, model)]
        quantity, unit = ("utilisation", "") if flows else ("queue", "packets")
        numbers = {f"{quantity}, packets": (means[0], unit), f"{quantity}, same draws": (means[1], unit)}
        labels = {"protocol": protocol, "strength": float(strength), "case": float(flows or SIMULATED_LINE_BPS)}
        return tidy(point.name, numbers).assign(**labels)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, axes = plt.subplots(1, 2, figsize=(12, 4.6))
            panels = (("queue", CAPACITIES, 1.0), ("utilisation", [float(flows) for flows in FLOWS], 100.0))
            for ax, (quantity, cases, factor) in zip(axes, panels, strict=True):
                for case, line in zip(cases, ("--", "-"), strict=True):
                    model = factor * _of(table, quantity, case)
                    words = f"C = {case / 1e9:g}G" if quantity == "queue" else f"F = {case:g}"
                    for protocol, scheme in _PROTOCOLS.items():
                        colour, marker = LOOKS[scheme][1:]
                        name = "REN" if protocol == "REN" else "Tra"
                        ax.plot(model.index, model[protocol], line, color=colour, label=f"{name} ({words}), equations")
                        if (table["quantity"] == f"{quantity}, packets").any() and case != CAPACITIES[0]:
                            found = factor * _of(table, f"{quantity}, packets", case)[protocol]
                            fill = "none" if line == "--" else colour
                            ax.plot(found.index, found, marker, color=colour, markerfacecolor=fill, markersize=7,
                                    label=f"{name} ({words}), packets")  # fmt: skip
                ax.legend(fontsize=7, ncols=2 if quantity == "utilisation" else 1)
            axes[0].set(title="(a) queue length", xlabel="flow arrival strength", ylabel="average queue (packets)")
            axes[1].set(
                title="(b) link utilisation", xlabel="flow leaving strength", ylabel="utilisation (%)", ylim=(20, 102)
            )
            figure.suptitle(f"REN, figure 9: {self.title}, {ROUNDS} rounds", x=0.01, ha="left", fontsize=12)
        return figure


def _mean_queue(result: Result) -> float:
    """Return the mean over the rounds of the queue at their ends."""
    samples = result.samples("queue s0->s1") / PACKET_BYTES
    ends = samples[samples.index >= SIMULATED_RTT_PS]
    return float(ends.iloc[:ROUNDS].mean())


def _equations(point: str, seed: int, trials: int) -> pd.DataFrame:
    frames = []
    for capacity in CAPACITIES:
        model = RenQueue(capacity_bps=bps(capacity), rounds=ROUNDS, trials=trials, seed=seed)
        frames.append(tidy(point, {"BDP": (model.bdp, "packets")}).assign(case=capacity))
        for row in model.evaluate(STRENGTHS).itertuples():
            labels = {"case": capacity, "protocol": row.protocol, "strength": row.strength}
            frames.append(tidy(point, {"queue": (row.queue_packets, "packets")}).assign(**labels))
    for flows in FLOWS:
        for row in (
            RenUtilisation(flows=flows, rounds=ROUNDS, trials=trials, seed=seed).evaluate(STRENGTHS).itertuples()
        ):
            labels = {"case": float(flows), "protocol": row.protocol, "strength": row.strength}
            frames.append(tidy(point, {"utilisation": (row.utilisation, "")}).assign(**labels))
    return pd.concat(frames, ignore_index=True)
