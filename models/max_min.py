"""Max-min fair completion times of a whole workload: an estimate in seconds where packets take minutes.

At every moment each active message has its max-min fair rate (`rdmacc.models.water_filling`). Paths are
those of the packet simulator, by the same ECMP hash.

What is counted: headers, and ACKs on the way back, which take their part of the links there. What is not:
queues, the time that a scheme takes to find the rates, and store and forward beyond what one message alone
sees.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdmacc.chance import hash63
from rdmacc.engine.dependencies import Dependents
from rdmacc.engine.plan import Plan, make_plan
from rdmacc.models.base import Model, param
from rdmacc.models.ideal import wire_bytes
from rdmacc.models.water_filling import as_lists, transfer
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.show.style import COLOURS, canvas, ecdf
from rdmacc.topology import Graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MaxMin", "message_paths"]


def message_paths(plan: Plan, *, is_reply: bool = False) -> list[list[int]]:
    """Return the ports that each message's packets take, or their replies, as both engines choose them.

    Parameters
    ----------
    plan : Plan
        The scenario, resolved to arrays.
    is_reply : bool
        Of the replies, from receiver to sender.
    """
    fabric = plan.fabric
    leave = plan.reply_port if is_reply else plan.qp_port
    paths = []
    for number, dst in enumerate(plan.src if is_reply else plan.dst):
        port = int(leave[plan.qp[number]])
        path, node = [port], int(fabric.port_peer[port])
        while node != dst:
            choices = fabric.candidates(node, int(dst))
            key = 2 * (int(plan.hash_as[number]) if len(plan.hash_as) else number) + is_reply
            choice = choices[0] if len(choices) == 1 else choices[hash63(int(plan.ecmp_salt[node]), key) % len(choices)]
            path.append(choice)
            node = int(fabric.port_peer[choice])
        paths.append(path)
    return paths


@dataclass(frozen=True, kw_only=True, eq=False)
class MaxMin(Model):
    """A workload under max-min fair sharing.

    Attributes
    ----------
    topology : networkx.Graph
        As `rdmacc.simulate`.
    workload : DataFrame
        As `rdmacc.simulate`, `after` included.
    scheme : str or Scheme
        For sizes of packets and ACKs, and to compare with.

    >>> import rdmacc
    >>> work = rdmacc.incast(["h1", "h2"], "h0", "1MB")
    >>> MaxMin(topology=rdmacc.star(3), workload=work).solve().slowdown.round(2).tolist()
    [1.98, 1.98]
    """

    title: ClassVar[str] = "Max-min fair sharing"

    topology: Graph = field(repr=False)
    workload: pd.DataFrame = field(repr=False)
    scheme: str | Scheme = field(default="dcqcn", metadata={"is_checked_later": True})
    has_acks: bool = param(True, "ACKs take their part of the links on the way back")
    seed: int = param(0, "of ECMP", low=0)

    def solve(self) -> pd.DataFrame:
        """Return `flow, size_bytes, start_ps, fct_ps, ideal_fct_ps, slowdown`, one row for each message.

        A message alone has a slowdown of 1. `start_ps` is when it starts, after those that it waits for.
        """
        scheme = as_scheme(self.scheme)
        plan = make_plan(self.topology, self.workload, scheme, seed=self.seed)
        wire = wire_bytes(plan.size_bytes, scheme.payload_bytes, scheme.header_bytes).astype(np.float64)
        capacity = np.asarray(plan.fabric.port_rate_bps, np.float64) / 8e12  # bytes/ps
        paths = message_paths(plan)
        use = [[1.0] * len(path) for path in paths]
        slowest = np.array([capacity[path].min() for path in paths])
        if self.has_acks:
            every = getattr(scheme.recovery, "ack_every_packets", 1)
            for number, back in enumerate(message_paths(plan, is_reply=True)):
                share = scheme.ack_bytes * np.ceil(plan.packets[number] / every) / wire[number]
                paths[number] = paths[number] + back
                use[number] = use[number] + [float(share)] * len(back)
        first, links = as_lists(paths)
        latency = np.maximum(plan.ideal_fct_ps - wire / slowest, 0.0)
        computing, count = plan.computation, plan.n_messages
        waits = plan.dependents or Dependents(
            np.zeros(count + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
        )
        begin, end = transfer(
            wire, np.append(plan.start_ps, computing.start_ps).astype(np.float64), plan.waits_for.astype(np.int64),
            np.append(latency, computing.duration_ps), waits.first, waits.rows.astype(np.int64),
            waits.delay_ps.astype(np.float64), first, links, as_lists(use, np.float64)[1], capacity,
        )  # fmt: skip
        begin = begin[:count]
        fct = end[:count] - begin + latency
        return pd.DataFrame(
            {
                "flow": plan.workload.index, "size_bytes": plan.size_bytes, "start_ps": begin, "fct_ps": fct,
                "ideal_fct_ps": plan.ideal_fct_ps, "slowdown": fct / plan.ideal_fct_ps,
            }
        )  # fmt: skip

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the fraction of messages by slowdown.

        Parameters
        ----------
        ax : Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            `ax`, or the axes of a new figure.
        """
        slowdown, fraction = ecdf(self.solve()["slowdown"].to_numpy())
        with canvas(ax) as ax:
            ax.plot(slowdown, fraction, drawstyle="steps-post", color=COLOURS["blue"], label="max-min fair")
            ax.set(title=self.title, xlabel="FCT / FCT alone", ylabel="fraction of messages", ylim=(0, 1.02))
            ax.legend(loc="lower right")
        return ax

    def scenario(self) -> Scenario:
        """Return the same as packets."""
        return Scenario(topology=self.topology, workload=self.workload, scheme=self.scheme, seed=self.seed)

    def predict(self, result: Result) -> pd.DataFrame:
        """Return FCT and slowdown of the messages that the simulation delivered.

        Parameters
        ----------
        result : Result
            The simulation.
        """
        return _tidy(self.solve(), result)

    def measure(self, result: Result) -> pd.DataFrame:
        """Return the same of the simulation.

        Parameters
        ----------
        result : Result
            The simulation.
        """
        return _tidy(result.flows, result)


def _tidy(flows: pd.DataFrame, result: Result) -> pd.DataFrame:
    chosen = flows[result.flows["fct_ps"].notna().to_numpy()]
    frames = [
        pd.DataFrame(
            {
                "quantity": name, "unit": unit, "x": chosen["flow"].to_numpy(),
                "value": chosen[column].to_numpy(np.float64), "over_time": False,
            }
        )
        for name, unit, column in (("FCT", "ps", "fct_ps"), ("slowdown", "", "slowdown"))
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)
