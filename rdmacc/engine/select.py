"""Which engine runs a plan."""

from __future__ import annotations

import logging

from rdmacc.engine.outcome import Engine
from rdmacc.engine.reference.network import Network
from rdmacc.errors import ConfigError
from rdmacc.plan import Plan

__all__ = ["ENGINES", "make_engine"]

ENGINES = ("auto", "compiled", "simpy")

_log = logging.getLogger(__name__)


def make_engine(name: str, plan: Plan) -> Engine:
    """Return an engine, ready to run a plan.

    Raises
    ------
    ConfigError
        If there is no engine of that name, or the compiled one is asked for and not available.
    """
    if name not in ENGINES:
        raise ConfigError("engine", name, f"one of {', '.join(ENGINES)}")
    return Network(plan)
