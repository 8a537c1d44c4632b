"""Ladder (sequence) diagrams: time runs downwards, each node is a line, each packet an arrow between two lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.results.hops import find_hops
from rdmacc.show.style import COLOURS, new_axes, note, style
from rdmacc.show.timeline import Timeline
from rdmacc.units import Quantity, time_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.results.result import Result

_MOST_ARROWS = 600
_MOST_NODES = 8
_LABEL_INCHES = 0.17  # space that a label needs along its arrow

_LOOKS = {
    "data": ("data", COLOURS["blue"]),
    "again": ("data, sent again", COLOURS["vermilion"]),
    "ack": ("ACK", COLOURS["green"]),
    "nak": ("NAK", COLOURS["purple"]),
    "cnp": ("CNP", COLOURS["orange"]),
    "other": ("other control", COLOURS["sky"]),
}


@dataclass(frozen=True)
class Arrow:
    src: Hashable
    dst: Hashable | None  # None: a lost packet whose next node is not drawn
    begin_ps: int
    end_ps: int  # for a lost packet, the time of its cross
    look: str  # "data", "again" (a retransmission), "ack", "nak", "cnp" or "other"
    label: str
    is_lost: bool = False
    reach: float = 1.0  # fraction of the way to `dst`


def draw_ladder(
    result: Result,
    messages: Hashable | Sequence[Hashable] | None = None,
    nodes: Sequence[Hashable] | None = None,
    start: Quantity | None = None,
    end: Quantity | None = None,
    ax: Axes | None = None,
    *,
    squeeze: bool = True,
) -> Axes:
    hops = _chosen_hops(result, messages)
    lines = _lifelines(result, hops, nodes)
    begin_ps = 0 if start is None else time_ps(start, field="start")
    end_ps = None if end is None else time_ps(end, field="end")
    arrows = [
        arrow
        for arrow in find_arrows(result, hops, lines)
        if arrow.end_ps >= begin_ps and (end_ps is None or arrow.begin_ps <= end_ps)
    ]
    if not 0 < len(arrows) <= _MOST_ARROWS:
        allowed = f"1 to {_MOST_ARROWS}; choose fewer with messages=, nodes=, start= and end="
        raise ConfigError("packets in the ladder", len(arrows), allowed)
    fabric = result.plan.fabric
    hosts = [name for name in lines if fabric.is_host[fabric.index[name]]]
    title = f"{result.plan.scheme.name} on {fabric.name or 'a network'}"
    return draw_arrows(arrows, lines, hosts, ax, title=title, squeeze=squeeze)


def draw_arrows(
    arrows: Sequence[Arrow],
    lines: Sequence[Hashable],
    hosts: Sequence[Hashable],
    ax: Axes | None = None,
    *,
    title: str = "",
    notes: Sequence[tuple[Hashable, int, str]] = (),
    squeeze: bool = True,
) -> Axes:
    timeline = Timeline([(arrow.begin_ps, arrow.end_ps) for arrow in arrows], squeeze=squeeze)
    with style():
        if ax is None:
            ax = new_axes(None, figsize=(2.4 + max(2.0 * (len(lines) - 1), 2.8), _height(arrows, timeline)))
        _draw_lifelines(ax, lines, hosts, timeline)
        ax.set_title(title, pad=32)
        timeline.label(ax)
        _draw_arrows(ax, arrows, {name: x for x, name in enumerate(lines)}, timeline)
        _draw_notes(ax, notes, lines, timeline)
        _draw_key(ax, arrows)
    return ax


def find_arrows(result: Result, hops: pd.DataFrame, nodes: Sequence[Hashable]) -> list[Arrow]:
    arrows: list[Arrow] = []
    broken: list[tuple[Any, int, Hashable]] = []
    for _, journey in hops.groupby("journey", sort=False):
        leg: tuple[Hashable, int] | None = None
        for hop in _rows(journey):
            if hop.node in nodes:
                leg = (hop.node, int(hop.end_ps if hop.fate == "dropped" else hop.sent_ps))
            if leg is None:
                continue
            if hop.fate in ("lost", "dropped"):
                broken.append((hop, leg[1], leg[0]))
            elif hop.peer in nodes:
                arrows.append(Arrow(leg[0], hop.peer, leg[1], int(hop.end_ps), _look(hop), _label(hop)))
                leg = None
    usual = _usual_times(arrows)
    arrows += [_broken_arrow(result, *what, nodes=nodes, usual=usual) for what in broken]
    return sorted(arrows, key=lambda arrow: (arrow.begin_ps, arrow.end_ps))


def _broken_arrow(
    result: Result,
    hop: Any,
    begin_ps: int,
    src: Hashable,
    nodes: Sequence[Hashable],
    usual: dict[tuple[Hashable, Hashable | None, bool], int],
) -> Arrow:
    """Return the arrow of a lost packet: half way at the usual slope, or of zero length if the queue dropped it."""
    fields: dict[str, Any] = {"look": _look(hop), "label": _label(hop), "is_lost": True}
    if hop.fate == "dropped" and hop.node == src:
        return Arrow(src, None, begin_ps, begin_ps, reach=0.0, **fields)
    names, plan = result.plan.fabric.names, result.plan
    src_host, dst_host = names[plan.src[hop.message]], names[plan.dst[hop.message]]
    target = dst_host if hop.kind in ("data", "request") else src_host
    dst = next((name for name in (hop.peer, target) if name in nodes and name != src), None)
    slope = usual.get((src, dst, hop.kind == "data"), int(hop.end_ps) - begin_ps)
    return Arrow(src, dst, begin_ps, begin_ps + slope // 2, reach=0.5, **fields)


def _usual_times(arrows: Sequence[Arrow]) -> dict[tuple[Hashable, Hashable | None, bool], int]:
    times: dict[tuple[Hashable, Hashable | None, bool], list[int]] = defaultdict(list)
    for arrow in arrows:
        times[arrow.src, arrow.dst, arrow.look in ("data", "again")].append(arrow.end_ps - arrow.begin_ps)
    return {way: int(np.median(values)) for way, values in times.items()}


def _rows(hops: pd.DataFrame) -> Iterable[Any]:
    return hops.itertuples()


def _look(hop: Any) -> str:
    if hop.kind == "data":
        return "again" if hop.nth > 1 else "data"
    return str(hop.kind) if hop.kind in _LOOKS else "other"


def _label(hop: Any) -> str:
    if hop.kind == "cnp":
        return "CNP"
    text = f"{hop.kind.upper()} {hop.psn}"
    notes = [note for note, holds in (("cut", hop.trimmed), ("CE", hop.ce and hop.kind == "data")) if holds]
    return f"{text} ({', '.join(notes)})" if notes else text


def _chosen_hops(result: Result, messages: Hashable | Sequence[Hashable] | None) -> pd.DataFrame:
    hops = find_hops(result)
    if messages is None:
        return hops[hops["message"] >= 0]
    labels = result.plan.workload.index
    chosen = list(messages) if isinstance(messages, Sequence) and not isinstance(messages, str) else [messages]
    for label in chosen:
        if not _is_in(label, labels):
            raise ConfigError("messages", label, f"a message of the workload, {labels[0]!r} to {labels[-1]!r}")
    return hops[hops["message"].isin([labels.get_loc(label) for label in chosen])]


def _is_in(name: Any, known: Any) -> bool:
    """Return whether a value is a known name; a value that cannot be hashed or compared is not."""
    try:
        return name in known
    except TypeError:
        return False


def _lifelines(result: Result, hops: pd.DataFrame, nodes: Sequence[Hashable] | None) -> list[Hashable]:
    """Return the nodes to draw: the given ones, or all that packets pass, in path order."""
    fabric = result.plan.fabric
    if nodes is not None:
        if isinstance(nodes, str) or not isinstance(nodes, Sequence):
            raise ConfigError("nodes", nodes, "a list of nodes")
        for name in nodes:
            if not _is_in(name, fabric.index):
                raise unknown("nodes", name, fabric.index, "the name of a node")
        if len(set(nodes)) != len(nodes) or len(nodes) < 2:
            raise ConfigError("nodes", list(nodes), "at least two different nodes")
        return list(nodes)
    depth: dict[Hashable, list[int]] = defaultdict(list)
    for hop in _rows(hops[hops["kind"] == "data"]):
        depth[hop.node].append(hop.hop)
        depth[hop.peer].append(hop.hop + 1)
    order = sorted(depth, key=lambda name: (float(np.mean(depth[name])), fabric.index[name]))
    if len(order) > _MOST_NODES:
        raise ConfigError("nodes", f"{len(order)} nodes", f"at most {_MOST_NODES}, unless nodes=[...] names them")
    return order


def _height(arrows: Sequence[Arrow], timeline: Timeline) -> float:
    starts: dict[Hashable, list[float]] = defaultdict(list)
    for arrow in arrows:
        starts[arrow.src, arrow.dst].append(timeline.place(arrow.begin_ps))
    gaps = np.concatenate([np.diff(sorted(places)) for places in starts.values()])
    gaps = gaps[gaps > 0]
    if not len(gaps):
        return 3.0
    return float(np.clip(_LABEL_INCHES * timeline.length / np.percentile(gaps, 20) + 1.2, 3.0, 12.0))


def _draw_lifelines(ax: Axes, lines: Sequence[Hashable], hosts: Sequence[Hashable], timeline: Timeline) -> None:
    for x, name in enumerate(lines):
        for low, high in timeline.pieces:
            ax.plot([x, x], [low, high], color="0.45", linewidth=1.3, zorder=1, solid_capstyle="butt")
        is_host = name in hosts
        shape, face, edge, colour = ("round", "0.3", "0.3", "white") if is_host else ("square", "0.9", "0.6", "0.25")
        box = {"boxstyle": f"{shape},pad=0.35", "facecolor": face, "edgecolor": edge}
        note(ax, str(name), (x, 1.0), (0, 8), xycoords=("data", "axes fraction"), ha="center", va="bottom",
             fontsize=10, fontweight="bold", color=colour, bbox=box)  # fmt: skip
    margin = 0.32 * max(len(lines) - 1, 1.5)
    ax.set_xlim(-margin, len(lines) - 1 + margin)
    ax.set_xticks([])
    ax.grid(visible=False, axis="x")
    ax.spines["bottom"].set_visible(False)


def _draw_arrows(ax: Axes, arrows: Sequence[Arrow], column: dict[Any, int], timeline: Timeline) -> None:
    figure = ax.get_figure()
    inches = ax.get_window_extent().height / figure.dpi if figure is not None else 4.0
    room = 0.75 * _LABEL_INCHES * timeline.length / max(inches, 1e-6)
    taken: dict[tuple[int, int], float] = {}
    for arrow in arrows:
        x0, y0 = column[arrow.src], timeline.place(arrow.begin_ps)
        y1 = timeline.place(arrow.end_ps)
        side = 1 if arrow.dst is None else int(np.sign(column[arrow.dst] - x0))
        x1 = x0 + (0.3 * side if arrow.dst is None else arrow.reach * (column[arrow.dst] - x0))
        if arrow.reach == 0.0:
            x1 = x0
        colour = _LOOKS[arrow.look][1]
        if arrow.is_lost:
            ax.plot([x0, x1], [y0, y1], color=colour, linewidth=1.3, linestyle=(0, (4, 1.5)), zorder=2)
            ax.plot([x1], [y1], marker="x", color="0.1", markersize=8, markeredgewidth=2.2, zorder=5)
        else:
            style = {"arrowstyle": "-|>,head_length=0.5,head_width=0.2", "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", (x1, y1), (x0, y0), arrowprops={**style, "color": colour, "linewidth": 1.3}, zorder=3)
        if y0 - taken.get((x0, side), -np.inf) < room and not arrow.is_lost:
            continue
        taken[x0, side] = y0
        is_outer = x0 == (0 if side > 0 else len(column) - 1)
        if is_outer:
            align = "right" if side > 0 else "left"
            note(ax, arrow.label, (x0, y0), (-4 * side, 0), color=colour, ha=align, va="center")
        else:
            _write(ax, arrow, (x0, y0), (x1, y1), side, colour)


def _write(
    ax: Axes, arrow: Arrow, tail: tuple[float, float], head: tuple[float, float], side: int, colour: str
) -> None:
    """Write an arrow's label along it, near its tail, because the middle of the picture is crowded."""
    from matplotlib import patheffects

    (x0, y0), (x1, y1) = tail, head
    angle = np.degrees(np.arctan2((y1 - y0) * side, abs(x1 - x0))) if x1 != x0 else 0.0
    ax.text(
        x0 + 0.05 * side, y0 + 0.05 * (y1 - y0) / max(abs(x1 - x0), 0.05), arrow.label, color=colour, fontsize=8,
        ha="left" if side > 0 else "right", va="bottom", rotation=angle, rotation_mode="anchor", zorder=4,
        transform_rotates_text=True, path_effects=[patheffects.withStroke(linewidth=2.0, foreground="white")],
    )  # fmt: skip


def _draw_notes(
    ax: Axes, notes: Sequence[tuple[Hashable, int, str]], lines: Sequence[Hashable], timeline: Timeline
) -> None:
    for node, at_ps, text in notes:
        x = list(lines).index(node)
        # on the left inside, because of the ticks; on the right outside the labels
        offset, va = ((5, 2), "bottom") if x == 0 else ((40, 0), "center")
        note(ax, text, (x, timeline.place(at_ps)), offset, ha="left", va=va, fontweight="bold", color="0.2")


def _draw_key(ax: Axes, arrows: Sequence[Arrow]) -> None:
    from matplotlib.lines import Line2D

    used = {arrow.look for arrow in arrows}
    handles = [Line2D([], [], color=colour, label=name) for look, (name, colour) in _LOOKS.items() if look in used]
    if any(arrow.is_lost for arrow in arrows):
        cross = {"marker": "x", "markersize": 7, "markeredgewidth": 2.0, "linestyle": "none"}
        handles.append(Line2D([], [], color="0.1", label="lost", **cross))  # type: ignore[arg-type]
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, handlelength=1.4, borderpad=0.2)
