"""Parameters that scale with the network: a paper's constant, together with the network that it was chosen for.

`Scaled("10Mbps", rate="10Gbps")` is 10 Mb/s where hosts have 10 Gb/s links, and 100 Mb/s where they have 100 Gb/s
links. Any numeric parameter may be `Scaled`. Every simulation first calls `Scheme.at`, which replaces it by the value
for the network. A plain number is never scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, format_rate, format_size, format_time, rate_bps, size_bytes, time_ps

__all__ = ["Links", "Scaled"]

_ROUNDING = 1e-6


class Links:
    """The properties of a network that parameters scale with: rate of the hosts' links, longest base RTT, uplinks.

    Parameters
    ----------
    rate : quantity of rate
        Rate of the hosts' links; the highest, if they differ.
    rtt : quantity of time or callable
        Largest base RTT between two hosts, or a function that computes it (slow on a large network).
    oversubscription : float or callable
        Rate of the hosts over that of the uplinks (:func:`rdmacc.topology.measures.uplink_shortage`), or a function
        that computes it.
    """

    def __init__(
        self,
        rate: Quantity,
        rtt: Quantity | Callable[[], int],
        oversubscription: float | Callable[[], float] = 1.0,
    ) -> None:
        self.rate_bps = rate_bps(rate, field="rate of the hosts' links")
        if not self.rate_bps > 0:
            raise ConfigError("rate of the hosts' links", rate, "more than 0")
        self._rtt = rtt if callable(rtt) else time_ps(rtt, field="base RTT", bare_ps=True, least=1)
        self._oversubscription = oversubscription

    @cached_property
    def rtt_ps(self) -> int:
        """Largest base RTT between two hosts."""
        return self._rtt() if callable(self._rtt) else self._rtt

    @cached_property
    def oversubscription(self) -> float:
        """Rate of the hosts over that of the uplinks; 1 if no tier is oversubscribed."""
        return self._oversubscription() if callable(self._oversubscription) else self._oversubscription


@dataclass(frozen=True, init=False)
class Scaled:
    """A number that holds on one network and scales to others.

    It is proportional to rate, RTT and oversubscription, and inversely proportional to the payload. An omitted property
    has no influence. A number that scales with rate, RTT and payload is a window in packets, a multiple of the BDP.

    Attributes
    ----------
    value : number
        Value on that network, in the parameter's base unit.
    rate_bps : float
        Rate of the hosts' links on that network; 0: no influence.
    rtt_ps : int
        Largest base RTT on that network; 0: no influence.
    payload_bytes : int
        Payload of a packet on that network; 0: no influence.
    oversubscription : float
        Oversubscription of that network; 0: no influence.
    least : number
        Lower bound of the scaled value.
    is_time : bool
        Whether the value is a time that shrinks as links get faster, like the transmission time of a packet.

    Parameters
    ----------
    value, rate, rtt, payload, oversubscription, least, is_time
        The same, as quantities.
    """

    value: Any
    rate_bps: float
    rtt_ps: int
    payload_bytes: int
    oversubscription: float
    least: Any
    is_time: bool

    def __init__(
        self,
        value: Any,
        *,
        rate: Quantity | None = None,
        rtt: Quantity | None = None,
        payload: Quantity | None = None,
        oversubscription: float | None = None,
        least: Any = 0,
        is_time: bool = False,
    ) -> None:
        given = {
            "value": value,
            "rate_bps": 0.0 if rate is None else rate_bps(rate, field="rate"),
            "rtt_ps": 0 if rtt is None else time_ps(rtt, field="rtt", bare_ps=True),
            "payload_bytes": 0 if payload is None else size_bytes(payload, field="payload"),
            "oversubscription": oversubscription or 0.0,
            "least": least,
            "is_time": is_time,
        }
        for name, one in given.items():
            object.__setattr__(self, name, one)

    def to_dict(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "value": self.value, "rate": self.rate_bps or None, "rtt": self.rtt_ps or None,
            "payload": self.payload_bytes or None, "oversubscription": self.oversubscription or None,
            "least": self.least, "is_time": self.is_time,
        }  # fmt: skip

    def with_value(self, value: Any, least: Any) -> Scaled:
        """Return a copy with another value and lower bound.

        Parameters
        ----------
        value, least : number
            In the base unit.
        """
        return Scaled(**{**self.to_dict(), "value": value, "least": least})

    def on(self, links: Links, payload_bytes: int) -> int | float:
        """Return the value for a network, as a whole number if `value` is one; numbers of packets are rounded up.

        Parameters
        ----------
        links : Links
            Of the network.
        payload_bytes : int
            Payload of a packet.
        """
        found = float(self.value)
        if self.rate_bps:
            ratio = links.rate_bps / self.rate_bps
            found = found / ratio if self.is_time else found * ratio
        if self.rtt_ps:
            found *= links.rtt_ps / self.rtt_ps
        if self.payload_bytes:
            found *= self.payload_bytes / payload_bytes
        if self.oversubscription:
            found *= links.oversubscription / self.oversubscription
        found = max(found, self.least)
        if isinstance(self.value, int):
            return ceil(found - _ROUNDING) if self.payload_bytes else round(found)  # packets: a window holds the BDP
        return found

    def where(self) -> str:
        """Return the network that the value belongs to, as a string."""
        parts = (
            format_rate(self.rate_bps) if self.rate_bps else "",
            f"an RTT of {format_time(self.rtt_ps)}" if self.rtt_ps else "",
            f"{format_size(self.payload_bytes)} of payload" if self.payload_bytes else "",
            f"an oversubscription of {self.oversubscription:.6g}" if self.oversubscription else "",
        )
        return ", ".join(filter(None, parts))

    def rule(self) -> str:
        """Return how the number scales with the network, as a string."""
        parts = (
            ("" if not self.rate_bps else "inversely to the rate" if self.is_time else "in proportion to the rate"),
            "in proportion to the RTT" if self.rtt_ps else "",
            "inversely to the payload" if self.payload_bytes else "",
            "in proportion to the oversubscription" if self.oversubscription else "",
        )
        return ", ".join(filter(None, parts)).replace("the rate, in proportion to the RTT", "the rate and the RTT")

    def __str__(self) -> str:
        return self.text("")

    def text(self, unit: str) -> str:
        """Return the text for a table: the value and the network where it holds.

        Parameters
        ----------
        unit : str
            Base unit of the value.
        """
        least = f", at least {quantity_text(self.least, unit)}" if self.least else ""
        return f"{quantity_text(self.value, unit)} at {self.where()}{least}"


def answer_timer(value: Quantity, rtts: int = 3) -> Scaled:
    """Return a timer that waits for an answer: the source's value or, if longer, a number of base RTTs."""
    time = time_ps(value, field="timer")
    return Scaled(time, rtt=time // rtts, least=time)


def quantity_text(value: int | float, unit: str) -> str:
    """Return a number with its unit in readable form, to four digits."""
    formats: dict[str, Callable[[int | float], str]] = {"ps": format_time, "bps": format_rate, "bytes": format_size}
    return formats[unit](value) if unit in formats else f"{value:,.6g}"
