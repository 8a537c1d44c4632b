"""Analytic models: theoretical predictions for simulations.

==========================================  ==============================================================
`RenQueue`, `RenUtilisation`, `RenRate`     REN's equations (1) to (9), figures 8 and 9
`RccFluid`, `RccLoop`, `RccMarginSurface`   RCC's fluid model (6) to (9), loop (12), figure 4; `tune`
`DcqcnFluid`, `DcqcnMargin`                 DCQCN's fluid model with delay, phase margin over flows
`TimelyFluid`, `PatchedTimelyFluid`         TIMELY's fluid models
`RcpFluid`                                  RCP's rate and queue on one link, with delay
`DasrIncast`, `DasrConvergence`             DASR's sender set with and without look-ahead, its convergence
`HpccSteady`                                HPCC round by round, and its steady state
`FairShare`, `ProcessorSharing`, `MaxMin`   ideal sharing: an incast, one link, a whole workload
`AlphaBeta`                                 collectives on an idle network: rings, trees, exchanges
`GoBackNGoodput`                            go-back-N and its improvements under loss
==========================================  ==============================================================

Each is a frozen dataclass of parameters with ``solve()`` or ``evaluate()``, which return tidy frames, and
``plot(ax=)``. `rdmacc.compare` compares those that have a ``scenario()`` with a simulation; `explore` gives any
of them sliders in a notebook.
"""

from rdmacc.caching.sources import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
