"""A warning, once in a process, for each parameter that does not fit the network: times and rates given as numbers."""

from __future__ import annotations

import logging
from functools import cache

from rdmacc.engine.plan import Plan
from rdmacc.parameters import fields_of
from rdmacc.units import format_rate, format_time

_log = logging.getLogger(__name__)


def warn_of_short_times(plan: Plan) -> None:
    """Warn of times shorter than the base RTTs that they must cover, and of lowest rates that leave no control."""
    rtt_ps = int(plan.qp_base_rtt_ps.max()) if len(plan.qp_base_rtt_ps) else 0
    line_bps = float(plan.fabric.port_rate_bps[plan.qp_port].min()) if len(plan.qp_port) else 0.0
    for part in plan.scheme.components:
        for field in fields_of(part):
            name, value = f"{type(part).__name__}.{field.name}", getattr(part, field.name)
            rtts = field.metadata.get("rtts", 0.0)
            if rtts and 0 < value < rtts * rtt_ps:
                needs = "the longest base RTT" if rtts == 1.0 else f"{rtts:g} of the longest base RTT"
                _warn(plan.scheme.name, f"{name} = {format_time(value)} is shorter than {needs}, {format_time(rtt_ps)}")
            elif field.name == "min_rate_bps" and value >= line_bps > 0.0:
                link = f"the rate of a host's link, {format_rate(line_bps)}"
                _warn(
                    plan.scheme.name, f"{name} = {format_rate(value)} is not below {link}: nothing slows a sender down"
                )


@cache
def _warn(scheme: str, text: str) -> None:
    _log.warning("rdmacc: %s: %s", scheme, text)
