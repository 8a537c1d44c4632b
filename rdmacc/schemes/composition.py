"""A scheme: a composition of loss recovery, congestion control, switch features and a buffer policy."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from rdmacc.errors import ConfigError, unknown
from rdmacc.handlers.reach import reach_of
from rdmacc.interface import CONTROL, CREDITS, DATA_CLASS, MAC, NUM_CLASSES, Component, Links, Scaled
from rdmacc.interface.parameters import OptionalSize, OptionalTime, Parameters, Size, Time, check_unit, fields_of, param
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.schemes.evidence import parameter_rows
from rdmacc.schemes.features import Feature, parts_without
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import ROUTINGS, NicOrder, Queueing, Routing

Connection = Literal["auto", "message", "pair"]
BaseRtt = Literal["pair", "network", "largest"]


if TYPE_CHECKING:
    from rdmacc.interface.parameters import Given

    Components: TypeAlias = Given[tuple[Component, ...], Component | Iterable[Component]]  # one or several
else:
    Components = tuple

_NO_COMPONENTS: Any = ()


@dataclass(frozen=True, kw_only=True)
class Scheme(Parameters):
    """A scheme: the protocols that run on hosts and switches.

    Attributes
    ----------
    name : str
        Name for tables and plots.
    recovery : Component
        Loss recovery.
    control : tuple of Component
        Congestion control. Handlers run in this order; the lowest rate and the lowest window apply.
    switch : tuple of Component
        Port features such as marking, stamping and trimming.
    buffer : Pfc or DropTail
        How switches share their buffers, lossless or lossy.
    queueing : Queueing
        How ports choose among classes.
    preset : str
        Name of the preset that it comes from, if any; `Result.cite` uses it.
    """

    name: str = "custom"
    recovery: Component = dataclasses.field(default_factory=GoBackN)
    control: Components = _NO_COMPONENTS
    switch: Components = _NO_COMPONENTS
    buffer: Pfc | DropTail = dataclasses.field(default_factory=Pfc)
    queueing: Queueing = dataclasses.field(default_factory=Queueing)
    preset: str = dataclasses.field(default="", compare=False)
    routing: Routing = param("ecmp", f"{', '.join(ROUTINGS[:-1])} or {ROUTINGS[-1]}", choices=ROUTINGS)
    flowlet_gap_ps: Time = param(
        "0s",
        "adaptive routing: a packet within this time of its message's previous one takes the same path; 0: never",
        low=0,
    )
    nic_order: NicOrder = param(
        "round-robin", "which ready queue pair a NIC serves: round-robin or srpt", choices=get_args(NicOrder)
    )
    start_delay_ps: Time = param(
        "0s", "operating system's overhead before each message", source="DCTCP in Dart: 300 us"
    )
    tick_ps: OptionalTime = param(
        None,
        "transmission and pacing times are truncated to multiples of it, a whole fraction of a second; "
        "0: rounded to the nearest ps",
        unit="ps",
    )
    payload_bytes: Size = param("1000B", "payload of a full packet", source="HPCC simulator", low=1, high=2**20)
    header_bytes: Size = param("48B", "headers of a data packet", source="HPCC simulator, without INT", high=2**16)
    ack_bytes: Size = param(
        "64B", "ACK, NAK, credit or advert on the wire", source="least Ethernet frame", low=1, high=2**16
    )
    least_wire_bytes: OptionalSize = param(
        None, "shorter data packets are padded to this size; 0: no padding", unit="bytes", low=0, high=2**20
    )
    cnp_bytes: Size = param("64B", "CNP on the wire", source="smallest Ethernet frame", low=1, high=2**16)
    data_priority: int = param(DATA_CLASS, "class of data packets", low=DATA_CLASS, high=NUM_CLASSES - 1)
    ack_priority: int = param(CONTROL, "class of ACKs and other replies", low=CONTROL, high=NUM_CLASSES - 1)
    nic_ack_priority: int = param(
        -1,
        "class of replies in the sending NIC, before the first link; -1: `ack_priority`",
        low=-1,
        high=NUM_CLASSES - 1,
    )
    connection: Connection = param(
        "auto",
        "message: one queue pair per message; pair: one per pair of hosts, whose rates and windows "
        "outlive a message; auto: pair if a component needs it",
        choices=get_args(Connection),
    )
    base_rtt: BaseRtt = param(
        "pair",
        "base RTT of a queue pair. pair: of a full packet and its ACK between its hosts; network: the largest between "
        "any hosts, of a packet's payload there, and of delays alone back; largest: the largest between any hosts, of "
        "a full packet and its ACK",
        source="network: third.cc of the HPCC simulator, GLOBAL_T; largest: uet-htsim",
        choices=get_args(BaseRtt),
    )

    def __post_init__(self) -> None:
        for name in ("control", "switch"):
            value = getattr(self, name)
            try:
                parts = (value,) if isinstance(value, Component | str) else tuple(value)
            except TypeError:
                raise ConfigError(name, value, "a component, or a list of components") from None
            object.__setattr__(self, name, parts)
        if not isinstance(self.name, str) or not (self.name and self.name.isprintable()):
            raise ConfigError("name", self.name, "a non-empty string in one line")
        super().__post_init__()
        for component in self.components:
            if not isinstance(component, Component):
                made = f": write {component.__name__}()" if isinstance(component, type) else ""
                raise ConfigError(f"{self.name}: component", component, f"an instance of Component{made}")
        if not isinstance(self.buffer, Pfc | DropTail):
            raise ConfigError("buffer", self.buffer, "a Pfc or a DropTail")
        if not isinstance(self.queueing, Queueing):
            raise ConfigError("queueing", self.queueing, "Queueing(...)")
        if self.tick_ps and 10**12 % self.tick_ps:
            raise ConfigError("tick_ps", self.tick_ps, "0, or a whole fraction of a second, such as 1 ps or 1 ns")
        if self.nic_ack_priority in (MAC, CREDITS):
            raise ConfigError(
                "nic_ack_priority", self.nic_ack_priority, f"-1, or a class from {CONTROL} to {NUM_CLASSES - 1}"
            )
        if self.is_pairwise and self.one_message:
            raise ConfigError("connection", "pair", f"'message': {self.one_message}")
        reach_of(self)

    def __repr__(self) -> str:
        """Return name and composition, with the parameters that differ from their defaults."""
        parts = ", ".join(map(repr, (*self.components, self.buffer, self.queueing)))
        own = "".join(f", {name}={value!r}" for name, value in self.changed().items())
        return f"<Scheme {self.name}: {parts}{own}>"

    def _repr_html_(self) -> str:
        from rdmacc.show.tables import html_table

        rows = []
        for row in parameter_rows(self, {}, None):
            value, unit = row["value"], row["unit"]
            text = value.text(unit) if isinstance(value, Scaled) else f"{value} {unit}".strip()
            rows.append((f"{row['component']}.{row['parameter']}", text, str(row["source"])))
        return html_table(["parameter", "value", "source"], rows, repr(self))

    def changed(self) -> dict[str, Any]:
        """Return the scheme's own parameters that differ from their defaults, by name."""
        known = {one.name for one in dataclasses.fields(self) if "doc" in one.metadata}
        return {name: value for name, value in super().changed().items() if name in known}

    @property
    def has_scanning_nics(self) -> bool:
        """Whether a NIC scans its queue pairs with one timer for all, as it does with a tick."""
        return self.tick_ps > 0

    @property
    def components(self) -> tuple[Component, ...]:
        """The components, in the order in which their handlers run."""
        return (self.recovery, *self.control, *self.switch)

    @property
    def _parts(self) -> tuple[Parameters, ...]:
        return (self, *self.components, self.buffer, self.queueing)

    @property
    def is_pairwise(self) -> bool:
        """True if all messages between two hosts share a queue pair."""
        if self.connection == "auto":
            return any(part.pairwise for part in self.components)
        return self.connection == "pair"

    @property
    def one_message(self) -> str:
        """Why a queue pair can carry only one message; empty if it can carry several."""
        found = [type(part).__name__ for part in self.components if part.one_message]
        return f"each queue pair of {found[0]} carries one message" if found else ""

    @property
    def spans_ports(self) -> bool:
        """True if a queue pair uses all links of its host that lead to the receiver, not just one."""
        return any(part.spans_ports for part in self.components)

    @property
    def marks_at_nic(self) -> bool:
        """True if a component marks packets at the sending host's port too."""
        return any(part.marks_at_nic for part in self.components)

    @property
    def wire_bytes(self) -> int:
        """Bytes on the wire of a full data packet."""
        return self.payload_bytes + self.header_bytes

    def replace(self, **changes: Any) -> Scheme:
        """Return a copy with some parameters changed: the scheme's own, or a component's.

        If only the scheme or one of its `components` has a parameter of that name, the name alone is enough:
        ``kmin_bytes``. Otherwise, and for parameters of the buffer and the queueing, put the component first:
        ``"Red.reference_bps"``, ``"Pfc.alpha"``.

        Parameters
        ----------
        **changes
            New values by parameter; quantities may have units, and bare numbers are in base units, as the scheme reads
            them. Pass names with a dot as ``replace(**{"Pfc.alpha": 0.5})``.

        Raises
        ------
        ConfigError
            If there is no such parameter, its name must be qualified, or a value is not allowed.
        """
        names = {name: name.removeprefix("Scheme.") in _OWN for name in changes}
        own = {self.owner(name)[1]: changes[name] for name, is_own in names.items() if is_own}
        result = dataclasses.replace(self, **own) if own else self  # may replace the parts that other changes concern
        parts: dict[int, tuple[Any, dict[str, Any]]] = {}
        for name in (one for one, is_own in names.items() if not is_own):
            owner, own_name = result.owner(name)
            parts.setdefault(id(owner), (owner, {}))[1][own_name] = changes[name]
        if not parts:
            return result
        # Apply all changes of a component at once: K_min and K_max are validated together.
        new = {id_: dataclasses.replace(owner, **values) for id_, (owner, values) in parts.items()}
        swapped: dict[str, Any] = {}
        for name in ("recovery", "control", "switch", "buffer", "queueing"):
            held = getattr(result, name)
            is_tuple = isinstance(held, tuple)
            swapped[name] = tuple(new.get(id(one), one) for one in held) if is_tuple else new.get(id(held), held)
        return dataclasses.replace(result, **swapped)

    def given(self, changes: Mapping[str, Any]) -> Scheme:
        """Return a copy with values that a user gave by name; times must carry their unit.

        Parameters
        ----------
        changes : mapping
            New values by parameter, as in `replace`.

        Raises
        ------
        ConfigError
            As in `replace`, or for a time that is a bare number, or a rate that is one below 1 Mb/s.
        """
        for name, value in changes.items():
            owner, own_name = self.owner(name)
            unit = next(one.metadata.get("unit", "") for one in fields_of(owner) if one.name == own_name)
            check_unit(f"{type(owner).__name__}.{own_name}", value, unit)
        return self.replace(**changes)

    def without(self, *features: Feature) -> Scheme:
        """Return a copy without ECN marks, PFC or CNPs.

        Parameters
        ----------
        *features : {"ecn", "pfc", "cnp"}
            "ecn": switches and NICs mark no packet; features that only mark are dropped, `UetQueue` still trims. "pfc":
            switches drop what finds no room (`DropTail`) and pause nobody. "cnp": receivers send no CNP; the control
            that waits for CNPs, such as DCQCN's, is dropped, so nothing but the link's rate limits its senders.

        Raises
        ------
        ConfigError
            If there is no such feature, or the scheme has none of it.

        Examples
        --------
        >>> from rdmacc import scheme
        >>> scheme("dcqcn").without("ecn", "pfc")
        <Scheme dcqcn: GoBackN(), Dcqcn(), DropTail(), Queueing()>
        """
        made = self
        for name in features:
            made = dataclasses.replace(made, **parts_without(made, name))
        return made

    def at(self, network: Any) -> Scheme:
        """Return the scheme for a network, with every `Scaled` parameter replaced by a number.

        A simulation does this first, so handlers only see numbers.

        Parameters
        ----------
        network : networkx.Graph or Links
            The network, or its rate and RTT.
        """
        links: Links | None = None
        changes: dict[str, Any] = {}
        for part in self._parts:
            for name, value in vars(part).items():
                if isinstance(value, Scaled):
                    links = links or links_of(network, self)
                    changes[f"{type(part).__name__}.{name}"] = _within(part, name, value.on(links, self.payload_bytes))
        return self.replace(**changes)

    def owner(self, name: str) -> tuple[Parameters, str]:
        """Return the owner of a parameter, and the parameter's name there.

        Parameters
        ----------
        name : str
            As in `replace`: ``"kmin_bytes"`` or ``"Red.kmin_bytes"``.

        Returns
        -------
        tuple of Parameters and str
            The owner (the scheme, one of its components, its buffer or its queueing) and the name without the
            component.

        Raises
        ------
        ConfigError
            If there is no such parameter, or its name must be qualified.
        """
        component, _, own_name = str(name).rpartition(".")
        owners = [
            part for part in self._parts if own_name in _parameters(part) and component in ("", type(part).__name__)
        ]
        field = f"parameter of scheme {self.name!r}"
        if len(owners) == 1 and (component or owners[0] not in (self.buffer, self.queueing)):
            return owners[0], own_name
        if owners and not component:
            names = [f"{type(part).__name__}.{own_name}" for part in owners]
            raise ConfigError(field, name, f"must be named with its component: {_alternatives(names)}")
        if owners:
            raise ConfigError(field, name, f"must be the name of one component: {len(owners)} are {component}s")
        known = sorted(set().union(*map(_parameters, self._parts)))
        close = [one for one in known if one.rpartition("_")[0] == own_name]  # given without its unit suffix
        if own_name in known or not close:  # the component in the name may be wrong
            close = get_close_matches(own_name, known, n=2)
        names = [one for own_name in close or known for one in self._names_of(own_name)]
        if close:
            raise ConfigError(field, name, f"must be a parameter's name; did you mean {_alternatives(names)}?")
        raise unknown(field, name, names)

    def _names_of(self, own_name: str) -> list[str]:
        """Return the names that `owner` accepts for a parameter."""
        owners = [part for part in self._parts if own_name in _parameters(part)]
        is_alone = len(owners) == 1 and owners[0] not in (self.buffer, self.queueing)
        return [own_name] if is_alone else [f"{type(part).__name__}.{own_name}" for part in owners]


def _within(part: Any, name: str, number: float) -> float:
    """Clip a number to the parameter's bounds."""
    allowed = next(one.metadata for one in dataclasses.fields(part) if one.name == name)
    low, high = allowed["low"], allowed["high"]
    number = number if low is None else max(number, low)
    return number if high is None else min(number, high)


def links_of(network: Any, scheme: Scheme) -> Links:
    """Return the properties of a network that parameters scale with."""
    if isinstance(network, Links):
        return network
    from rdmacc.topology.base_times import largest_rtt_ps  # these import networkx
    from rdmacc.topology.fabric import Fabric
    from rdmacc.topology.measures import uplink_shortage

    fabric = network if isinstance(network, Fabric) else Fabric.from_graph(network)
    rates = fabric.port_rate_bps[fabric.is_host[fabric.port_node]]
    return Links(float(rates.max()), lambda: largest_rtt_ps(fabric, scheme.wire_bytes), lambda: uplink_shortage(fabric))


_OWN = frozenset(field.name for field in dataclasses.fields(Scheme))


def _alternatives(names: list[str]) -> str:
    return " or ".join(map(repr, names))


def _parameters(component: Parameters) -> set[str]:
    return {field.name for field in fields_of(component)}
