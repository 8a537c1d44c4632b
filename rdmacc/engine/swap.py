"""Parameters that a fork may change: those that only handlers read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rdmacc.engine.plan import Plan
from rdmacc.errors import ConfigError
from rdmacc.handlers.hooks import calls_of, records_of, slots_of
from rdmacc.handlers.sides import written_by
from rdmacc.interface import RECORD_KINDS, Component
from rdmacc.interface.parameters import fields_of
from rdmacc.schemes import Scheme

_ARRAYS = (
    "packets", "priority", "headroom_bytes", "shared_bytes", "ideal_fct_ps", "qp_base_rtt_ps", "qp_base_delay_ps",
    "qp_paths", "qp_port", "reply_port", "host_base_rtt_ps", "port_base_rtt_ps",
)  # fmt: skip


def check_swap(old: Plan, new: Plan, parameters: Mapping[str, Any]) -> None:
    """Raise a ConfigError if parameters change more than what handlers read."""
    if _shape(old.scheme) == _shape(new.scheme) and not _is_port_state_lost(old.scheme, new.scheme):
        if all(np.array_equal(getattr(old, name), getattr(new, name)) for name in _ARRAYS):
            return
    allowed = "parameters that leave records, handlers, ports' state, packets, buffers and base times"
    raise ConfigError("parameters", dict(parameters), allowed)


def sets_ports(old: Scheme, new: Scheme) -> bool:
    """Return whether a changed component computes values such as thresholds once, at ports."""
    pairs = zip(old.components, new.components, strict=True)
    return any(one != other and "on_port" in one.handlers() for one, other in pairs)


def _is_port_state_lost(old: Scheme, new: Scheme) -> bool:
    """Return whether on_port, run again, would overwrite what other handlers keep at ports."""
    if not sets_ports(old, new):
        return False
    calls = calls_of(old.components)
    later = [call for name, some in calls.items() if name != "on_port" for call in some]
    kept = {number for kind, number, _ in written_by(old.components, later) if kind == "Egress"}
    kept |= {slot.component for slot in slots_of(old.components, "Egress")}
    return any(call.component in kept for call in calls["on_port"])


def _shape(scheme: Scheme) -> list[Any]:
    """Return the part of a scheme that state and tables depend on."""
    parts = scheme.components
    values = [getattr(scheme, one.name) for one in fields_of(scheme)]
    own = [value for value in values if not isinstance(value, Component | tuple)]
    records = [records_of(parts, kind) for kind in RECORD_KINDS]
    return [own, records, calls_of(parts), [(part.classes, part.marks_at_nic, part.extra_bytes(1)) for part in parts]]
