"""A run as a timeline in Chrome's trace format, for Perfetto (ui.perfetto.dev) and chrome://tracing."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from rdmacc.results.activity import natural
from rdmacc.typed import typed


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
        known = {
            "pid": process[str(host)],
            "tid": lane,
            "id": f"{lanes[lane]} {number}",
            "cat": lanes[lane],
            "name": name,
        }
        events.append(known | {"ph": "b", "ts": start_ps / 1e6, "args": more})  # these may overlap on a lane
        events.append(known | {"ph": "e", "ts": end_ps / 1e6})

    for number, row in enumerate(computing.to_dict("records")):
        if row["end_ps"] is not None and row["end_ps"] == row["end_ps"] and row["end_ps"] > row["start_ps"]:
            is_inner = row["collective"] is not None and row["collective"] == row["collective"]
            name = "transfer in the node" if is_inner else "computes"
            add(row["host"], int(is_inner), number, name, int(row["start_ps"]), int(row["end_ps"]))
    for number, (row, operation) in enumerate(zip(flows.to_dict("records"), operations, strict=True)):
        if row["fct_ps"] == row["fct_ps"] and row["fct_ps"] is not None:
            start_ps = int(row["start_ps"])
            for host, lane, other in ((row["src"], 2, row["dst"]), (row["dst"], 3, row["src"])):
                name = f"{operation or 'message'} {'to' if lane == 2 else 'from'} {other}"
                end_ps = start_ps + int(row["fct_ps"])
                add(host, lane, number, name, start_ps, end_ps, bytes=int(row["size_bytes"]), flow=str(row["flow"]))
    path = Path(path)
    path.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}))
    return path
