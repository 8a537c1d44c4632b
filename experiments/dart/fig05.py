"""Dart, figure 5: receiver and non-receiver congestion, by the handlers alone and in four scenarios."""

from rdmacc.experiments.dart.receiver import DasrReceiver
from rdmacc.protocols.dasr import NO_CONGESTION, NON_RECEIVER_CONGESTION, RECEIVER_CONGESTION
from ..api import *
from .setup import *

STATES = {NO_CONGESTION: "none", RECEIVER_CONGESTION: "receiver", NON_RECEIVER_CONGESTION: "non-receiver"}
_CONGESTION = {
    NO_CONGESTION: "no congestion",
    RECEIVER_CONGESTION: "receiver congestion",
    NON_RECEIVER_CONGESTION: "non-receiver congestion",
}
_OTHER = "time in non-receiver congestion"
INPUTS = {"no marks": (0, 0.5), "marks, line rate": (1, 1.0), "marks, half rate": (1, 0.5)}
"""The receiver's input: (CE of every packet, throughput as a fraction of the line)."""

EXPECTED = {
    "no marks": NO_CONGESTION,
    "marks, line rate": RECEIVER_CONGESTION,
    "marks, half rate": NON_RECEIVER_CONGESTION,
}
"""The state that each input leads to, from any state."""

FEW_RTT = 5
_LASTS_PS = us(400)
"""Duration of an input: more than six base RTTs of 60 us."""


def transition(state: int, seen: str) -> dict[str, float]:
    """Return the state that the handlers reach from a state under a lasting input."""
    receiver = DasrReceiver()
    one, other = (receiver.message(name, packets=10**6) for name in ("S", "T"))
    before = next(name for name, reached in EXPECTED.items() if reached == state)
    last: Any = None
    for name in (before, seen):
        ce, fraction = INPUTS[name]
        until = receiver.now + _LASTS_PS
        while receiver.now < until:
            for message in (one, other):
                last = receiver.receive(message, ce, after_ps=round(PACKET_PS / fraction))
    packet, reply = last
    return {"state": receiver.endpoint.congestion, "share": reply.share, "passed": packet.ce}


def _transitions(rows: pd.DataFrame, seen: str, share: float, passed: int) -> int:
    wanted = {"state": EXPECTED[seen], "share": share, "mark passed": passed}
    return sum(
        all(row_of(rows, "handlers")[f"{name}, then {seen}: {what}"] == value for what, value in wanted.items())
        for name in STATES.values()
    )


def _receiver(rows: pd.DataFrame) -> dict[str, float]:
    transitions, one = _transitions(rows, "marks, line rate", 0.5, 0), row_of(rows, "receiver")
    numbers = {"transitions": transitions, "marks": one["marks that arrived"], **one[["CNPs", _OTHER]]}
    return numbers | {"n": LINE_BPS / one["least share"]}


def _network(rows: pd.DataFrame) -> dict[str, float]:
    transitions, one = _transitions(rows, "marks, half rate", 1.0, 1), row_of(rows, "network")
    shares = {"n": LINE_BPS / one["least share"], "DCQCN's least rate / line": one["least rate"] / LINE_BPS}
    return {"transitions": transitions, **one[["CNPs", _OTHER]], **shares}


def _order(rows: pd.DataFrame) -> float:
    first, then, rtt = row_of(rows, "both")[[*(f"first {_CONGESTION[one]}" for one in (1, 2)), "base RTT"]]
    return float((then - first) / rtt)


_ALL_STATES = Exactly(len(STATES))


class Figure5(Experiment):
    name = "dart.fig5"
    is_wide = True
    claims = (
        claim("dart-f5-1", measure=_receiver,
              band=All({
                  "transitions": _ALL_STATES, "marks": MoreThan(0), "CNPs": Exactly(0), _OTHER: Exactly(0, "us"),
                  "n": Exactly(2),
              })),
        claim("dart-f5-2", measure=_network,
              band=All({
                  "transitions": _ALL_STATES, "CNPs": MoreThan(0), _OTHER: MoreThan(0, "us"), "n": Exactly(1),
                  "DCQCN's least rate / line": LessThan(0.5),
              })),
        claim("dart-f5-2a",
              measure=lambda rows: rows.loc[["network", "network of 8"], "time in receiver congestion"],
              band=Each(Exactly(0))),
        claim("dart-f5-3", measure=_order, band=All(MoreThan(0), AtMost(FEW_RTT))),
        claim("dart-f5-4", measure=lambda rows: _transitions(rows, "no marks", 0.5, 0), band=_ALL_STATES),
    )  # fmt: skip

    until_ps = us(1500)

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        scenarios: list[tuple[str, Any, list[tuple[str, str]]]] = [
            ("receiver", partial(topology.star, 3), [("h1", "h0"), ("h2", "h0")]),
            ("network", partial(topology.dumbbell, 2, 2), [("h0", "h2"), ("h1", "h3")]),
            ("network of 8", partial(topology.dumbbell, 8, 8), [(f"h{i}", f"h{i + 8}") for i in range(8)]),
            ("both", partial(topology.dumbbell, 3, 4), [("h0", "h3"), ("h6", "h3"), ("h1", "h4"), ("h2", "h5")]),
        ]
        yield Point(name="handlers")
        for name, build, pairs in scenarios:
            network = partial(build, rate=RATE, delay=DELAY, buffer=max(3, len(pairs) + 1) * BUFFER_PER_PORT)
            receiver = pairs[0][1]
            watched = (
                probes.Probe(name="state", place="host", at=receiver, field="Dasr.congestion"),
                probes.Probe(name="CNP", place="flow", at=0, field="Dcqcn.cnp_after_ps"),
                probes.Probe(name="share", place="flow", at=0, field="Dasr.rate_bps"),
                probes.Probe(name="rate", place="flow", at=0, field="rate_bps"),
                probes.Probe(name="marked", place="host", at=receiver, field="Dasr.marked_ps"),
            )
            yield Point.of(
                name, {"flows": len(pairs)},
                network=network, workload=workload.long_flows(pairs), scheme=PRESET["dasr"], until=ps(self.until_ps),
                probes=watched, seed=seed,
            )  # fmt: skip

    def compute(self, point: Point) -> pd.DataFrame:
        numbers: dict[str, tuple[float, str]] = {}
        for (state, name), seen in product(STATES.items(), INPUTS):
            came = transition(state, seen)
            numbers[f"{name}, then {seen}: state"] = (came["state"], "")
            numbers[f"{name}, then {seen}: share"] = (came["share"], "")
            numbers[f"{name}, then {seen}: mark passed"] = (came["passed"], "")
        return tidy(point.name, numbers)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        states, cnp = result.samples("state"), result.samples("CNP")
        end = result.now_ps
        cnps = pd.Series(range(len(cnp)), index=cnp.index)  # each change is a CNP, except the first sample
        numbers: dict[str, tuple[float, str]] = {
            "base RTT": (int(result.plan.host_base_rtt_ps.max()), "ps"),
            "CNPs": (int(result.counters["cnps"]), ""),
            "marks that arrived": (int(result.counters["marked_arrivals"]), ""),
            "least share": (float(result.samples("share").min()), "bps"),
            "least rate": (float(result.samples("rate").min()), "bps"),
            "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
        }
        for number in STATES:
            times = states.index[states == number]
            numbers[f"first {_CONGESTION[number]}"] = (float(times[0]) if len(times) else float("nan"), "ps")
            numbers[f"time in {_CONGESTION[number]}"] = (time_in(states, number, 0, end), "ps")
        curves = {
            "state": (shown(states, 0, end), ""),
            "rate": (shown(result.samples("rate"), 0, end), "bps"),
            "CNPs of flow 0": (shown(cnps, 0, end), ""),
        }
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        axes = {"ylim": (0, 11), "xlim": (0, self.until_ps / 1e6)}
        panels = [
            Traces(
                "rate", {name: ("flow 0: sending rate", "black")}, unit="Gb/s", width=1.5, is_step=True, title=title,
                axes=axes, also=partial(_draw_states, name),
            )
            for name, title in _TITLES.items()
        ]  # fmt: skip
        return self.drawn(panels, table, columns=1, size=(8, 1.8), sharex=True, legend="outside lower center")


_TITLES = {
    "receiver": "Receiver congestion: two flows to one receiver",
    "network": "Network congestion: two flows to two receivers through one link",
    "network of 8": "Network congestion: eight flows to eight receivers through one link",
    "both": "Both: two flows to one receiver, one of them through a congested link",
}
_SHADES = dict(zip(STATES, ("0.85", COLOURS["sky"], COLOURS["orange"]), strict=True))


def _draw_states(name: str, ax: Axes, table: pd.DataFrame) -> None:
    state, rate, cnps = (curve(table, name, one) for one in ("state", "rate", "CNPs of flow 0"))
    for begin, end in pairwise([*state.index.tolist(), round(ax.get_xlim()[1] * 1e6)]):
        ax.axvspan(begin / 1e6, end / 1e6, color=_SHADES[int(state[begin])], alpha=0.55, linewidth=0)
    for number in STATES:
        ax.fill_between([], [], color=_SHADES[number], alpha=0.55, label=_CONGESTION[number])
    at = cnps.index[(cnps.diff() > 0).to_numpy()]
    ax.plot(at / 1e6, [value_at(rate, time) / 1e9 for time in at], "v", color=COLOURS["vermilion"], label="CNP to it")
    ax.grid(visible=False)
