"""The frames of a run: messages, computations, probes, packets, ports and buffers."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.engine.trace import trace_frame
from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.interface import LINK_CLASSES, NEVER
from rdmacc.probes import Probe
from rdmacc.results.summary import Transport, counts_of
from rdmacc.rules.progress import HAS_WAITED, NO_ROUTE, NO_ROUTE_BACK
from rdmacc.show.timeline import merged

__all__ = ["Frames"]


class Frames:
    """The frames of a run, each made on request."""

    plan: Plan
    outcome: RunOutcome

    @cached_property
    def now_ps(self) -> int:
        """Simulated time when the run stopped."""
        return self.outcome.now_ps

    @cached_property
    def scheme_name(self) -> str:
        """Name of the scheme that ran."""
        return self.plan.scheme.name

    @cached_property
    def watched(self) -> tuple[Probe, ...]:
        """The probes, in order."""
        return tuple(watch.probe for watch in self.plan.watches)

    @cached_property
    def flows(self) -> pd.DataFrame:
        """Messages: `flow, src, dst, size_bytes, start_ps, fct_ps, ideal_fct_ps, slowdown, goodput_bps, ...`.

        `fct_ps` runs from the start to the last byte delivered, `fct_acked_ps` to the last ACK at the sender; both are
        missing (<NA>) until that has happened. `slowdown` is `fct_ps / ideal_fct_ps`, where the ideal is the FCT of the
        message alone on its path, at line rate and without faults; if its packets take several paths, it is a lower
        bound over these. `goodput_bps` is the payload received, divided by the time from the start to the
        delivery of the last byte (or to now). `status` is finished, delivered (not yet acknowledged), running, waiting
        or failed; `reason` says why it failed, such as "no route to h3", and is empty otherwise. `fct_us` and
        `goodput_gbps` are `fct_ps` and `goodput_bps` in readable units.
        """
        plan, counters = self.plan, self.outcome.messages
        start, failed = counters["start_ps"], counters["failed"] != 0
        delivered, acked = counters["delivered_ps"], counters["acked_ps"]
        fct = np.where(delivered >= 0, delivered - start, np.nan)
        goodput_bps = self._goodputs_bps()
        status = np.select(
            [failed, acked >= 0, delivered >= 0, self._has_started()],
            ["failed", "finished", "delivered", "running"],
            "waiting",
        )
        return pd.DataFrame(
            {
                "flow": plan.workload.index,
                "src": plan.workload["src"].to_numpy(),
                "dst": plan.workload["dst"].to_numpy(),
                "size_bytes": plan.size_bytes,
                "group": plan.workload["group"].to_numpy(),
                "start_ps": start,
                "fct_ps": _or_missing(delivered - start, delivered < 0),
                "fct_acked_ps": _or_missing(acked - start, acked < 0),
                "ideal_fct_ps": plan.ideal_fct_ps,
                "slowdown": fct / plan.ideal_fct_ps,
                "goodput_bps": goodput_bps,
                "retransmissions": counters["retransmissions"],
                "timeouts": counters["timeouts"],
                "status": status,
                "reason": self._reasons(),
                "fct_us": fct / 1e6,
                "goodput_gbps": goodput_bps / 1e9,
            }
        )

    def _reasons(self) -> npt.NDArray[np.object_]:
        plan, failed = self.plan, self.outcome.messages["failed"]
        reasons = np.full(plan.n_messages, "", np.object_)
        limits = [str(part.retry_limit) for part in plan.scheme.components if hasattr(part, "retry_limit")]
        gave_up = f"{plan.scheme.name} gave up" + (f" after {limits[0]} retries" if len(limits) == 1 else "")
        for number in np.flatnonzero(failed).tolist():
            src, dst = plan.fabric.names[plan.src[number]], plan.fabric.names[plan.dst[number]]
            texts = {
                NO_ROUTE: f"no route to {dst}",
                NO_ROUTE_BACK: f"no route back to {src}",
                HAS_WAITED: "what it waited for failed",
            }
            reasons[number] = texts.get(int(failed[number]), gave_up)
        return reasons

    @cached_property
    def transfers(self) -> pd.DataFrame:
        """The protocols' state of each message: `flow`, and the fields of their `Transfer` records.

        A field that two components share is named ``Component.field``. Deadlines and arrays are omitted.
        """
        columns = self.outcome.transfers
        names = [name for _, name in columns]
        parts = self.plan.scheme.components
        return pd.DataFrame(
            {"flow": self.plan.workload.index}
            | {
                name if names.count(name) == 1 else f"{type(parts[number]).__name__}.{name}": values
                for (number, name), values in columns.items()
            }
        )

    @cached_property
    def computation(self) -> pd.DataFrame:
        """Computations: `row, host, start_ps, duration_ps, end_ps, status, collective`.

        `start_ps` is when all its dependencies were complete; `end_ps` is missing (<NA>) until it ends. `status` is
        finished, running, waiting or failed. `collective` is the number of the collective that a transfer inside a node
        belongs to, and missing for real computation.
        """
        frame, counters = self.plan.rows.computation, self.outcome.computation
        start, end, failed = counters["start_ps"], counters["end_ps"], counters["failed"] != 0
        has_started = self._has_all()[self.plan.n_messages :] & (start <= self.now_ps)
        none = pd.Series(pd.NA, frame.index, dtype="Int64")
        return pd.DataFrame(
            {
                "row": frame.index,
                "host": frame["src"].to_numpy(),
                "start_ps": start,
                "duration_ps": self.plan.computation.duration_ps,
                "end_ps": _or_missing(end, end < 0),
                "status": np.select([failed, end >= 0, has_started], ["failed", "finished", "running"], "waiting"),
                "collective": frame.get("collective", none).to_numpy(),
            }
        ).astype({"collective": "Int64"})

    @cached_property
    def collectives(self) -> pd.DataFrame:
        """Collectives: `collective, operation, ranks, size_bytes, start_ps, time_ps, algbw_bps, busbw_bps, ...`.

        `time_ps` runs from the first start of a row to the last end, and is missing until then.
        """
        which, known = self.plan.rows.collectives()
        table = known.rename(columns={"buffer_bytes": "size_bytes"}).reset_index(drop=True)
        table = table.astype({"collective": np.int64, "ranks": np.int64, "size_bytes": np.int64, "operation": str})
        first, last = np.full(len(table) + 1, NEVER), np.zeros(len(table) + 1, np.int64)  # last: of no collective
        start_ps, end_ps = self._times_of_rows()
        np.minimum.at(first, which, start_ps)
        np.maximum.at(last, which, np.where(end_ps < 0, NEVER, end_ps))
        table["start_ps"] = first[:-1]
        table["time_ps"] = np.where(last == NEVER, np.nan, last - first)[:-1]
        table["algbw_bps"] = table["size_bytes"] * 8e12 / table["time_ps"]
        factors = [busbw_factor(*row) for row in zip(table["operation"], table["ranks"], strict=True)]
        table["busbw_bps"] = table["algbw_bps"] * factors
        return table.assign(time_us=table["time_ps"] / 1e6, busbw_gbytes=table["busbw_bps"] / 8e9)

    @cached_property
    def jobs(self) -> pd.DataFrame:
        """Jobs: `job, hosts, messages, bytes, start_ps, step_ps, computing_ps`, the last one a mean over hosts."""
        start_ps, end_ps = self._times_of_rows()
        rows = self.plan.rows.whole.reindex(columns=["job", "src", "dst", "size_bytes", "collective"])
        rows = rows.assign(start_ps=start_ps, end_ps=np.where(end_ps < 0, np.nan, end_ps))
        table = []
        for job, part in rows[rows["job"].notna()].groupby("job", sort=False):
            hosts, sends = set(part["src"]) | set(part["dst"]), part["size_bytes"] > 0
            start, end = part["start_ps"].min(), part["end_ps"].max(skipna=False)
            computes = part[~sends & part["end_ps"].notna() & part["collective"].isna()]
            spans = [merged(*one.to_numpy(np.float64).T) for _, one in computes.groupby("src")[["start_ps", "end_ps"]]]
            busy_ps = sum(float((ends - starts).sum()) for starts, ends in spans)
            sent_bytes = int(part["size_bytes"].sum())
            table.append((str(job), len(hosts), int(sends.sum()), sent_bytes, start, end - start, busy_ps / len(hosts)))
        names = ["job", "hosts", "messages", "bytes", "start_ps", "step_ps", "computing_ps"]
        return pd.DataFrame(table, columns=names).astype({"job": str, "step_ps": float, "computing_ps": float})

    def _times_of_rows(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return start and end of all rows of the workload, messages and computations; an end is -1 until it comes."""
        computes = self.plan.rows.computes
        start_ps, end_ps = np.empty((2, len(computes)), np.int64)
        messages, computation = self.outcome.messages, self.outcome.computation
        start_ps[~computes], start_ps[computes] = messages["start_ps"], computation["start_ps"]
        end_ps[~computes], end_ps[computes] = messages["delivered_ps"], computation["end_ps"]
        return start_ps, end_ps

    @cached_property
    def job_of_host(self) -> dict[str, str]:
        """The job of each host that has one, by the host's name as a string."""
        rows = self.plan.rows.whole
        if "job" not in rows:
            return {}
        rows = rows[rows["job"].notna()]
        return {str(host): str(job) for end in ("dst", "src") for host, job in zip(rows[end], rows["job"], strict=True)}

    @cached_property
    def probes(self) -> pd.DataFrame:
        """Samples: `probe, time_ps, value`."""
        parts: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        for watch, (times, values) in zip(self.plan.watches, self.outcome.samples, strict=True):
            probe = watch.probe
            if (probe.is_rate or probe.is_share) and probe.every_ps is not None:
                size = self.plan.scheme.payload_bytes if probe.field.endswith("_packets") else 1
                times, values = times[1:], np.diff(values) * size * 8e12 / probe.every_ps
            if probe.is_share:
                values = values / self.plan.fabric.port_rate_bps[watch.number]
            parts.append((times, values))
        counts = np.array([len(times) for times, _ in parts], np.int64)
        names = np.repeat([probe.name for probe in self.watched], counts)
        time_ps, value = map(np.concatenate, zip(*parts)) if parts else (np.empty(0, np.int64), np.empty(0))
        return pd.DataFrame({"probe": pd.Series(names, dtype=str), "time_ps": time_ps, "value": value})

    @typed
    def samples(self, name: str) -> pd.Series:
        """Return the samples of the probe of that name, such as ``"queue s0->h0"``, indexed by `time_ps`."""
        known = [probe.name for probe in self.watched]
        if not known:
            raise ConfigError("probe", name, "recorded: pass probes=[...] to simulate()")
        if name not in known:
            raise unknown("probe", name, known, "the name of a probe")
        time_ps, value = (self.probes[column].to_numpy()[self._rows_of_probes[name]] for column in ("time_ps", "value"))
        return pd.Series(value.copy(), pd.Index(time_ps.copy(), name="time_ps"), name=name)

    @cached_property
    def _rows_of_probes(self) -> dict[str, slice]:
        """The rows of `probes` by name: samples are asked for one probe at a time, and there may be a million."""
        codes, names = pd.factorize(self.probes["probe"])
        ends = np.searchsorted(codes, np.arange(len(names)), side="right").tolist()
        found = dict.fromkeys((probe.name for probe in self.watched), slice(0))
        return found | dict(zip(names, map(slice, [0, *ends], ends)))

    @property
    def trace_rows(self) -> npt.NDArray[np.void]:
        """The trace of every packet as rows (`rdmacc.engine.trace.ROW`)."""
        if self.outcome.trace is None or not self.plan.is_whole:
            raise ConfigError("trace", False, "True: call simulate() with trace=True")
        return self.outcome.trace

    @cached_property
    def packet_trace(self) -> pd.DataFrame:
        """The trace of every packet (see `rdmacc.engine.trace.trace_frame`), for runs with ``trace=True``."""
        frame = trace_frame(self.trace_rows, self.plan.fabric)
        if len(self.plan.computation):  # computations are rows between those of messages
            numbers = frame["message"].to_numpy()
            frame["message"] = np.where(numbers < 0, -1, self.plan.workload.index.to_numpy()[numbers])
        return frame

    @cached_property
    def ports(self) -> pd.DataFrame:
        """Counters of each port, with one row per direction of a link."""
        fabric = self.plan.fabric
        return pd.DataFrame(
            {
                "port": [fabric.port_name(port) for port in range(fabric.n_ports)],
                "link_class": np.array(LINK_CLASSES)[fabric.port_class],
                "rate_bps": fabric.port_rate_bps,
                **self.outcome.ports,
            }
        )

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
        """Totals: marks by link class, CNPs, PFC pauses and their duration, drops, timeouts, packets, bytes."""
        return pd.Series(counts_of(self.outcome, self.plan.fabric.port_class), name="counters")

    def transport(self) -> Transport:
        messages = self.outcome.messages
        return Transport(
            messages["start_ps"], messages["delivered_ps"], self.plan.size_bytes, self._received_bytes(), self.now_ps
        )

    def _has_started(self) -> npt.NDArray[np.bool_]:
        """Return which messages have started: their start time has passed, and their dependencies are complete."""
        return self._has_all()[: self.plan.n_messages] & (self.outcome.messages["start_ps"] <= self.now_ps)

    def _has_all(self) -> npt.NDArray[np.bool_]:
        """Return whether all dependencies are complete, for each message and then for each computation."""
        messages, plan = self.outcome.messages, self.plan
        src = np.concatenate([plan.src, plan.computation.host])
        has_all = np.ones(len(src), np.bool_)
        if plan.dependents is not None:
            computed = self.outcome.computation["end_ps"] >= 0
            acked, delivered = (np.append(messages[name] >= 0, computed) for name in ("acked_ps", "delivered_ps"))
            before, waiting = np.repeat(np.arange(len(src)), np.diff(plan.dependents.first)), plan.dependents.rows
            is_over = np.where(src[before] == src[waiting], acked[before], delivered[before])
            has_all[waiting[~is_over]] = False
        return has_all

    def _received_bytes(self) -> npt.NDArray[np.int64]:
        packets = self.outcome.messages["received_packets"]
        return np.minimum(packets * self.plan.scheme.payload_bytes, self.plan.size_bytes)

    def _goodputs_bps(self) -> npt.NDArray[np.float64]:
        messages = self.outcome.messages
        end = np.where(messages["delivered_ps"] >= 0, messages["delivered_ps"], self.now_ps)
        spent = np.maximum(end - messages["start_ps"], 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            goodput = self._received_bytes() * 8e12 / spent
        return np.where(self._has_started() & (spent > 0), goodput, np.nan)


def _or_missing(values: npt.NDArray[np.int64], is_missing: npt.NDArray[np.bool_]) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(np.where(is_missing, 0, values), is_missing)


def busbw_factor(operation: str, ranks: int) -> float:
    """Return the ratio of busbw to algbw, which makes a perfect run reach the hardware's rate for any number of ranks.

    From NVIDIA's nccl-tests, doc/PERFORMANCE.md.

    >>> busbw_factor("all-reduce", 8), busbw_factor("all-gather", 8), busbw_factor("broadcast", 8)
    (1.75, 0.875, 1.0)
    """
    if operation == "all-reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in ("reduce-scatter", "all-gather", "all-to-all") else 1.0
