"""Which engine runs a plan."""

import logging
from functools import cache
from numbers import Integral
from typing import Any

from rdmacc.caching import uncollected
from rdmacc.caching.lifetimes import Kept
from rdmacc.engine.outcome import Engine
from rdmacc.engine.plan import Plan
from rdmacc.errors import ConfigError

ENGINES = ("auto", "compiled", "simpy")

ORDERS = ("auto", "time", "windows")
"""Orders in which the compiled engine may run events; the other engine runs them by time."""

_MOST_THREADS = 64

_SPARE = Kept()  # engines whose run is over, by the kind of their runs

_log = logging.getLogger(__name__)


@cache
def why_not_compiled() -> str:
    """Return why the compiled engine is not available here; empty if it is."""
    try:
        import numba
    except ImportError as error:
        return f"Numba cannot be imported: {error}"
    if numba.config.DISABLE_JIT:
        return "Numba's compiler is switched off (NUMBA_DISABLE_JIT)"
    return ""


def check_threads(threads: int) -> None:
    """Raise a ConfigError unless a number of threads is one that may run."""
    if isinstance(threads, bool) or not isinstance(threads, Integral) or not 1 <= threads <= _MOST_THREADS:
        raise ConfigError("threads", threads, f"a whole number from 1 to {_MOST_THREADS}")


def make_engine(name: str, plan: Plan, order: str = "auto", threads: int = 1) -> Engine:
    if not isinstance(name, str) or name not in ENGINES:
        raise ConfigError("engine", name, f"one of {', '.join(ENGINES)}")
    if not isinstance(order, str) or order not in ORDERS:
        raise ConfigError("order", order, f"one of {', '.join(ORDERS)}")
    check_threads(threads)
    if name != "simpy":
        reason = why_not_compiled()
        if not reason:
            made, is_plain, kind_of = _compiled()
            spare = _SPARE.take(kind_of(plan)) if is_plain(plan) else None
            found: Engine = spare.rewind(plan, order, threads) if spare else made(plan, order, threads)
            return found
        if name == "compiled":
            raise ConfigError("engine", name, f"'simpy' or 'auto' here: {reason}")
        _log.warning("rdmacc: using the SimPy engine: %s", reason)
    from rdmacc.engine.reference.network import Network

    return Network(plan)


@cache
def _compiled() -> tuple[Any, Any, Any]:
    """Return a compiled engine, a reused one if possible, and the key of its kind."""
    with uncollected():
        from rdmacc.engine.compiled.engine import CompiledEngine
        from rdmacc.engine.compiled.tables.tables import is_plain, kind_of
    return CompiledEngine, is_plain, kind_of


def load_engine(plan: Plan, saved: dict[str, Any]) -> Engine:
    reason = why_not_compiled()
    if reason:
        raise ConfigError("checkpoint", "of the compiled engine", f"loaded where it is available: {reason}")
    found: Engine = _compiled()[0].loaded(plan, saved)
    return found


def give_back(engine: Engine) -> None:
    """Keep an idle engine, which the next run of its kind reuses."""
    if getattr(engine, "may_rewind", False):
        _SPARE.get(_compiled()[2](engine.plan), lambda: engine)
