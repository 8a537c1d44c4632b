"""Results: what a simulation found out, as tidy data frames, with the scenario that made them."""

from __future__ import annotations

import platform
from functools import cached_property
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from rdmacc.engine.outcome import Outcome
from rdmacc.fabric import LINK_CLASSES
from rdmacc.plan import Plan
from rdmacc.state import HOST_NIC

__all__ = ["Result"]


class Result:
    """The outcome of a simulation.

    Attributes
    ----------
    flows : DataFrame
        One row for each message.
    probes : DataFrame
        One row for each sample.
    counters : Series
        Totals by name.
    ports, buffers : DataFrame
        Counters of each port, peak of each switch's buffer.
    provenance : dict
        Scheme, seed, engine, versions, wall time.
    """

    def __init__(self, plan: Plan, outcome: Outcome, engine: str, wall_s: float, setup_s: float) -> None:
        self.plan = plan
        self.outcome = outcome
        self.engine = engine
        self.wall_s = wall_s
        self.setup_s = setup_s

    @property
    def now_ps(self) -> int:
        """Simulated time at which the run stopped."""
        return self.outcome.now_ps

    @cached_property
    def flows(self) -> pd.DataFrame:
        """Messages: `flow, src, dst, size_bytes, group, start_ps, fct_ps, acked_ps, ideal_fct_ps, slowdown, ...`.

        `fct_ps` runs from the start to the last byte delivered, `acked_ps` to the last ACK at the sender; both are
        missing (<NA>) where that has not happened. `slowdown` is `fct_ps / ideal_fct_ps`, the ideal being the
        message alone in the network. `status` is finished, delivered (not yet acknowledged), running, waiting or failed.
        """
        plan, counters = self.plan, self.outcome.messages
        start, failed = counters["start_ps"], counters["failed"] != 0
        delivered, acked = counters["delivered_ps"], counters["acked_ps"]
        fct = pd.array(np.where(delivered >= 0, delivered - start, 0), dtype="Int64")
        fct[delivered < 0] = pd.NA
        until_ack = pd.array(np.where(acked >= 0, acked - start, 0), dtype="Int64")
        until_ack[acked < 0] = pd.NA
        status = np.select(
            [failed, acked >= 0, delivered >= 0, start <= self.now_ps],
            ["failed", "finished", "delivered", "running"],
            "waiting",
        )
        frame = pd.DataFrame(
            {
                "flow": plan.workload.index,
                "src": plan.workload["src"].to_numpy(),
                "dst": plan.workload["dst"].to_numpy(),
                "size_bytes": plan.size_bytes,
                "group": plan.workload["group"].to_numpy(),
                "start_ps": start,
                "fct_ps": fct,
                "acked_ps": until_ack,
                "ideal_fct_ps": plan.ideal_fct_ps,
                "retransmissions": counters["retransmissions"],
                "timeouts": counters["timeouts"],
                "status": status,
            }
        )
        slowdown = np.where(delivered >= 0, (delivered - start) / plan.ideal_fct_ps, np.nan)
        frame.insert(9, "slowdown", slowdown)
        return frame

    @cached_property
    def probes(self) -> pd.DataFrame:
        """Samples: `probe, time_ps, value`."""
        frames = []
        for watch, (times, values) in zip(self.plan.watches, self.outcome.samples, strict=True):
            probe = watch.probe
            if probe.is_rate and probe.every_ps is not None:
                times, values = times[1:], np.diff(values) * 8e12 / probe.every_ps
            frames.append(pd.DataFrame({"probe": probe.name, "time_ps": times, "value": values}))
        if not frames:
            return pd.DataFrame({"probe": pd.Series(dtype=str), "time_ps": np.int64([]), "value": np.float64([])})
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def ports(self) -> pd.DataFrame:
        """Counters of each port: one row for each direction of a link."""
        fabric = self.plan.fabric
        frame = pd.DataFrame(
            {
                "port": [fabric.port_name(port) for port in range(fabric.n_ports)],
                "link_class": np.array(LINK_CLASSES)[fabric.port_class],
                "rate_bps": fabric.port_rate_bps,
            }
        )
        return frame.assign(**self.outcome.ports)

    @cached_property
    def buffers(self) -> pd.DataFrame:
        """Peak data bytes in each switch."""
        fabric = self.plan.fabric
        nodes = np.flatnonzero(~fabric.is_host)
        return pd.DataFrame(
            {
                "switch": [fabric.names[node] for node in nodes],
                "buffer_bytes": fabric.buffer_bytes[nodes],
                "peak_bytes": self.outcome.buffer_peak_bytes[nodes],
            }
        )

    @cached_property
    def counters(self) -> pd.Series[Any]:
        """Totals: marks by link class, CNPs, PFC pauses and paused time, drops, timeouts, packets and bytes."""
        ports, totals = self.outcome.ports, self.outcome.totals
        classes = self.plan.fabric.port_class
        counters: dict[str, int] = {
            "data_packet_hops": int(ports["tx_data_packets"].sum()),
            "control_packet_hops": int(ports["tx_control_packets"].sum()),
        }
        for number, name in enumerate(LINK_CLASSES):
            counters[f"marks_{name}"] = int(ports["marked_packets"][classes == number].sum())
        counters |= {
            "pfc_pauses": int(ports["pauses"].sum()),
            "pfc_paused_ps": int(ports["paused_ps"].sum()),
            "pfc_violations": int(ports["violations"].sum()),
            "dropped_packets": int(ports["dropped_packets"].sum()),
            "lost_packets": int(ports["lost_packets"].sum()),
            "peak_queue_bytes": int(ports["peak_queue_bytes"][classes != HOST_NIC].max(initial=0)),
            "peak_buffer_bytes": int(self.outcome.buffer_peak_bytes.max(initial=0)),
            "timeouts": int(self.outcome.messages["timeouts"].sum()),
            "retransmissions": int(self.outcome.messages["retransmissions"].sum()),
        }
        return pd.Series(counters | totals, name="counters")

    @property
    def provenance(self) -> dict[str, Any]:
        """The scenario's scheme and seed, the engine, versions, and how long it took."""
        packages = ("rdmacc", "numpy", "numba", "simpy", "networkx", "pandas")
        return {
            "scheme": repr(self.plan.scheme),
            "seed": self.plan.seed,
            "engine": self.engine,
            "python": platform.python_version(),
            "versions": {name: metadata.version(name) for name in packages},
            "simulated_ps": self.now_ps,
            "wall_s": self.wall_s,
            "setup_s": self.setup_s,
        }

    def summary(self) -> pd.DataFrame:
        """Return flows by number, median and p99 FCT and slowdown, goodput, and the main counters."""
        raise NotImplementedError
