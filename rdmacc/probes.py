"""Probes: what to record while a simulation runs, sampled or at every change.

A probe watches one field of one record: a port's queue, a queue pair's rate, a component's state. The helpers `queue`,
`throughput`, `utilisation`, `rate` and `window` cover the common cases; `field` watches any field.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import networkx as nx

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface import Named
from rdmacc.interface.described import describes
from rdmacc.units import Quantity, time_ps

__all__ = ["PLACES", "Probe", "every_link", "field", "queue", "rate", "throughput", "utilisation", "window"]

PLACES = ("port", "flow", "host")


@dataclass(frozen=True, kw_only=True)
class Probe(Named):
    """A probe of one field of a record.

    Attributes
    ----------
    name : str
        Name in the result's `probes` frame.
    place : {"port", "flow", "host"}
        The kind of record; "flow" covers a message and its queue pair.
    at : pair of node names, int or node name
        The port as (from, to), the message (row of the workload), or the host.
    field : str
        Field of the port, the message or its queue pair, or the host; or ``"<component>.<field>"`` for a field
        of a component's record, such as ``"Dcqcn.alpha"``.
    every_ps : int or None
        Sampling period; None records each change.
    is_rate : bool
        Report the field's increase over each period as a rate in bit/s; packets count as their payload.
    is_share : bool
        Report that rate as a fraction of the port's rate.
    """

    name: str
    place: str
    at: Hashable
    field: str
    every_ps: int | None = None
    is_rate: bool = False
    is_share: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.place, str) or self.place not in PLACES:
            raise ConfigError("Probe.place", self.place, f"one of {', '.join(PLACES)}")
        if not isinstance(self.field, str) or not self.field:
            raise ConfigError("Probe.field", self.field, "the name of a field, such as 'queue_bytes'")
        if self.is_share and (self.place != "port" or self.is_rate):
            raise ConfigError("Probe.is_share", True, "set only for a port, without is_rate")
        if self.every_ps is not None:
            every_ps = time_ps(self.every_ps, field="Probe.every_ps", bare_ps=True)
            if every_ps < 1:
                raise ConfigError("Probe.every_ps", self.every_ps, "at least 1 ps, or None to record every change")
            object.__setattr__(self, "every_ps", every_ps)
        elif self.is_rate or self.is_share:
            raise ConfigError("Probe.every_ps", None, "given for a probe that measures a rate")


_described = describes(
    node="hashable: The near end of the port and its link.",
    peer="hashable: The node that the port leads to.",
    flow="int: Row of the workload.",
    every='number or str, optional: Period of samples and means, such as ``"1us"``; None: every change is recorded.',
)


def _probe(name: str, place: str, at: Any, field: str, every: Quantity | None, **kind: bool) -> Probe:
    every_ps = None if every is None else time_ps(every, field="every")
    return Probe(name=name, place=place, at=at, field=field, every_ps=every_ps, **kind)


@typed
@_described
def queue(node: Hashable, peer: Hashable, every: Quantity | None = None) -> Probe:
    """Return a probe of the data bytes queued at the port from `node` to `peer`, in bytes."""
    return _probe(f"queue {node}->{peer}", "port", (node, peer), "queue_bytes", every)


@typed
@_described
def throughput(node: Hashable, peer: Hashable, every: Quantity) -> Probe:
    """Return a probe of the throughput from `node` to `peer`: all packets, in bit/s averaged over each period."""
    return _probe(f"throughput {node}->{peer}", "port", (node, peer), "tx_bytes", every, is_rate=True)


@typed
@_described
def utilisation(node: Hashable, peer: Hashable, every: Quantity) -> Probe:
    """Return a probe of the utilisation of the link from `node` to `peer`: throughput over the link's rate, 0 to 1."""
    return _probe(f"utilisation {node}->{peer}", "port", (node, peer), "tx_bytes", every, is_share=True)


@typed
def every_link(network: "nx.Graph[Any]", every: Quantity) -> list[Probe]:
    """Return probes of every link's utilisation, both ways, for `result.plot.tiers`.

    Parameters
    ----------
    network : networkx.Graph
        The network.
    every : number or str
        Period, such as ``"10us"``.
    """
    return [utilisation(*ends, every) for a, b in network.edges for ends in ((a, b), (b, a))]


@typed
@_described
def goodput(flow: int, every: Quantity) -> Probe:
    """Return a probe of a message's goodput: new payload in full packets at its receiver, in bit/s over each period."""
    return _probe(f"goodput {flow}", "flow", flow, "received_packets", every, is_rate=True)


@typed
@_described
def rate(flow: int, every: Quantity | None = None) -> Probe:
    """Return a probe of the pacing rate of a message's queue pair, in bit/s."""
    return _probe(f"rate {flow}", "flow", flow, "rate_bps", every)


@typed
@_described
def window(flow: int, every: Quantity | None = None) -> Probe:
    """Return a probe of the window of a message's queue pair, in bytes."""
    return _probe(f"window {flow}", "flow", flow, "window_bytes", every)


@typed
@_described
def field(place: str, at: Hashable, field: str, every: Quantity | None = None) -> Probe:
    """Return a probe of any field: `place` is "port", "flow" or "host", `field` as in `Probe`.

    Parameters
    ----------
    place : str
        "port", "flow" or "host".
    at : hashable
        Port as (node, peer), flow as a row of the workload, or name of a host.
    field : str
        Field to watch, as in `Probe`.
    """
    return _probe(f"{field} {at}", place, at, field, every)
