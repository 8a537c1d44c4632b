"""Analytic models: what theory says a simulation should show.

==========================================  ==============================================================
`RenQueue`, `RenUtilisation`, `RenRate`     REN's equations (1) to (9), figures 8 and 9
`RccFluid`, `RccLoop`, `RccMarginSurface`   RCC's fluid model (6) to (9), loop (12), figure 4; `tune`
`DcqcnFluid`, `DcqcnMargin`                 DCQCN's fluid model with delay, phase margin over flows
`TimelyFluid`, `PatchedTimelyFluid`         TIMELY's fluid models
`RcpFluid`                                  RCP's rate and queue on one link, with delay
`DasrIncast`, `DasrConvergence`             DASR's sender set with and without look-ahead, its convergence
`HpccSteady`                                HPCC round by round, and its steady state
`FairShare`, `ProcessorSharing`, `MaxMin`   ideals: an incast, one link, a whole workload
`AlphaBeta`                                 collectives alone: rings, trees, exchanges
`GoBackNGoodput`                            go-back-N and its improvements under loss
==========================================  ==============================================================

Each is a frozen dataclass of parameters with ``solve()`` or ``evaluate()``, which return tidy frames, and
``plot(ax=)``. `rdmacc.compare` compares those that have a ``scenario()`` with a simulation; `explore` gives any
of them sliders in a notebook.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "AlphaBeta": "alpha_beta",
    "DasrConvergence": "dasr",
    "DasrIncast": "dasr",
    "DcqcnFluid": "dcqcn",
    "DcqcnLoop": "dcqcn_stability",
    "DcqcnMargin": "dcqcn_stability",
    "FairShare": "fair_share",
    "GoBackNGoodput": "go_back_n",
    "HpccSteady": "hpcc",
    "MaxMin": "max_min",
    "Model": "base",
    "PatchedTimelyFluid": "timely",
    "ProcessorSharing": "ideal",
    "RccFluid": "rcc",
    "RccLoop": "rcc_stability",
    "RccMarginSurface": "rcc_surface",
    "RcpFluid": "rcp",
    "RenQueue": "ren_figures",
    "RenRate": "ren_figures",
    "RenUtilisation": "ren_figures",
    "TimelyFluid": "timely",
    "tune": "rcc_stability",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    """Import a model when it is first asked for: some need libraries that take a second to load."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
