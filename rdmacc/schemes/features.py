"""Features that can be left out of a scheme: ECN marks, PFC and CNPs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal, get_args

from rdmacc.errors import ConfigError, unknown
from rdmacc.handlers.reading import accesses_of
from rdmacc.interface import Component
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.uet_queue import UetQueue

if TYPE_CHECKING:
    from rdmacc.schemes.composition import Scheme

Feature = Literal["ecn", "pfc", "cnp"]

_NEVER_REACHED = 1e6  # thresholds of `UetQueue` in BDPs: longer than any queue


def parts_without(scheme: Scheme, feature: Feature) -> dict[str, Any]:
    """Return the changed fields of a scheme without a feature."""
    if feature not in get_args(Feature):
        raise unknown("feature", feature, get_args(Feature), "a feature that can be left out")
    if feature == "pfc" and isinstance(scheme.buffer, Pfc):
        return {"buffer": DropTail()}
    if feature == "cnp":
        control = tuple(part for part in scheme.control if "on_cnp" not in part.handlers())
        if control != scheme.control:
            return {"control": control}
    if feature == "ecn":
        unmarked = tuple(_unmarked(scheme.components, part) for part in scheme.switch)
        if unmarked != scheme.switch:
            return {"switch": tuple(part for part in unmarked if part is not None)}
    raise ConfigError(f"feature of {scheme.name}", feature, "one that the scheme has")


def _unmarked(components: tuple[Component, ...], part: Component) -> Component | None:
    """Return a switch feature without its marking; None if it does nothing else."""
    written = {use for name in part.handlers() for use in accesses_of(components, part, name)}
    if ("packet", "ce", True) not in written:
        return part
    if isinstance(part, UetQueue):
        return dataclasses.replace(part, low=_NEVER_REACHED, high=_NEVER_REACHED)
    if ("packet", "verdict", True) in written:
        allowed = "a component that only marks; this one also drops or trims: give it thresholds that no queue reaches"
        raise ConfigError("feature ecn", type(part).__name__, allowed)
    return None
