"""REN, figure 9: queue and utilisation under random arrivals and departures, equations (1) to (9) and packets."""

from rdmacc.models.ren import bdp_packets, departures_at_most, queue_lengths, throughputs
from rdmacc.models.ren_figures import STRENGTHS, RenQueue, RenUtilisation
from ..api import *
from .setup import *

Counts = npt.NDArray[np.int64]

ROUNDS = 20
CAPACITIES = (10e9, 40e9)
FLOWS = (20, 30)
_PROTOCOLS = {"REN": "ren", "traditional": "traditional"}
_WARM_UP = 5
_SMALL_BYTES, _HEADER_BYTES = 150, 40
_DRAWS = 5009
_ABOVE = Each(Each(MoreThan(0), of="strength"), of="F")
_by_strength = partial(named, form="strength {:g}")
_EVERYWHERE = {"each": Each(MoreThan(0), of="strength")}


def _scenario(
    starts: Counts, leaves: Iterable[tuple[int, int]], rounds: int, protocol: str, seed: int,
    probe: Callable[..., probes.Probe], **changes: Any,
) -> Scenario:  # fmt: skip
    """Return flows that start at given times; some leave at the start of a round, given as (flow, round)."""
    flows, delay = len(starts), ps(SIMULATED_RTT_PS // 6)
    work = workload.messages([(f"h{i}", f"h{flows}", 10**9) for i in range(flows)]).assign(start_ps=starts)
    downs = [LinkDown(link=(f"h{flow}", "s0"), at_ps=ps(number * SIMULATED_RTT_PS)) for flow, number in leaves]
    return Scenario(
        network=partial(topology.dumbbell, flows, 1, rate=SIMULATED_LINE_BPS, delay=delay, buffer="200MB"),
        workload=work, seed=seed, faults=downs,
        scheme=SIMULATED[_PROTOCOLS[protocol]].replace(
            **{"DropTail.limit_bytes": "100MB", "GrantClock.least_timeout_ps": "10ms", **changes}
        ),
        until=ps(rounds * SIMULATED_RTT_PS + 1), probes=[probe("s0", "s1", every=ps(SIMULATED_RTT_PS))],
    )  # fmt: skip


def _departing(chance: np.random.Generator, arrived: Counts, leave: Counts) -> dict[int, int]:
    """Return the round in which each departing flow leaves, drawn from the flows of earlier rounds."""
    gone: dict[int, int] = {}
    for number, count in enumerate(leave):
        here = [flow for flow in range(int(arrived[:number].sum())) if flow not in gone]
        gone.update(dict.fromkeys(chance.permutation(here)[: int(count)].tolist(), number))
    return gone


def _queue_trial(strength: float, protocol: str, seed: int) -> tuple[Scenario | None, dict[str, float]]:
    """Return the scenario of a trial of (a), and the equations' mean queue for it."""
    chance = np.random.default_rng([seed, round(100 * strength), _DRAWS])
    arrivals, wanted = (chance.poisson(strength, ROUNDS) for _ in range(2))
    leave = departures_at_most(wanted, arrivals)
    bdp = bdp_packets(SIMULATED_LINE_BPS, SIMULATED_RTT_PS, PACKET_BYTES)
    model = {"model": float(queue_lengths(arrivals, leave, bdp, is_ren=protocol == "REN").mean())}
    flows = int(arrivals.sum())
    if flows == 0:
        return None, model
    rounds = np.repeat(np.arange(ROUNDS), arrivals)
    starts = rounds * SIMULATED_RTT_PS + chance.integers(0, 300_000, flows)  # spread over a packet's time
    leaves = _departing(chance, arrivals, leave).items()
    return _scenario(starts, leaves, ROUNDS, protocol, seed, probes.queue, unscheduled_packets=round(bdp)), model


def _use_trial(count: int, strength: float, protocol: str, seed: int) -> tuple[Scenario, dict[str, float]]:
    """Return the scenario of a trial of (b), and the equations' mean utilisation for it."""
    chance = np.random.default_rng([seed, round(100 * strength), count, _DRAWS])
    wanted = chance.poisson(strength, ROUNDS)
    ren, traditional, left = throughputs(count, wanted)
    active = left > 0
    use = ren if protocol == "REN" else traditional
    gone = np.diff(np.concatenate([[count], left])) * -1
    starts = np.linspace(0, SIMULATED_RTT_PS, count, endpoint=False).astype(np.int64)
    order = chance.permutation(count).tolist()
    leaves = [(order.pop(), number) for number, leaving in enumerate(gone, _WARM_UP) for _ in range(int(leaving))]
    share = bdp_packets(SIMULATED_LINE_BPS, SIMULATED_RTT_PS, _SMALL_BYTES) / count
    packets: dict[str, Any] = {"payload_bytes": _SMALL_BYTES - _HEADER_BYTES, "unscheduled_packets": round(share)}
    scenario = _scenario(starts, leaves, ROUNDS + _WARM_UP, protocol, seed, probes.throughput, **packets)
    return scenario, {"model": float(use[active].mean()) if active.any() else np.nan, "rounds": float(active.sum())}


def _of(table: pd.DataFrame, quantity: str, case: float) -> pd.DataFrame:
    """Return a quantity by strength and protocol, for a capacity of (a) or an F of (b)."""
    rows = table[(table["quantity"] == quantity) & (table["case"] == case)]
    return rows.pivot_table(index="strength", columns="protocol", values="value")


def _queues(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    return {f"{capacity / 1e9:g} Gb/s": _of(table, "queue", capacity) for capacity in CAPACITIES}


def _use(table: pd.DataFrame, more: str = "") -> dict[str, pd.DataFrame]:
    return {f"F = {flows}": _of(table, f"utilisation{more}", flows) for flows in FLOWS}


def _ratio(table: pd.DataFrame) -> Measured:
    queues = _queues(table)
    words = (f"{name} {queue['REN'].iloc[0]:.1f} to {queue['REN'].iloc[-1]:.1f}" for name, queue in queues.items())
    ratios = {
        name: _by_strength(queue["traditional"] / queue["REN"].clip(lower=1e-9)) for name, queue in queues.items()
    }
    return Measured(ratios, f"REN's packets: {'; '.join(words)}")


def _more(table: pd.DataFrame, more: str = "") -> dict[str, dict[str, float]]:
    return {name: _by_strength(use["REN"] - use["traditional"]) for name, use in _use(table, more).items()}


def _significant(table: pd.DataFrame) -> dict[str, dict[str, float | dict[str, float]]]:
    return {name: {"each": more, "mean": float(np.mean([*more.values()]))} for name, more in _more(table).items()}


def _by_flows(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    few, many = _use(table).values()
    return {str(protocol): _by_strength(many[protocol] - few[protocol]) for protocol in few}


def _bdp(table: pd.DataFrame) -> dict[str, float]:
    rows = table[table["quantity"] == "BDP"].set_index("case")["value"]
    return {f"{capacity / 1e9:g} Gb/s": rows[capacity] for capacity in CAPACITIES}


def _against_equations(found: pd.DataFrame, model: pd.DataFrame) -> str:
    """Return packets and, in brackets, equations for the same draws, in words."""
    return "; ".join(
        f"{name} {', '.join(f'{a:.0f} ({b:.0f})' for a, b in zip(found[name], model[name], strict=True))}"
        for name in found
    )


def _packets_queue(table: pd.DataFrame) -> Measured:
    found, model = (_of(table, f"queue, {name}", SIMULATED_LINE_BPS) for name in ("packets", "same draws"))
    return Measured(
        _by_strength(found["REN"] / found["traditional"]), f"packets (equations): {_against_equations(found, model)}"
    )


def _packets_use(table: pd.DataFrame) -> Measured:
    found, model = (_use(table, f", {name}") for name in ("packets", "same draws"))
    words = (f"{name}, {_against_equations(100 * found[name], 100 * model[name])}" for name in found)
    off = {name: (found[name] - model[name])["traditional"].abs().max() for name in found}
    numbers = {"REN above traditional": _more(table, ", packets"), "traditional off the equations": off}
    return Measured(numbers, f"% (equations): {'; '.join(words)}")


class Figure9(Experiment):
    name = "ren.fig9"
    seed_stride = 20
    claims = (
        claim("ren-f9a-1", measure=_ratio, band=Each(Each(AtLeast(5), of="strength"), of="rate"),
              direction=Each(Each(MoreThan(1)))),
        claim("ren-f9a-2",
              measure=lambda table: {name: _by_strength(one["traditional"]) for name, one in _queues(table).items()},
              band=Each(Rises(), of="rate")),
        claim("ren-f9b-1", measure=_significant, band=Each(All(_EVERYWHERE, {"mean": AtLeast(0.1)}), of="F"),
              direction=Each(All(_EVERYWHERE), of="F")),
        claim("ren-f9b-2", measure=_more, band=Each(Rises(), of="F")),
        claim("ren-f9b-3", measure=_by_flows, band=Each(Each(MoreThan(0), of="strength"), of="protocol")),
        claim("ren-f9-4", measure=_bdp,
              band=All({f"{rate} Gb/s": Within(n, by=0.005) for rate, n in ((10, 8.33), (40, 33.33))})),
        claim("ren-f9-a", measure=_packets_queue, band=Each(LessThan(1), of="strength")),
        claim("ren-f9-b", measure=_packets_use,
              band=All({"REN above traditional": _ABOVE, "traditional off the equations": Each(AtMost(0.1))})),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        trials, strengths = (2, (0.2, 1.0)) if is_quick else (20, (0.2, 0.4, 0.6, 0.8, 1.0))
        yield Point(name="equations", labels={"seed": seed, "trials": 2000}, cost=0.1)
        for strength, protocol, flows in product(strengths, _PROTOCOLS, (0, *FLOWS)):
            what = f"F = {flows}" if flows else "arrivals"
            yield Point(name=f"{what}, {protocol}, {strength:g}", labels={"seed": seed, "trials": trials})

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
        rows, case = tidy(point.name, numbers), float(flows or SIMULATED_LINE_BPS)
        return rows.assign(protocol=protocol, strength=float(strength), case=case)

    def plot(self, table: pd.DataFrame) -> Figure:
        over = partial(
            Lines, by=("quantity", "case", "protocol"), over="strength", xlabel="flow strength", legend={"fontsize": 7}
        )
        panels = []
        for title, quantity, cases, unit in (
            ("(a) queue length, by arrivals", "queue", {one: f"C = {one / 1e9:g}G" for one in CAPACITIES}, "packets"),
            ("(b) link utilisation, by departures", "utilisation", {float(one): f"F = {one}" for one in FLOWS}, "%"),
        ):
            looks: dict[Any, tuple[str, ...]] = {}
            for ((case, words), line), (protocol, scheme) in product(
                zip(cases.items(), ("--", "-")), _PROTOCOLS.items()
            ):
                name, (_, colour, marker) = f"{protocol} ({words})", LOOKS[scheme]
                looks[quantity, case, protocol] = (f"{name}, equations", colour, line)
                looks[f"{quantity}, packets", case, protocol] = (f"{name}, packets", colour, marker)
            panels.append(over("", looks, title=title, label=quantity, unit=unit))
        return self.drawn(panels, table, f", {ROUNDS} rounds", size=(6, 4.6))


def _mean_queue(result: Result) -> float:
    """Return the mean queue at the ends of rounds."""
    samples = result.samples("queue s0->s1") / PACKET_BYTES
    ends = samples[samples.index >= SIMULATED_RTT_PS]
    return float(ends.iloc[:ROUNDS].mean())


def _equations(point: str, seed: int, trials: int) -> pd.DataFrame:
    how: dict[str, Any] = {"rounds": ROUNDS, "trials": trials, "seed": seed}
    frames = []
    for case in CAPACITIES:
        model = RenQueue(capacity_bps=bps(case), **how)
        frames.append(tidy(point, {"BDP": (model.bdp, "packets")}).assign(case=case))
        for row in model.evaluate(STRENGTHS).itertuples():
            found = tidy(point, {"queue": (row.queue_packets, "packets")})
            frames.append(found.assign(case=case, protocol=row.protocol, strength=row.strength))
    for flows in FLOWS:
        for row in RenUtilisation(flows=flows, **how).evaluate(STRENGTHS).itertuples():
            found = tidy(point, {"utilisation": (row.utilisation, "")})
            frames.append(found.assign(case=float(flows), protocol=row.protocol, strength=row.strength))
    return pd.concat(frames, ignore_index=True)
