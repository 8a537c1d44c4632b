"""Max-min fair completion times of a whole workload: an estimate in seconds instead of minutes of packet simulation.

At every moment each active message has its max-min fair rate (`rdmacc.models.filling`), in proportion to the workload's
weights. Paths are those of the packet simulator, by the same ECMP hash.

Each result includes the recorded error for messages of that size and load, from `max_min.csv`, which ``python -m
rdmacc.experiments.micro.max_min`` updates. For messages that wait for others, as in a collective, there is no general
record; `rdmacc.compare` measures the error with packets.

Included: headers, ACKs on the way back, and the order of messages on a queue pair. Not included: queues, the time that
a scheme takes to find the rates, and store-and-forward delays beyond those of a message alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.engine.plan import Plan, make_plan
from rdmacc.engine.work import Dependents
from rdmacc.errors import ConfigError
from rdmacc.interface.chance import GOLDEN, MIX1, MIX2
from rdmacc.models.base import Floats, Model, param, told
from rdmacc.models.filling import Ints, run
from rdmacc.models.ideal import wire_bytes
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.show.style import COLOURS, canvas, ecdf
from rdmacc.simulation.scenario import Scenario
from rdmacc.topology import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def paths_in_numbers(plan: Plan, *, is_reply: bool = False) -> tuple[Ints, Ints]:
    """Return paths as (first, ports): message m takes ``ports[first[m]:first[m + 1]]``."""
    fabric = plan.fabric
    dst = np.asarray(plan.src if is_reply else plan.dst, np.int64)
    keys = np.asarray(plan.hash_as, np.int64) if len(plan.hash_as) else np.arange(plan.n_messages)
    salts = np.asarray(plan.ecmp_salt).astype(np.uint64)
    column = fabric.attach[dst].astype(np.int64)
    port = np.asarray(plan.reply_port if is_reply else plan.qp_port)[plan.qp].astype(np.int64)
    rows, hops = np.arange(plan.n_messages), [(np.arange(plan.n_messages), port)]
    while True:
        node = fabric.port_peer[port].astype(np.int64)
        going = node != dst[rows]
        rows, node = rows[going], node[going]
        if not len(rows):
            break
        there = column[rows]
        row = fabric.route_row[node]
        count = np.maximum(fabric.route_count[row, there].astype(np.int64), 1)
        chosen = _hashes(salts[node], 2 * keys[rows] + is_reply) % count
        place = np.minimum(fabric.route_first[row, there] + chosen, len(fabric.route_ports) - 1)
        at_end = node == fabric.attachments[there]
        port = np.where(at_end, fabric.last_port[dst[rows]], fabric.route_ports[place]).astype(np.int64)
        hops.append((rows, port))
    owner = np.concatenate([rows for rows, _ in hops])
    order = np.argsort(owner, kind="stable")  # hops of a message stay in their order
    first = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=plan.n_messages))))
    return first, np.concatenate([port for _, port in hops])[order]


def _hashes(keys: npt.NDArray[np.uint64], counts: Ints) -> Ints:
    """Return `hash63` of pairs."""
    z = keys + (counts.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(MIX1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(MIX2)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(1)).astype(np.int64)


def fair_times(plan: Plan, *, has_acks: bool = True, tolerance: float = 0.001) -> tuple[Floats, Floats]:
    """Return start and completion time of each message, then of each computation of a plan, under max-min sharing."""
    scheme, wire = plan.scheme, _on_the_wire(plan)
    capacity = np.asarray(plan.fabric.port_rate_bps, np.float64) / 8e12  # bytes/ps
    first, links = paths_in_numbers(plan)
    use = np.ones(len(links))
    slowest = np.minimum.reduceat(capacity[links], first[:-1])
    if has_acks:
        every = getattr(scheme.recovery, "ack_every_packets", 1)
        share = scheme.ack_bytes * np.ceil(plan.packets / every) / wire
        first, links, use = _joined((first, links, use), paths_in_numbers(plan, is_reply=True), share)
    latency = np.maximum(plan.ideal_fct_ps - wire / slowest, 0.0)
    computing, count = plan.computation, plan.n_messages
    waits = plan.dependents or Dependents(np.zeros(count + 1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int64))
    use = use * np.repeat(plan.weight, np.diff(first))  # rates per weight are max-min fair
    begin, end = run(
        wire / plan.weight,
        np.append(plan.start_ps, computing.start_ps).astype(np.float64), plan.waits_for.astype(np.int64),
        np.append(latency, computing.duration_ps), waits.first.astype(np.int64), waits.rows.astype(np.int64),
        waits.delay_ps.astype(np.float64), first, links, use, capacity, plan.qp.astype(np.int64), tolerance,
    )  # fmt: skip
    return begin, end - begin + np.append(latency, np.zeros(len(end) - count))


def _on_the_wire(plan: Plan) -> Floats:
    return wire_bytes(plan.size_bytes, plan.scheme.payload_bytes, plan.scheme.header_bytes).astype(np.float64)


def _load(plan: Plan) -> float | None:
    """Return the load on the hosts' links between the first and the last start; None if messages wait for others."""
    if plan.dependents is not None:
        return None
    is_host = np.asarray(plan.fabric.is_host)
    links_bps = float(np.asarray(plan.fabric.port_rate_bps)[is_host[plan.fabric.port_node]].sum())
    span_ps = float(plan.start_ps.max() - plan.start_ps.min())
    return float(_on_the_wire(plan).sum()) * 8e12 / (links_bps * span_ps) if span_ps > 0 else np.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class MaxMin(Model):
    """A workload under max-min fair sharing.

    Attributes
    ----------
    network : networkx.Graph
        As `rdmacc.simulate`.
    workload : DataFrame
        As `rdmacc.simulate`, `after` included.
    scheme : str or Scheme
        Scheme, for the sizes of packets and ACKs, and for comparison.

    >>> import rdmacc
    >>> work = rdmacc.incast(["h1", "h2"], "h0", "1MB")
    >>> MaxMin(network=rdmacc.star(3), workload=work).solve().slowdown.round(2).tolist()
    [1.98, 1.98]
    """

    title: ClassVar[str] = "Max-min fair sharing"

    network: Graph = field(repr=False)
    workload: pd.DataFrame = field(repr=False)
    scheme: str | Scheme = field(default_factory=lambda: "dcqcn")
    has_acks: bool = param(True, "ACKs use part of the links on the way back")
    seed: int = param(0, "seed of ECMP", low=0)
    tolerance: float = param(0.001, "largest relative error of a rate", low=1e-9, high=0.1)

    def solve(self) -> pd.DataFrame:
        """Return `flow, size_bytes, start_ps, fct_ps, ideal_fct_ps, slowdown, error`, one row for each message.

        A message alone has a slowdown of 1. `start_ps` is when it starts, after those that it waits for. `error` is the
        recorded median error against packets, for messages of this size at this load; NaN if messages wait for others:
        run `rdmacc.compare` on this workload, or a part of it.
        """
        plan = make_plan(self.network, self.workload, as_scheme(self.scheme), seed=self.seed)
        times = fair_times(plan, has_acks=self.has_acks, tolerance=self.tolerance)
        begin, fct = (one[: plan.n_messages] for one in times)
        return pd.DataFrame(
            {
                "flow": plan.workload.index, "size_bytes": plan.size_bytes, "start_ps": begin, "fct_ps": fct,
                "ideal_fct_ps": plan.ideal_fct_ps, "slowdown": fct / plan.ideal_fct_ps,
                "error": error_on_record(plan.scheme.name, _load(plan), plan.size_bytes),
            }
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the fraction of messages by slowdown."""
        table = self.solve()
        slowdown, fraction = ecdf(table["slowdown"].to_numpy())
        with canvas(ax) as ax:
            error = table["error"].median()
            known = "error unknown" if np.isnan(error) else f"error on record {error:.0%}"
            ax.plot(slowdown, fraction, drawstyle="steps-post", color=COLOURS["blue"], label=f"max-min fair, {known}")
            ax.set(title=self.title, xlabel="FCT / FCT alone", ylabel="fraction of messages", ylim=(0, 1.02))
            ax.legend(loc="lower right")
        return ax

    def scenario(self) -> Scenario:
        """Return the equivalent scenario."""
        return Scenario(network=self.network, workload=self.workload, scheme=self.scheme, seed=self.seed)

    def predict(self, result: Result) -> pd.DataFrame:
        """Return FCT and slowdown of the messages that the simulation delivered."""
        return _tidy(self.solve(), result)

    def measure(self, result: Result) -> pd.DataFrame:
        """Return FCT and slowdown of these messages in the simulation."""
        return _tidy(result.flows, result)


def _joined(there: tuple[Ints, Ints, Floats], back: tuple[Ints, Ints], share: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the links of data and replies, ordered by message."""
    rows = np.concatenate([np.repeat(np.arange(len(share)), np.diff(first)) for first in (there[0], back[0])])
    links = np.concatenate([there[1], back[1]])
    use = np.concatenate([there[2], np.repeat(share, np.diff(back[0]))])
    order = np.argsort(rows, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(share)))))
    return first, links[order], use[order]


def _tidy(flows: pd.DataFrame, result: Result) -> pd.DataFrame:
    if len(result.flows) != len(flows):
        raise ConfigError("result", f"{len(result.flows)} messages", f"of the model's workload, with {len(flows)}")
    chosen = flows[result.flows["fct_ps"].notna().to_numpy()]
    flow = chosen["flow"].to_numpy()
    parts = told("FCT", "ps", flow, chosen["fct_ps"]), told("slowdown", "", flow, chosen["slowdown"])
    return pd.concat(parts, ignore_index=True)


RECORD = Path(__file__).with_name("max_min.csv")
EDGES = (10_000, 100_000, 1_000_000)
"""Message sizes in bytes that separate the recorded size classes."""


@cache
def errors_on_record() -> pd.DataFrame:
    """Return `scheme, load, size_class, messages, median_error, p90_error, bias`.

    An error is a message's simulated completion time over that of `MaxMin`, minus 1. Median and 90th percentile are of
    absolute errors; `bias` is the signed mean. The class is the number of `EDGES` that a size exceeds.

    Examples
    --------
    >>> sorted(errors_on_record()["load"].unique())
    ['0.2', '0.4', '0.6', '0.8']
    """
    return pd.read_csv(RECORD, dtype={"load": str})


def size_classes(size_bytes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the class of each size."""
    return np.searchsorted(EDGES, size_bytes)


def error_on_record(scheme: str, load: float | None, size_bytes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the recorded median absolute error for messages of these sizes; NaN if messages wait for others."""
    if load is None:
        return np.full(len(size_bytes), np.nan)
    record = errors_on_record()
    if scheme in set(record["scheme"]):
        record = record[record["scheme"] == scheme]
    known = sorted(set(record["load"]), key=float)
    row = next((one for one in known if float(one) >= load), known[-1])
    worst = record[record["load"] == row].groupby("size_class")["median_error"].max()
    classes = size_classes(size_bytes)
    return worst.reindex(range(len(EDGES) + 1)).fillna(worst.max()).to_numpy()[classes]
