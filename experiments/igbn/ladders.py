"""Improved Go-Back-N, figures 4 and 5: messages of six packets with scripted losses, drawn as ladder diagrams."""

from rdmacc.protocols.go_back_n import TIMEOUT_REASONS
from rdmacc.results.hops import find_hops
from rdmacc.results.ladder import Arrow, draw_arrows, find_arrows
from ..api import *
from .setup import *

PACKETS = 6

LAST = PACKETS - 1

HOSTS = ("h0", "h1")


def data(psn: int, nth: int = 1) -> ScriptedLoss:
    """Return the loss of a data packet, the `nth` time that it is sent."""
    return ScriptedLoss(message=0, psn=psn, nth=nth)


def nak(psn: int, nth: int = 1) -> ScriptedLoss:
    """Return the loss of the `nth` NAK for a packet."""
    return ScriptedLoss(message=0, psn=psn, nth=nth, kind="nak")


class Ladders(Experiment):
    """A point for each scripted loss; its rows are numbers, and the arrows of its ladder diagram."""

    @abstractmethod
    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        """Return (name, scheme, losses, further labels) of each point."""

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [
            Point(
                name=name,
                scenario=Scenario(
                    network=topology.igbn_pair,
                    workload=partial(chain_of_messages, 1, PACKETS * 1024),
                    scheme=preset("igbn-2019")[variant],
                    seed=seed,
                    faults=losses,
                    probes=(probes.field("flow", 0, "timeouts"), *self.probes(variant)),
                    trace=True,
                ),
                labels={"variant": variant, **labels},
            )
            for name, variant, losses, labels in self.cases()
        ]

    def probes(self, variant: str) -> tuple[probes.Probe, ...]:
        """Return further probes."""
        return ()

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flow, transfer = result.flows.iloc[0], result.transfers.iloc[0]
        numbers = {
            "acknowledged": (int(flow["fct_acked_ps"]), "ps"),
            "timeouts": (int(flow["timeouts"]), ""),
            "NAKs": (int(result.counters["naks"]), ""),
        } | {name: (int(transfer[name]), "") for name in TIMEOUT_REASONS}
        curves = {name: (result.samples(f"{name} 0"), "") for name in ("timeouts", *self.watched(point))}
        found = pd.DataFrame(map(vars, find_arrows(result, find_hops(result), HOSTS)))
        arrows = found.rename(columns={"begin_ps": "time_ps", "end_ps": "value"})
        arrows = arrows.assign(point=point.name, quantity="arrow", unit="ps")
        return pd.concat([tidy(point.name, numbers, curves), arrows], ignore_index=True)

    def watched(self, point: Point) -> tuple[str, ...]:
        """Return the names of further fields to record."""
        return ()


def arrows_of(table: pd.DataFrame, point: str) -> list[Arrow]:
    """Return the arrows of a point's ladder."""
    rows = table[(table["point"] == point) & (table["quantity"] == "arrow")]
    rows = rows.rename(columns={"time_ps": "begin_ps", "value": "end_ps"}).astype({"end_ps": "int64", "is_lost": bool})
    return [Arrow(*row) for row in rows[[field.name for field in fields(Arrow)]].itertuples(index=False)]


def draw(table: pd.DataFrame, names: Sequence[tuple[str, str]], notes: Any, figsize: tuple[float, float]) -> Figure:
    """Draw a ladder for each (point, title); `notes(point)` gives the notes beside it."""
    columns = min(len(names), 3) if len(names) != 4 else 2
    figure, axes = subplots(-(-len(names) // columns), columns, figsize=figsize, squeeze=False)
    for ax, (point, title) in zip(axes.flat, names, strict=True):
        draw_arrows(arrows_of(table, point), HOSTS, HOSTS, ax, title=title, notes=notes(point))
    return figure
