"""Faults of links, NICs and host clocks."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import checked_flag
from rdmacc.interface import DATA, KIND_NAMES, NONE, PAUSE, Named
from rdmacc.units import Quantity, time_ps

__all__ = ["Clocks", "Fault", "LinkDown", "Loss", "PauseStorm", "ScriptedLoss", "SlowLink", "flapping"]


def _check_link(field: str, link: object) -> None:
    try:
        hash(link)
    except TypeError:
        raise ConfigError(field, link, "a pair of node names, such as ('h0', 's0')") from None
    if not isinstance(link, tuple) or len(link) != 2:
        raise ConfigError(field, link, "a pair of node names, such as ('h0', 's0')")


@dataclass(frozen=True, kw_only=True)
class Loss(Named):
    """Independent random loss of packets on links.

    Attributes
    ----------
    data, control : float
        Probability that a link loses a data packet (`data`), or any other packet except a PFC frame (`control`).
    links : tuple of (node, node), optional
        Directed links, as pairs of node names; default: every link.
    """

    data: float = 0.0
    control: float = 0.0
    links: tuple[tuple[Hashable, Hashable], ...] | None = None

    def __post_init__(self) -> None:
        for name in ("data", "control"):
            _set_number(self, name, Real, 0.0, 1.0, "a probability, from 0 to 1")
        if self.links is not None:
            if isinstance(self.links, str) or not isinstance(self.links, Iterable):
                raise ConfigError("Loss.links", self.links, "a list of links")
            object.__setattr__(self, "links", tuple(self.links))
            if not self.links:
                raise ConfigError("Loss.links", self.links, "at least one link, or None for every link")
            for link in self.links:
                _check_link("Loss.links", link)


@dataclass(frozen=True, kw_only=True)
class ScriptedLoss(Named):
    """The loss of one particular transmission on the link that leaves its host. Useful for worked examples.

    Attributes
    ----------
    message : int
        Row of the workload.
    psn : int or None
        Packet number in the message; for ACKs, NAKs and other replies, the number they carry. None: any.
    nth : int
        Which transmission of that packet is lost, counting from 1; if `psn` is None, which packet of that kind.
    kind : str
        "data", "ack", "nak", "cnp", "credit", "request" or "advert".
    """

    message: int
    psn: int | None
    nth: int = 1
    kind: str = "data"

    def __post_init__(self) -> None:
        for name, least in (("message", 0), ("psn", 0), ("nth", 1)):
            if name != "psn" or self.psn is not None:
                allowed = f"a whole number, at least {least} and below 2**31"
                _set_number(self, name, Integral, least, 2**31 - 1, allowed)
        if not isinstance(self.kind, str) or self.kind not in KIND_NAMES[NONE + 1 : PAUSE]:
            raise ConfigError("ScriptedLoss.kind", self.kind, f"one of {', '.join(KIND_NAMES[DATA:PAUSE])}")

    @property
    def kind_number(self) -> int:
        """The number of the kind, as in `rdmacc.interface.state`."""
        return KIND_NAMES.index(self.kind)

    @property
    def key(self) -> tuple[int, int, int]:
        """The packets among which `nth` counts: message, kind, psn (-1 for any)."""
        return self.message, self.kind_number, -1 if self.psn is None else self.psn


def _set_number(fault: Any, name: str, kind: Any, low: float, high: float, allowed: str) -> None:
    """Check a number of a fault, and convert one that is not Python's own."""
    value: Any = getattr(fault, name)
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        raise ConfigError(f"{type(fault).__name__}.{name}", value, allowed)
    exact = int if kind is Integral else float
    object.__setattr__(fault, name, value if isinstance(value, int | float) else exact(value))


def _set_times(fault: Any) -> None:
    """Convert `at_ps` and `until_ps` of a fault into numbers."""
    name = type(fault).__name__
    object.__setattr__(fault, "at_ps", time_ps(fault.at_ps, field=f"{name}.at_ps", bare_ps=True))
    if fault.until_ps is not None:
        until_ps = time_ps(fault.until_ps, field=f"{name}.until_ps", bare_ps=True)
        if until_ps <= fault.at_ps:
            raise ConfigError(f"{name}.until_ps", fault.until_ps, f"later than at_ps, {fault.at_ps} ps")
        object.__setattr__(fault, "until_ps", until_ps)


@dataclass(frozen=True, kw_only=True)
class LinkDown(Named):
    """A link failure in both directions, permanent or for a time.

    Packets on the link or queued for it are lost. So are those that switches still send over it until routes converge.

    Attributes
    ----------
    link : (node, node)
        The link, by its ends.
    at_ps : quantity of time
        When it fails.
    until_ps : quantity of time, optional
        When it recovers; default: never.
    convergence_ps : quantity of time
        How long routes take to converge, after the failure and after the repair. Default: no time.
    """

    link: tuple[Hashable, Hashable]
    at_ps: Quantity
    until_ps: Quantity | None = None
    convergence_ps: Quantity = 0

    def __post_init__(self) -> None:
        _check_link("LinkDown.link", self.link)
        _set_times(self)
        convergence = time_ps(self.convergence_ps, field="LinkDown.convergence_ps", bare_ps=True)
        object.__setattr__(self, "convergence_ps", convergence)


_MOST_FAILURES = 100_000


def flapping(
    link: tuple[Hashable, Hashable],
    *,
    at_ps: Quantity,
    down_ps: Quantity,
    up_ps: Quantity,
    times: int,
    convergence_ps: Quantity = 0,
) -> tuple[LinkDown, ...]:
    """Return the failures of a flapping link.

    Parameters
    ----------
    link : (node, node)
        The link, by its ends.
    at_ps : quantity of time
        Time of the first failure.
    down_ps, up_ps : quantity of time
        How long the link stays down each time, and up before the next failure.
    times : int
        How often it fails.
    convergence_ps : quantity of time
        As in `LinkDown`.

    Returns
    -------
    tuple of LinkDown
        One for each failure.

    Raises
    ------
    ConfigError
        If a time is not valid, or `times` is below 1 or above 100,000.

    Examples
    --------
    >>> [(one.at_ps, one.until_ps) for one in flapping(("s0", "s1"), at_ps=10, down_ps=3, up_ps=7, times=2)]
    [(10, 13), (20, 23)]
    """
    if isinstance(times, bool) or not isinstance(times, Integral) or not 1 <= times <= _MOST_FAILURES:
        raise ConfigError("times", times, f"a whole number from 1 to {_MOST_FAILURES}")
    first, down = time_ps(at_ps, field="at_ps", bare_ps=True), time_ps(down_ps, field="down_ps", bare_ps=True, least=1)
    up = time_ps(up_ps, field="up_ps", bare_ps=True, least=1)
    begins = range(first, first + times * (down + up), down + up)
    return tuple(LinkDown(link=link, at_ps=t, until_ps=t + down, convergence_ps=convergence_ps) for t in begins)


@dataclass(frozen=True, kw_only=True)
class SlowLink(Named):
    """A link that runs at a fraction of its rate for a time, for example because of a bad cable or lost lanes.

    A packet in transmission when the fault begins or ends keeps its timing. The shares of several faults on one link
    multiply. If a link is slow from time 0 to the end, its ports are set up at the lower rate, and line rates and
    thresholds that scale with a port's rate follow; if it is slow only for a while, they do not change.

    Attributes
    ----------
    link : (node, node)
        The link; if only one direction is slow, it is the one from the first node to the second.
    share : float
        Share of its rate that remains.
    at_ps, until_ps : quantity of time
        Start and end of the fault; default: the whole run.
    both_ways : bool
        Whether the other direction is slow too.
    """

    link: tuple[Hashable, Hashable]
    share: float
    at_ps: Quantity = 0
    until_ps: Quantity | None = None
    both_ways: bool = True

    def __post_init__(self) -> None:
        _check_link("SlowLink.link", self.link)
        _set_number(self, "share", Real, 1e-6, 1.0, "a share of the link's rate, from 0.000001 to 1")
        object.__setattr__(self, "both_ways", checked_flag("SlowLink.both_ways", self.both_ways))
        _set_times(self)


@dataclass(frozen=True, kw_only=True)
class PauseStorm(Named):
    """A NIC that sends PAUSE for all data classes and resumes them only at `until_ps`.

    Switches without PFC ignore it.

    Attributes
    ----------
    host : node
        The host.
    at_ps, until_ps : quantity of time
        When the PAUSE frames and the RESUME frames are sent; default: no RESUME frames.
    """

    host: Hashable
    at_ps: Quantity
    until_ps: Quantity | None = None

    def __post_init__(self) -> None:
        try:
            hash(self.host)
        except TypeError:
            raise ConfigError("PauseStorm.host", self.host, "the name of a host") from None
        _set_times(self)


@dataclass(frozen=True, kw_only=True)
class Clocks(Named):
    """Unsynchronised host clocks: a uniform random offset for each clock, and a uniform random jitter for each reading.

    Attributes
    ----------
    offset_ps, jitter_ps : quantity of time
        Largest deviation in either direction.
    """

    offset_ps: Quantity = 0
    jitter_ps: Quantity = 0

    def __post_init__(self) -> None:
        for name in ("offset_ps", "jitter_ps"):
            object.__setattr__(self, name, time_ps(getattr(self, name), field=f"Clocks.{name}", bare_ps=True))


Fault = Loss | ScriptedLoss | LinkDown | SlowLink | PauseStorm | Clocks
