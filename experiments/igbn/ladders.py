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
    """Return the loss of a data packet's `nth` transmission."""
    return ScriptedLoss(message=0, psn=psn, nth=nth)


def nak(psn: int, nth: int = 1) -> ScriptedLoss:
    """Return the loss of the `nth` NAK for a packet."""
    return ScriptedLoss(message=0, psn=psn, nth=nth, kind="nak")


class Ladders(Experiment):
    """A point for each scripted loss; its rows are numbers and the arrows of its ladder diagram."""

    watched: tuple[str, ...] = ("timeouts",)
    """Fields of the flow whose curves are recorded."""
    titles: tuple[tuple[str, str], ...]
    """Points whose ladders are drawn, each with a title."""
    size: tuple[float, float]
    """Size of the figure, in inches."""

    @abstractmethod
    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        """Return (name, scheme, losses, further labels) of each point."""

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for name, variant, losses, labels in self.cases():
            yield Point.of(
                name, {"variant": variant, **labels},
                network=topology.igbn_pair, workload=partial(chain_of_messages, 1, PACKETS * 1024), trace=True,
                scheme=preset("igbn-2019")[variant], seed=seed, faults=losses,
                probes=[probes.field("flow", 0, field) for field in self.watched],
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flow, transfer = result.flows.iloc[0], result.transfers.iloc[0]
        numbers = {
            "acknowledged": (int(flow["fct_acked_ps"]), "ps"),
            "timeouts": (int(flow["timeouts"]), ""),
            "NAKs": (int(result.counters["naks"]), ""),
        } | {name: (int(transfer[name]), "") for name in TIMEOUT_REASONS}
        curves = {name: (result.samples(f"{name} 0"), "") for name in self.watched}
        found = pd.DataFrame(map(vars, find_arrows(result, find_hops(result), HOSTS)))
        arrows = found.rename(columns={"begin_ps": "time_ps", "end_ps": "value"})
        arrows = arrows.assign(point=point.name, quantity="arrow", unit="ps")
        return pd.concat([tidy(point.name, numbers, curves), arrows], ignore_index=True)

    @abstractmethod
    def notes(self, table: pd.DataFrame, point: str) -> list[tuple[str, int, str]]:
        """Return host, time and text of the notes beside a point's ladder."""

    def plot(self, table: pd.DataFrame) -> Figure:
        columns = 2 if len(self.titles) == 4 else 3
        figure, axes = subplots(-(-len(self.titles) // columns), columns, figsize=self.size, squeeze=False)
        for ax, (point, title) in zip(axes.flat, self.titles, strict=True):
            draw_arrows(arrows_of(table, point), HOSTS, HOSTS, ax, title=title, notes=self.notes(table, point))
        return self.headed(figure, self.more)


def arrows_of(table: pd.DataFrame, point: str) -> list[Arrow]:
    rows = table[(table["point"] == point) & (table["quantity"] == "arrow")]
    rows = rows.rename(columns={"time_ps": "begin_ps", "value": "end_ps"}).astype({"end_ps": "int64", "is_lost": bool})
    return [Arrow(*row) for row in rows[[field.name for field in fields(Arrow)]].itertuples(index=False)]
