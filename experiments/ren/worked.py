"""REN's worked examples of figures 1, 2, 5 and 6, packet by packet in the engine."""

from ..api import *
from .setup import *

ROUNDS = 8
_OTHERS_PS = 90_000
"""Part of a round trip: a packet's time on the two fast links, and its grant's on all three."""


@dataclass(frozen=True)
class Example:
    """A worked example."""

    slots: int
    """Packets per round trip on the shared link."""
    unscheduled: int
    """Packets that a flow sends without grants."""
    packets: tuple[int, int]
    """Lengths of flows A and B."""
    early_ps: int = 0
    """Difference between a round trip and a sampling period."""

    @property
    def round_ps(self) -> int:
        """Duration of a round trip."""
        return self.slots * PACKET_PS


QUEUE = Example(slots=2, unscheduled=2, packets=(40, 40))
GAP = Example(slots=5, unscheduled=3, packets=(60, 2))


def network(slots: int) -> Graph:
    """Return the network whose shared link carries `slots` packets per round trip."""
    graph: Graph = nx.Graph(name="REN's worked example")
    for i in range(4):
        topology.add_host(graph, f"h{i}")
    for i in range(2):
        topology.add_switch(graph, f"s{i}", "10MB")
    delay = ns((slots * PACKET_PS - PACKET_PS - _OTHERS_PS) // 6000)
    for host, switch in (("h0", "s0"), ("h1", "s0"), ("h2", "s1"), ("h3", "s1")):
        topology.add_link(graph, host, switch, 40 * LINE_BPS, delay)
    topology.add_link(graph, "s0", "s1", LINE_BPS, delay)
    return graph


def _flows(packets: tuple[int, int]) -> pd.DataFrame:
    ends = (("h0", "h2"), ("h1", "h3"))
    return workload.messages([(*pair, count * PAYLOAD_BYTES) for pair, count in zip(ends, packets, strict=True)])


class WorkedExample(ReadingFigure):
    """An example under one or several schemes of the preset."""

    example: Example
    schemes: Sequence[str]
    parts: Mapping[str, str] = MappingProxyType(
        {"packets": "sent by S0 in each round", "queue": "waiting at S0 at its end"}
    )
    """Title of each drawn quantity."""
    top: float
    """Upper end of the packet axis."""
    level: float | None = None
    """Level of a dotted line."""

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        example = self.example
        for name in self.schemes:
            changes = {"unscheduled_packets": example.unscheduled, "timeout_rtts": 20.0, "least_timeout_ps": 0}
            if name != "traditional":
                changes["RenMarker.base_rtt_ps"] = example.round_ps - example.early_ps
            yield Point.of(
                name, {"scheme": name},
                network=partial(network, example.slots), workload=partial(_flows, example.packets),
                scheme=TESTBED[name].replace(**changes, **{"DropTail.limit_bytes": "10MB"}),
                until=ps(round(ROUNDS * example.round_ps * 1.2)), probes=[probes.queue("s0", "s1", every="100ns")],
                trace=True, seed=seed,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        round_ps, trace = self.example.round_ps, result.packet_trace
        sent = trace[(trace["node"] == "s0") & (trace["kind"] == "data") & (trace["what"] == "sent")]
        start = int(sent["time_ps"].min())
        counts = sent.groupby((sent["time_ps"] - start) // round_ps).size().reindex(range(ROUNDS), fill_value=0)
        waiting = result.samples("queue s0->s1") / TESTBED["ren"].wire_bytes
        ends = [start + (number + 1) * round_ps - PACKET_PS // 2 for number in range(ROUNDS)]
        queue = [float(waiting[waiting.index < end].iloc[-1]) for end in ends]
        grants = trace.loc[trace["kind"] == "credit", "wire_bytes"]
        transfers = result.transfers
        none = pd.Series(0, transfers.index)
        marks = {word: int(transfers.get(f"{word}_grants", none).sum()) for word in ("over", "under")}
        numbers = {
            "link": (self.example.slots, "packets per round"),
            "in flight": (int(transfers["in_flight"].sum()), "packets"),
            "smallest grant": (int(grants.min()), "bytes"),
            "largest grant": (int(grants.max()), "bytes"),
            **{f"grants marked {word}": (count, "") for word, count in marks.items()},
        }
        times = pd.Index(np.arange(ROUNDS) * round_ps, name="time_ps")
        curves = {
            "packets": (pd.Series(counts.to_numpy(), times), "packets"),
            "queue": (pd.Series(queue, times), "packets"),
        }
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        counts = table[table["time_ps"].notna()]
        counts = counts.assign(round=counts["time_ps"] // self.example.round_ps + 1)
        looks = {name: LOOKS[name] for name in self.schemes}
        levels: dict[str, float] = {} if self.level is None else {"_": self.level}
        bars = partial(Bars, looks=looks, over="round", label="packets", levels=levels)
        axes = {"ylim": (0, self.top), "xlabel": "round (RTTs)"}
        panels = [bars(quantity=quantity, title=title, axes=axes) for quantity, title in self.parts.items()]
        return self.drawn(panels, counts, self.more, size=(5, 3.6), sharey=True, legend="outside lower center")


def rounds_of(table: pd.DataFrame, scheme: str, quantity: str) -> list[int]:
    """Return a count per round: the "packets" that left s0, or the "queue" at its end."""
    return [round(value) for value in curve(table, scheme, quantity)]


def extremes(values: Sequence[float]) -> dict[str, float]:
    return {"least": min(values), "most": max(values)} if values else {}


def after(values: Sequence[int], level: int) -> Sequence[int]:
    """Return the rounds after the first run of rounds at a level; empty if that run never ends."""
    ends = (i + 1 for i, (one, other) in enumerate(pairwise(values)) if one == level != other)
    return values[next(ends, len(values)) :]
