"""Schemes: a composition of loss recovery, congestion control, switch features and a buffer policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rdmacc.component import Component, param
from rdmacc.errors import ConfigError
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.protocols.dasr import Dasr
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.dcqcn_hpcc import DcqcnHpcc
from rdmacc.protocols.go_back_0 import GoBack0
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.protocols.improved_go_back_n import ImprovedGoBackN
from rdmacc.protocols.irn import Irn
from rdmacc.protocols.line_rate import LineRate
from rdmacc.protocols.send_twice import SendTwice
from rdmacc.records import record_dtype
from rdmacc.state import CONTROL, DATA_CLASS, NUM_CLASSES, Packet
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import NIC_ORDERS, ROUTINGS, Queueing
from rdmacc.switch.red import EcnStep, Red

__all__ = ["SCHEMES", "Scheme", "as_scheme", "register", "scheme", "scheme_table"]


@dataclass(frozen=True, kw_only=True)
class Scheme(Component):
    """What runs on hosts and switches.

    Attributes
    ----------
    name : str
        Name for tables and plots.
    recovery : Component
        Loss recovery.
    control : tuple of Component
        Congestion control; handlers run in this order, and the lowest rate and window win.
    switch : tuple of Component
        What ports do to packets: marking, stamping, trimming.
    buffer : Pfc or DropTail
        How switches share their buffers, lossless or lossy.
    queueing : Queueing
        How ports choose among classes.
    """

    name: str = "custom"
    recovery: Component = dataclasses.field(default_factory=GoBackN)
    control: tuple[Component, ...] = ()
    switch: tuple[Component, ...] = ()
    buffer: Pfc | DropTail = dataclasses.field(default_factory=Pfc)
    queueing: Queueing = dataclasses.field(default_factory=Queueing)
    routing: str = param("ecmp", "ecmp, symmetric, spray-random or spray-round-robin")
    nic_order: str = param("round-robin", "round-robin or srpt: which ready queue pair a NIC serves")
    start_delay_ps: int = param(
        "0s", "operating system's overhead before each message", unit="ps", source="DCTCP in Dart: 300 us"
    )
    payload_bytes: int = param(
        "1000B", "payload of a full packet", unit="bytes", source="HPCC simulator", low=1, high=2**20
    )
    header_bytes: int = param(
        "48B", "headers of a data packet", unit="bytes", source="HPCC simulator, without INT", high=2**16
    )
    ack_bytes: int = param(
        "64B", "ACK, NAK, credit or advert on the wire", unit="bytes", source="least Ethernet frame", low=1, high=2**16
    )
    cnp_bytes: int = param("64B", "CNP on the wire", unit="bytes", source="DCQCN fact sheet", low=1, high=2**16)
    data_priority: int = param(DATA_CLASS, "class of data packets", low=DATA_CLASS, high=NUM_CLASSES - 1)
    ack_priority: int = param(CONTROL, "class of ACKs and other replies", low=CONTROL, high=NUM_CLASSES - 1)

    def __post_init__(self) -> None:
        for name in ("control", "switch"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, Component) else tuple(value))
        super().__post_init__()
        for component in self.components:
            if not isinstance(component, Component):
                raise ConfigError(f"{self.name}: component", component, "an instance of Component")
            component.check_interface()
        if not isinstance(self.buffer, Pfc | DropTail):
            raise ConfigError("buffer", self.buffer, "Pfc(...) or DropTail(...)")
        if not isinstance(self.queueing, Queueing):
            raise ConfigError("queueing", self.queueing, "Queueing(...)")
        if self.routing not in ROUTINGS:
            raise ConfigError("routing", self.routing, f"one of {', '.join(ROUTINGS)}")
        if self.nic_order not in NIC_ORDERS:
            raise ConfigError("nic_order", self.nic_order, f"one of {', '.join(NIC_ORDERS)}")
        record_dtype(Packet, *filter(None, (part.record("Header") for part in self.components)))

    @property
    def components(self) -> tuple[Component, ...]:
        """The parts in the order in which their handlers run."""
        return (self.recovery, *self.control, *self.switch)

    @property
    def is_pairwise(self) -> bool:
        """True if all messages between two hosts share a queue pair."""
        return any(part.pairwise for part in self.components)

    @property
    def wire_bytes(self) -> int:
        """Bytes on the wire of a full data packet."""
        return self.payload_bytes + self.header_bytes

    def replace(self, **changes: Any) -> Scheme:
        """Return a copy with some parameters changed: the scheme's own, or a component's if only one has the name.

        Raises
        ------
        ConfigError
            If no component, or more than one, has a parameter of that name.
        """
        own = {field.name for field in dataclasses.fields(self)}
        result = self
        for name, value in changes.items():
            if name in own:
                result = dataclasses.replace(result, **{name: value})
                continue
            owners = [
                part for part in (*result.components, result.buffer, result.queueing) if name in _parameters(part)
            ]
            if len(owners) != 1:
                known = sorted(
                    own.union(*(_parameters(part) for part in (*self.components, self.buffer, self.queueing)))
                )
                allowed = f"one of {', '.join(known)}" if not owners else "a name that only one component has"
                raise ConfigError(f"parameter of scheme {self.name!r}", name, allowed)
            result = result._swap(owners[0], dataclasses.replace(owners[0], **{name: value}))  # type: ignore[type-var]
        return result

    def _swap(self, old: Component, new: Component) -> Scheme:
        swapped: Any = new
        return dataclasses.replace(
            self,
            recovery=new if self.recovery is old else self.recovery,
            control=tuple(new if part is old else part for part in self.control),
            switch=tuple(new if part is old else part for part in self.switch),
            buffer=swapped if self.buffer is old else self.buffer,
            queueing=swapped if self.queueing is old else self.queueing,
        )


def _parameters(component: Component) -> set[str]:
    return {field.name for field in dataclasses.fields(component)}  # type: ignore[arg-type]


_DCQCN_RED = Red()
_HPCC_RED = Red(kmin_bytes="100kB", kmax_bytes="400kB", pmax=0.2, reference_bps="25Gbps", at_dequeue=True)  # type: ignore[arg-type]
_DART_STEP = EcnStep(reference_bps="10Gbps", at_nic=True)  # type: ignore[arg-type]

SCHEMES: dict[str, Callable[[], Scheme]] = {}
"""The schemes by name: each a function that makes it with its default parameters."""


def register(name: str, make: Callable[[], Scheme]) -> None:
    """Add a scheme under a name, so that `scheme(name)` and the command line find it."""
    if not isinstance(name, str) or not name:
        raise ConfigError("scheme name", name, "a non-empty string")
    SCHEMES[name] = make


register("line-rate", lambda: Scheme(name="line-rate", control=(LineRate(),)))
register("dcqcn", lambda: Scheme(name="dcqcn", control=(Dcqcn(),), switch=(_DCQCN_RED,)))
register("dcqcn-hpcc", lambda: Scheme(name="dcqcn-hpcc", control=(DcqcnHpcc(),), switch=(_HPCC_RED,)))
register("dasr", lambda: Scheme(name="dasr", control=(Dasr(), Dcqcn()), switch=(_DART_STEP,)))
register(
    "dasr-no-look-ahead",
    lambda: Scheme(name="dasr-no-look-ahead", control=(Dasr(look_ahead=False), Dcqcn()), switch=(_DART_STEP,)),
)


def _recovery(name: str, recovery: type[GoBackN]) -> None:
    """Register a loss recovery of IGBN with the parameters of its Table I, and without congestion control."""
    register(
        name,
        lambda: Scheme(name=name, recovery=recovery(ack_every_packets=256), control=(LineRate(),), payload_bytes=1024),
    )


_recovery("go-back-0", GoBack0)
_recovery("go-back-n", GoBackN)
_recovery("send-twice", SendTwice)
_recovery("check-epsn", CheckEpsn)
_recovery("improved-go-back-n", ImprovedGoBackN)
register("irn", lambda: Scheme(name="irn", recovery=Irn(), control=(LineRate(),), buffer=DropTail()))


def scheme(name: str, **changes: Any) -> Scheme:
    """Return the scheme of that name, with some parameters changed.

    Raises
    ------
    ConfigError
        If there is no such scheme or parameter, or a value is not allowed.

    Examples
    --------
    >>> scheme("dcqcn", cnp_interval_ps="4us").control[0].cnp_interval_ps
    4000000
    """
    if not isinstance(name, str) or name not in SCHEMES:
        raise ConfigError("scheme", name, f"one of {', '.join(SCHEMES)}, or a Scheme")
    return SCHEMES[name]().replace(**changes)


def as_scheme(value: str | Scheme) -> Scheme:
    """Return a scheme for a name, or the scheme itself."""
    if isinstance(value, Scheme):
        return value
    if isinstance(value, str):
        return scheme(value)
    raise ConfigError("scheme", value, f"a Scheme or one of {', '.join(SCHEMES)}")


def scheme_table(value: str | Scheme) -> list[dict[str, Any]]:
    """Return the parameters of a scheme, one row each: component, parameter, value, unit, symbol, source, doc."""
    rows = []
    chosen = as_scheme(value)
    for part in (*chosen.components, chosen.buffer, chosen.queueing, chosen):
        for field in dataclasses.fields(part):  # type: ignore[arg-type]
            if "doc" in field.metadata:
                row = {"component": type(part).__name__, "parameter": field.name, "value": getattr(part, field.name)}
                rows.append(row | {key: field.metadata[key] for key in ("unit", "symbol", "source", "doc")})
    return rows
