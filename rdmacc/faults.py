"""Faults: what goes wrong on links, and in the hosts' clocks."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from rdmacc.errors import ConfigError
from rdmacc.parameters import Named
from rdmacc.state import DATA, KIND_NAMES, NONE, PAUSE
from rdmacc.units import Quantity, time_ps

__all__ = ["Clocks", "Fault", "LinkDown", "Loss", "ScriptedLoss"]


def _check_link(field: str, link: object) -> None:
    try:
        hash(link)
    except TypeError:
        raise ConfigError(field, link, "a pair of node names, such as ('h0', 's0')") from None
    if not isinstance(link, tuple) or len(link) != 2:
        raise ConfigError(field, link, "a pair of node names, such as ('h0', 's0')")


@dataclass(frozen=True, kw_only=True)
class Loss(Named):
    """Independent random loss of the packets that cross a link.

    Attributes
    ----------
    data, control : float
        Probability that a data packet, or any other packet but a PFC frame, is lost on a link.
    links : tuple of (node, node), optional
        Directed links, as pairs of node names; default: every link.
    """

    data: float = 0.0
    control: float = 0.0
    links: tuple[tuple[Hashable, Hashable], ...] | None = None

    def __post_init__(self) -> None:
        for name in ("data", "control"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
                raise ConfigError(f"Loss.{name}", value, "a probability, from 0 to 1")
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
    """The loss of exactly one transmission, on the link that leaves its host: for worked examples.

    Attributes
    ----------
    message : int
        Row of the workload.
    psn : int or None
        Packet number in the message; for ACKs, NAKs and other replies the number that they carry; None for any.
    nth : int
        Which transmission of that packet is lost, from 1; with any number, which packet of the kind.
    kind : str
        "data", "ack", "nak", "cnp", "credit", "request" or "advert".
    """

    message: int
    psn: int | None
    nth: int = 1
    kind: str = "data"

    def __post_init__(self) -> None:
        for name, least in (("message", 0), ("psn", 0), ("nth", 1)):
            value = getattr(self, name)
            if name == "psn" and value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**31:
                raise ConfigError(f"ScriptedLoss.{name}", value, f"a whole number, at least {least} and below 2**31")
        if not isinstance(self.kind, str) or self.kind not in KIND_NAMES[NONE + 1 : PAUSE]:
            raise ConfigError("ScriptedLoss.kind", self.kind, f"one of {', '.join(KIND_NAMES[DATA:PAUSE])}")

    @property
    def kind_number(self) -> int:
        """The kind as in `rdmacc.state`."""
        return KIND_NAMES.index(self.kind)

    @property
    def key(self) -> tuple[int, int, int]:
        """Which packets it counts: message, kind, psn or -1 for any."""
        return self.message, self.kind_number, -1 if self.psn is None else self.psn


@dataclass(frozen=True, kw_only=True)
class LinkDown(Named):
    """The failure of a link, both directions, for good.

    What is under way on it or queued for it is lost; routes are recomputed at once.

    Attributes
    ----------
    link : (node, node)
        The link, by its ends.
    at_ps : quantity of time
        When it fails.
    """

    link: tuple[Hashable, Hashable]
    at_ps: Quantity

    def __post_init__(self) -> None:
        _check_link("LinkDown.link", self.link)
        object.__setattr__(self, "at_ps", time_ps(self.at_ps, field="LinkDown.at_ps", bare_ps=True))

    @property
    def time_ps(self) -> int:
        """`at_ps` as a number."""
        return time_ps(self.at_ps, bare_ps=True)


@dataclass(frozen=True, kw_only=True)
class Clocks(Named):
    """Host clocks that are not synchronised: each has an offset and each reading a jitter, both uniform.

    Attributes
    ----------
    offset_ps, jitter_ps : quantity of time
        Largest deviation to either side.
    """

    offset_ps: Quantity = 0
    jitter_ps: Quantity = 0

    def __post_init__(self) -> None:
        for name in ("offset_ps", "jitter_ps"):
            object.__setattr__(self, name, time_ps(getattr(self, name), field=f"Clocks.{name}", bare_ps=True))


Fault = Loss | ScriptedLoss | LinkDown | Clocks
