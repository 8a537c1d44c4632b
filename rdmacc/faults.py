"""Faults: what goes wrong on links."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from rdmacc.errors import ConfigError

__all__ = ["Loss"]


@dataclass(frozen=True, kw_only=True)
class Loss:
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
