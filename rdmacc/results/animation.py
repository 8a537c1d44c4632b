"""A network in motion: each link's traffic, queue and pauses, period by period."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.caching import uncollected
from rdmacc.engine.trace import QUEUED, SENT
from rdmacc.errors import ConfigError, written
from rdmacc.errors.typed import typed
from rdmacc.interface import DATA
from rdmacc.results.explain.follower import Follower
from rdmacc.results.explain.recording import Recording
from rdmacc.show.style import COLOURS, canvas, time_unit
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.routes import levels_of
from rdmacc.units import format_rate, format_size, format_time

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.results.result import Result

__all__ = ["Animation"]

Floats = npt.NDArray[np.float64]

_MOST_BYTES = 3_000_000
_PAGE = Path(__file__).with_name("animation.html")
_HEAVIEST = 5
_FLOWS = tuple(COLOURS[name] for name in ("orange", "green", "purple", "sky", "yellow"))
_IDLE, _BUSY, _PAUSED, _DOWN = "#dfe3e8", "#08306b", "#d00000", "#9a9a9a"
_STORY, _BOX, _HOST = 130.0, 58.0, 10.0
"""Distance between tiers, height of a switch and of a host in the page, in pixels."""
_LINK_DOWN, _IS_PAUSED = 101, 128
"""Codes in the byte with a port's utilisation in percent: its link was down in the period; a flag: it was paused."""


class _Port(NamedTuple):
    """Position of a port: from left to right, its tier, the edge of its node (1: top, -1: bottom)."""

    x: float
    tier: int
    side: int


class _Flow(NamedTuple):
    """One of the heaviest flows of a period."""

    message: int
    bps: float
    slot: int  # index of its colour
    ports: list[int]


class Animation:
    """A network over time, as a page with a slider; a notebook displays it.

    Each link has a line for each direction: the darker, the more it carried. A bar in a switch is the longest queue of
    data at that port in the period; the tallest bar fills half of a switch. A red line with an arrow against the
    traffic is a port that PFC paused in the period, a dashed line a link that was down. Thin coloured lines are the
    heaviest flows. Queues do not include packets that never left the switch.

    Attributes
    ----------
    edges_ps : ndarray of int64
        Boundaries of the periods; shape (N + 1,).
    utilisation, queue_bytes : ndarray of float64
        Each port's utilisation, from 0 to 1, and its longest queue of data; shape (ports, N).
    is_paused, is_down : ndarray of bool
        Whether each port was paused, or its link down, at any time in the period; shape (ports, N).
    """

    def __init__(self, result: Result, edges_ps: npt.NDArray[np.int64]) -> None:
        plan, fabric, steps = result.plan, result.plan.fabric, len(edges_ps) - 1
        most = _MOST_BYTES * 9 // 10 // (fabric.n_ports * 8 // 3 + _HEAVIEST * 40)
        if steps > most:
            least = format_time(float(edges_ps[-1] - edges_ps[0]) / max(most, 1))
            raise ConfigError("bin", format_time(edges_ps[1] - edges_ps[0]), f"at least {least}, for a page below 3 MB")
        self.edges_ps, self._fabric = edges_ps, fabric
        self._title = f"{plan.scheme.name} on {fabric.name}" if fabric.name else plan.scheme.name
        self._names = [f"{row.flow}: {row.src} to {row.dst}" for row in result.flows.itertuples()]
        recording = result.recording()
        sent = recording.rows[recording.rows["what"] == SENT]
        self.utilisation = _utilisation(recording, edges_ps)
        self.queue_bytes = _queues(recording, edges_ps)
        self.is_paused = _during(((key[0], spans) for key, spans in recording.all_pauses.items()), edges_ps, fabric)
        self.is_down = _during(recording.all_downs.items(), edges_ps, fabric)
        self._flows = _heaviest(sent[sent["kind"] == DATA], edges_ps, fabric.n_ports, plan.n_messages)
        self._nodes, self._ports = _layout(fabric)

    @typed
    def save(self, path: str | Path) -> Path:
        """Write a self-contained page (``.html``) or an animation (``.gif``), create its folder; return the path."""
        target = Path(path)
        if target.suffix not in (".html", ".gif"):
            raise ConfigError("path", str(path), "a file that ends in .html or .gif")
        page = self.page() if target.suffix == ".html" else ""
        with written(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            if page:
                target.write_text(page, encoding="utf-8")
                return target
        import matplotlib.pyplot as plt
        from matplotlib.animation import PillowWriter

        ax, writer = self.draw(0), PillowWriter(fps=10)
        figure: Any = ax.figure
        figure.canvas.draw()
        figure.set_layout_engine("none")  # keep the first frame's layout for all frames
        with writer.saving(figure, str(target), 100):
            for step in range(len(self._flows)):
                ax.clear()
                self.draw(step, ax)
                writer.grab_frame()
        plt.close(figure)
        return target

    def page(self) -> str:
        percent = np.where(self.is_down, _LINK_DOWN, np.rint(100 * np.clip(self.utilisation, 0, 1)))
        shares = (percent + _IS_PAUSED * self.is_paused).astype(np.uint8)
        heights = np.ceil(255 * self.queue_bytes / max(self.queue_bytes.max(initial=0), 1)).astype(np.uint8)
        content = {
            "title": self._title, "times": self._times(),
            "longest": format_size(int(self.queue_bytes.max(initial=0)), 3), "nodes": self._nodes,
            "ports": [[*port, int(self._fabric.port_reverse[number])] for number, port in enumerate(self._ports)],
            "names": [self._fabric.port_name(port) for port in range(len(self._ports))],
            "shares": b64encode(shares.T.tobytes()).decode(), "queues": b64encode(heights.T.tobytes()).decode(),
            "flows": [[[self._words(flow), flow.slot, flow.ports] for flow in flows] for flows in self._flows],
            "colours": [*_FLOWS, _IDLE, _BUSY, _PAUSED, _DOWN], "story": _STORY, "box": _BOX, "host": _HOST,
        }  # fmt: skip
        return _PAGE.read_text(encoding="utf-8").replace("CONTENT", json.dumps(content).replace("</", "<\\/"))

    def _times(self) -> list[str]:
        """Return each period in words, with enough digits to distinguish neighbours."""
        unit_ps, unit = time_unit(float(self.edges_ps[-1]))
        digits = max(0, 1 - math.floor(math.log10(int(self.edges_ps[-1] - self.edges_ps[-2]) / unit_ps)))
        times = [f"{time / unit_ps:.{digits}f}" for time in self.edges_ps.tolist()]
        return [f"{begin} to {end} {unit}" for begin, end in pairwise(times)]

    def _words(self, flow: _Flow) -> str:
        return f"{self._names[flow.message]}, {format_rate(flow.bps, 3)}"

    def _repr_html_(self) -> str:
        height = 230 + round(_STORY) * (1 + max(port.tier for port in self._ports))
        return f'<iframe srcdoc="{escape(self.page())}" style="width:100%;height:{height}px;border:0"></iframe>'

    def _ends(self, port: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the ends of a port's line, which is a bit to the right of the link in its direction."""
        ends = []
        for one in (self._ports[port], self._ports[int(self._fabric.port_reverse[port])]):
            half = (_HOST if one.tier == 0 else _BOX) / 2
            ends.append(np.array([one.x, one.tier * _STORY + one.side * half]))
        shift = 1 if (ends[1][1], ends[1][0]) > (ends[0][1], ends[0][0]) else -1
        return ends[0] + [0.002 * shift, 0], ends[1] + [0.002 * shift, 0]

    def draw(self, step: int, ax: Axes | None = None) -> Axes:
        """Draw one period, by its number from 0."""
        from matplotlib.collections import LineCollection
        from matplotlib.colors import LinearSegmentedColormap

        shades = LinearSegmentedColormap.from_list("utilisation", [_IDLE, _BUSY])
        tiers = 1 + max(port.tier for port in self._ports)
        used, longest = self.utilisation[:, step], max(float(self.queue_bytes.max()), 1.0)
        with canvas(ax, (9.0, 1.4 * tiers + 1.2)) as ax:
            ends = [self._ends(port) for port in range(len(self._ports))]
            paused, down = self.is_paused[:, step], self.is_down[:, step]
            colours = [_DOWN if is_down else _PAUSED if is_paused else shades(share)
                       for is_down, is_paused, share in zip(down, paused, used, strict=True)]  # fmt: skip
            styles = ["--" if is_down else "-" for is_down in down]
            width = min(2.5, 220 / len(self._nodes))
            ax.add_collection(LineCollection(ends, colors=colours, linestyles=styles, linewidths=width, zorder=1))
            for port in np.flatnonzero(paused).tolist():
                begin, end = ends[port]
                head, foot = ((begin + share * (end - begin)).tolist() for share in (0.35, 0.65))
                arrow = {"arrowstyle": "-|>", "color": _PAUSED, "linewidth": width}
                ax.annotate("", (head[0], head[1]), (foot[0], foot[1]), arrowprops=arrow)
            for flow in self._flows[step]:
                shift = np.array([0.0012 * (flow.slot + 2), 0])
                lines = [(one + shift, other + shift) for one, other in (ends[port] for port in flow.ports)]
                look = LineCollection(lines, colors=_FLOWS[flow.slot], linewidths=1.2, label=self._words(flow))
                ax.add_collection(look)
            self._draw_nodes(ax, self.queue_bytes[:, step] / longest)
            ax.set_title(f"{self._title}, {self._times()[step]}")
            ax.set(xlim=(-0.01, 1.01), ylim=(-45, (tiers - 1) * _STORY + _BOX))
            ax.set_axis_off()
            if self._flows[step]:
                ax.legend(loc="upper left", bbox_to_anchor=(0, -0.02), ncols=2, fontsize=8, title="heaviest flows")
            ax.text(1, -40, f"tallest bar: {format_size(int(longest), 3)}; dark: busy; red: paused; dashed: down",
                    ha="right", fontsize=8, color="0.35")  # fmt: skip
        return ax

    def _draw_nodes(self, ax: Axes, heights: Floats) -> None:
        """Draw switches with the bars of their ports, and hosts, each with its name if there is room."""
        counts = pd.Series([tier for _, _, tier, _ in self._nodes]).value_counts()
        _, places, tiers, wide = zip(*self._nodes, strict=True)
        tall = np.where(tiers, _BOX, _HOST)
        colours = ["white" if tier else "0.3" for tier in tiers]
        ax.bar(places, tall, wide, np.array(tiers) * _STORY - tall / 2, color=colours, edgecolor="0.3", zorder=3)
        for name, x, tier, _ in self._nodes:
            if counts[tier] <= 24:
                y = tier * _STORY - (0 if tier else 10)
                ax.text(x, y, name, ha="center", va="center" if tier else "top", fontsize=8, zorder=5,
                        rotation=90 if not tier and counts[tier] > 16 else 0)  # fmt: skip
        shown = [port for port in np.flatnonzero(heights).tolist() if self._ports[port].tier]
        ports = [self._ports[port] for port in shown]
        bars = [-port.side * heights[number] * _BOX * 0.38 for number, port in zip(shown, ports, strict=True)]
        feet = [port.tier * _STORY + port.side * _BOX / 2 for port in ports]
        ax.bar([port.x for port in ports], bars, 0.008, feet, color=COLOURS["vermilion"], zorder=4)


def _layout(fabric: Fabric) -> tuple[list[tuple[str, float, int, float]], list[_Port]]:
    """Return each node's name, place, tier (hops to the nearest host) and width; and where each port is."""
    node, peer = fabric.port_node, fabric.port_peer
    tier = levels_of(fabric.is_host, node, peer)
    tier = np.minimum(tier, int(tier[tier < fabric.n_nodes].max()))  # switches that reach no host go on top
    below = np.arange(fabric.n_nodes)
    np.minimum.at(below, node[tier[node] == 0], peer[tier[node] == 0])
    place, width = np.zeros(fabric.n_nodes), np.zeros(fabric.n_nodes)
    for level in range(int(tier.max()) + 1):
        mine = np.flatnonzero(tier == level)
        mine = mine[np.lexsort((mine, below[mine] if level == 0 else mine))]
        place[mine], width[mine] = (np.arange(len(mine)) + 0.5) / len(mine), 0.86 / len(mine)
        if level == 0:
            width[mine] = np.minimum(0.7 / len(mine), 0.02)
    ports = [_Port(0.0, 0, 0)] * fabric.n_ports
    side = np.where(tier[peer] < tier[node], -1, 1)
    for one in range(fabric.n_nodes):
        for edge in (-1, 1):
            here = np.flatnonzero((node == one) & (side == edge))
            here = here[np.argsort(place[peer[here]], kind="stable")]
            for rank, port in enumerate(here.tolist()):
                x = place[one] + ((rank + 0.5) / len(here) - 0.5) * width[one]
                ports[port] = _Port(round(float(x), 5), int(tier[one]), edge)
    columns = zip(fabric.names, place.round(5).tolist(), tier.tolist(), width.round(5).tolist(), strict=True)
    return [(str(name), x, level, wide) for name, x, level, wide in columns], ports


def _utilisation(recording: Recording, edges_ps: npt.NDArray[np.int64]) -> Floats:
    fabric = recording.plan.fabric
    found = np.zeros((fabric.n_ports, len(edges_ps) - 1))
    for port in range(fabric.n_ports):
        mine = recording.sent(port, 0)
        if not len(mine):
            continue
        length_ps = mine["wire_bytes"] * fabric.port_byte_ps[port]
        times = np.column_stack([mine["time_ps"], mine["time_ps"] + length_ps]).ravel()
        after = np.cumsum(length_ps)
        busy_ps = np.interp(edges_ps, times, np.column_stack([after - length_ps, after]).ravel())
        found[port] = np.diff(busy_ps) / np.diff(edges_ps)
    return found


@uncollected()
def _queues(recording: Recording, edges_ps: npt.NDArray[np.int64]) -> Floats:
    rows, follower = recording.rows, Follower(recording.plan)
    for row in rows[(rows["what"] <= QUEUED) & (rows["kind"] == DATA)].tolist():
        follower.read(row)
    waits = [(hop["port"], hop["ready_ps"], hop["sent_ps"] if hop["sent_ps"] >= 0 else hop["end_ps"], hop["wire_bytes"])
             for hop in follower.hops if hop["hop"] and hop["sent_ps"] != hop["ready_ps"]]  # fmt: skip
    port, ready_ps, left_ps, size = np.array(waits, np.int64).reshape(-1, 4).T
    ports, times, changes = np.tile(port, 2), np.concatenate([left_ps, ready_ps]), np.concatenate([-size, size])
    order = np.lexsort((times, ports))  # at equal times, departures come first
    ports, times, changes = ports[order], times[order], changes[order]
    found = np.zeros((recording.plan.fabric.n_ports, len(edges_ps) - 1))
    for one in np.unique(ports).tolist():
        mine = slice(*np.searchsorted(ports, [one, one + 1]).tolist())
        at = np.searchsorted(times[mine], edges_ps, "right")
        level = np.append(0, np.cumsum(changes[mine]))[: at[-1] + 1]
        found[one] = np.maximum(np.maximum.reduceat(level, at[:-1]), level[at[1:]])
    return found


def _during(spans: Any, edges_ps: npt.NDArray[np.int64], fabric: Fabric) -> npt.NDArray[np.bool_]:
    """Return which periods overlap the given spans of each port."""
    found = np.zeros((fabric.n_ports, len(edges_ps) - 1), np.bool_)
    for port, times in spans:
        for since_ps, until_ps in times:
            first = int(np.searchsorted(edges_ps[1:], since_ps, "right"))
            found[port, first : int(np.searchsorted(edges_ps[:-1], until_ps))] = True
    return found


def _heaviest(
    sent: npt.NDArray[np.void], edges_ps: npt.NDArray[np.int64], n_ports: int, n_messages: int
) -> list[list[_Flow]]:
    """Return the heaviest flows of each period; a flow keeps its colour while it is among them."""
    step = np.searchsorted(edges_ps, sent["time_ps"], "right") - 1
    inside = (step >= 0) & (step < len(edges_ps) - 1)
    keys = (step[inside] * n_messages + sent["message"][inside]) * n_ports + sent["port"][inside]
    sizes = pd.Series(sent["wire_bytes"][inside], dtype=np.int64).groupby(keys).sum()
    flow, port = np.divmod(sizes.index.to_numpy(np.int64), n_ports)
    frame = pd.DataFrame({"step": flow // n_messages, "message": flow % n_messages, "port": port, "size": sizes.array})
    most = frame.groupby(["step", "message"])["size"].max().sort_values(ascending=False, kind="stable")
    chosen = most.groupby("step").head(_HEAVIEST).reset_index()
    ports = frame.merge(chosen[["step", "message"]]).groupby(["step", "message"])["port"].agg(list)
    found: list[list[_Flow]] = [[] for _ in range(len(edges_ps) - 1)]
    slots: dict[int, int] = {}
    for number, rows in chosen.groupby("step"):
        here, at = rows["message"].tolist(), int(str(number))
        slots = {message: slot for message, slot in slots.items() if message in here}
        free = [slot for slot in range(_HEAVIEST) if slot not in slots.values()]
        slots |= dict(zip([message for message in here if message not in slots], free, strict=False))
        period_ps = int(edges_ps[at + 1] - edges_ps[at])
        found[at] = [_Flow(message, size * 8e12 / period_ps, slots[message], ports[at, message])
                     for message, size in zip(here, rows["size"].tolist(), strict=True)]  # fmt: skip
    return found
