"""Improved Go-Back-N, figure 1 and table I: the network and the parameters, read off the preset and off a message."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc import topology
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale
from rdmacc.experiments.igbn_setup import MESSAGE_BYTES, chain_of_messages
from rdmacc.plotting import style
from rdmacc.presets.igbn_2019 import IGBN_2019
from rdmacc.results import Result
from rdmacc.scenario import Scenario
from rdmacc.tidy import scalar, tidy
from rdmacc.units import format_rate, format_size, format_time, ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1", "Table1"]

_POINT = "a message without loss"


class _LoneMessage(Experiment):
    """What both share: one message of 4 MB, without loss."""

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        check_scale(scale)  # the same at both
        scenario = Scenario(
            topology=topology.igbn_pair,
            workload=partial(chain_of_messages, 1),
            scheme=IGBN_2019["go-back-n"],
            seed=seed,
        )
        return [Point(name=_POINT, scenario=scenario)]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        scheme, plan = result.plan.scheme, result.plan
        recovery, flow = scheme.recovery, result.flows.iloc[0]
        assert recovery is not None
        hops = int(plan.fabric.port_delay_ps.size // 2)
        data_ps, reply_ps = (size * 8e12 / float(plan.qp_rate_bps) for size in (scheme.wire_bytes, scheme.ack_bytes))
        numbers = {
            "rate": (float(plan.fabric.port_rate_bps.min()), "bps"),
            "delay": (int(plan.fabric.port_delay_ps.min()), "ps"),
            "links": (hops, ""),
        }
        return tidy(point.name, numbers)
