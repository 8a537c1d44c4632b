"""A step over time: which hosts compute, send and wait, as a plot and as a trace for Perfetto or chrome://tracing."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError, unknown, written
from rdmacc.errors.typed import typed
from rdmacc.show.style import COLOURS, canvas, time_unit
from rdmacc.show.timeline import merged

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rdmacc.results.result import Result

_FINEST = 2000  # gaps shorter than 1/2000 of the picture are not drawn
_MOST_LABELS = 32
_WAITS = "0.9"
_LOOK = {"computes": (0.03, 0.54, COLOURS["blue"]), "sends": (0.61, 0.26, COLOURS["orange"])}
"""Place and height in a host's row, and colour."""


def draw_step(result: Result, hosts: Sequence[Hashable] | None = None, ax: Axes | None = None) -> Axes:
    """Draw a row for each host: when it computes, when its messages are in flight, and when it only waits.

    A host waits between the first start and the last end of its job, or of the workload if that has no jobs. A message
    is in flight from its start until its last byte reaches the receiver; transfers inside a node are messages, too. The
    hosts of a job are next to each other.
    """
    flows, computing, jobs = result.flows, result.computation, result.job_of_host
    sent = flows.assign(host=flows["src"], end_ps=flows["start_ps"] + flows["fct_ps"], what="sends")
    computing = computing.assign(what=np.where(computing["collective"].isna(), "computes", "sends"))
    rows = pd.concat([part[["what", "host", "start_ps", "end_ps", "status"]] for part in (computing, sent)])
    rows = rows[(rows["status"] != "waiting").to_numpy()]
    if not len(rows):
        raise ConfigError("result", "without messages or computation that have started", "a run that got that far")
    rows["end_ps"] = rows["end_ps"].fillna(result.now_ps).astype(np.int64)
    rows["job"] = [jobs.get(str(host), "") for host in rows["host"]]
    known = sorted(pd.unique(rows["host"]), key=lambda host: (jobs.get(str(host), ""), natural(host)))
    for host in hosts or ():
        if host not in known:
            raise unknown("host", host, known, "a host that computes or sends")
    chosen = list(hosts) if hosts is not None else known
    begin, end = int(rows["start_ps"].min()), int(rows["end_ps"].max())
    unit_ps, unit = time_unit(end - begin)
    spans = {job: (part["start_ps"].min(), part["end_ps"].max()) for job, part in rows.groupby("job")}
    parts = rows.groupby(["what", "host"], sort=False)
    busy = {key: part[["start_ps", "end_ps"]].to_numpy(np.float64) for key, part in parts}
    with canvas(ax, (9.0, min(2.0 + 0.22 * len(chosen), 9.0))) as ax:
        from matplotlib.patches import Patch

        for row, host in enumerate(chosen):
            low, high = spans[jobs.get(str(host), "")]
            ax.barh(row, (high - low) / unit_ps, 0.9, low / unit_ps, color=_WAITS)
            for what, (place, height, colour) in _LOOK.items():
                if (what, host) in busy:
                    starts, ends = busy[what, host].T
                    starts, ends = merged(starts, ends, (end - begin) / _FINEST)
                    bars = np.column_stack([starts, ends - starts]) / unit_ps
                    ax.broken_barh(bars.tolist(), (row - 0.45 + place, height), color=colour, linewidth=0)
        every = -(-len(chosen) // _MOST_LABELS)
        ax.set_yticks(range(0, len(chosen), every), [str(host) for host in chosen[::every]])
        ax.grid(False)
        ax.set(xlabel=f"time ({unit})", ylim=(len(chosen) - 0.5, -0.5))
        ax.set_xlim(begin / unit_ps, max(end, begin + 1) / unit_ps)
        _name_jobs(ax, [jobs.get(str(host), "") for host in chosen])
        patches = [Patch(color=colour, label=what) for what, (_, _, colour) in _LOOK.items()]
        patches.append(Patch(color=_WAITS, label="waits"))
        ax.legend(handles=patches, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.2)
    return ax


def _name_jobs(ax: Axes, jobs: list[str]) -> None:
    """Write each job's name next to its hosts, and draw a line between jobs."""
    edges = [row for row in range(1, len(jobs)) if jobs[row] != jobs[row - 1]]
    for low, high in zip([0, *edges], [*edges, len(jobs)], strict=True):
        where = ax.get_yaxis_transform()
        middle = (low + high - 1) / 2
        ax.text(1.01, middle, jobs[low], transform=where, rotation=90, va="center", ha="left", weight="bold")
        if low:
            ax.axhline(low - 0.5, color="black", linewidth=1)


def natural(host: Any) -> tuple[Any, ...]:
    """Return a key that puts h9 before h10."""
    return tuple(int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", str(host)))


@typed
def to_perfetto(self: Any, path: str | Path) -> Path:
    """Write the run as a timeline: for each host, what it computes, sends and receives, by job and collective.

    Open the file on ui.perfetto.dev or in chrome://tracing.

    Parameters
    ----------
    path : path
        The file, which usually ends in ``.json``.
    """
    flows, computing = self.flows, self.computation
    rows = self.plan.workload
    operations = rows["operation"].to_numpy() if "operation" in rows else np.full(len(flows), None)
    names = sorted({*map(str, flows["src"]), *map(str, flows["dst"]), *map(str, computing["host"])}, key=natural)
    process = {host: number for number, host in enumerate(names, 1)}
    jobs = self.job_of_host
    lanes = ("computes", "inner network", "sends", "receives")
    events: list[dict[str, Any]] = []
    for host, number in process.items():
        name = f"{host} ({jobs[host]})" if host in jobs else host
        events.append({"ph": "M", "pid": number, "name": "process_name", "args": {"name": name}})
        events += [
            {"ph": "M", "pid": number, "tid": lane, "name": "thread_name", "args": {"name": text}}
            for lane, text in enumerate(lanes)
        ]

    def add(host: Any, lane: int, number: int, name: str, start_ps: Any, end_ps: Any, **more: Any) -> None:
        known = {"pid": process[str(host)], "tid": lane, "id": f"{lanes[lane]} {number}"}
        known |= {"cat": lanes[lane], "name": name}
        events.append(known | {"ph": "b", "ts": start_ps / 1e6, "args": more})  # these may overlap on a lane
        events.append(known | {"ph": "e", "ts": end_ps / 1e6})

    for row in computing[computing["end_ps"].notna()].itertuples():
        if row.end_ps > row.start_ps:
            is_inner = pd.notna(row.collective)
            name = "transfer in the node" if is_inner else "computes"
            add(row.host, int(is_inner), row.Index, name, row.start_ps, row.end_ps)
    for row in flows.assign(operation=operations)[flows["fct_ps"].notna()].itertuples():
        for host, lane, way, other in ((row.src, 2, "to", row.dst), (row.dst, 3, "from", row.src)):
            name, end_ps = f"{row.operation or 'message'} {way} {other}", row.start_ps + row.fct_ps
            add(host, lane, row.Index, name, row.start_ps, end_ps, bytes=row.size_bytes, flow=str(row.flow))
    path = Path(path)
    with written(path):
        path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
    return path
