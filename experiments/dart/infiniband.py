"""Dart, V-B: whether other settings of InfiniBand's congestion control make it as slow as the paper finds it.

The paper names the scheme and gives no settings; figure 10 has Gran et al.'s. Here are the incasts of 16 of figure 10,
in 10 rounds, under the other published settings, and under Gran et al.'s with other periods of the timer. Setup:
`rdmacc.experiments.dart.fig10`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc import topology
from rdmacc.experiments.dart.fig10 import incasts_and_long_flow
from rdmacc.experiments.dart.setup import PRESET, TESTBED_PAYLOAD_BYTES
from rdmacc.experiments.framework.bands import AtLeast, MoreThan
from rdmacc.experiments.framework.claim import OURS, Claim, Measured
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.show.style import COLOURS, style
from rdmacc.sweep.tidy import tidy, wide
from rdmacc.units import ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["InfinibandSettings"]

_DASR = "DASR"
_SETTINGS = {
    "Gran et al.": {},
    "OpenSM: one mark in 11": {"marking_rate": 10},
    "LLNL: Simula's table": {"table_step": 7 / 106**2 / 0.218, "shift": 3},
    "Omni-Path": {"increase": 5, "timer_ps": "10.24us", "is_quadratic": False, "table_step": 8.3 / 0.77 / 127},
    **{f"timer {period}": {"timer_ps": period} for period in ("9.6us", "38.4us", "614.4us", "2457.6us")},
}
"""Changes of the preset. Omni-Path's table rises in proportion to a delay of 8.3 us, 0.77 us being a packet's time."""
_DEGREE = 16


def _slower(table: pd.DataFrame) -> Measured:
    """Return the greatest median FCT of InfiniBand's / DASR's."""
    rows = wide(table).set_index("settings")
    ratios = (rows["median FCT"] / rows.loc[_DASR, "median FCT"]).drop(_DASR)
    loss = 1 - rows["long flow"] / rows.loc[_DASR, "long flow"]
    most = str(ratios.idxmax())
    return Measured(ratios[most], f"{most}, at which the long flow loses {loss[most]:.0%}; least {ratios.min():.2f}x")


@register_experiment
class InfinibandSettings(Experiment):
    """Completion times of incasts of 16 under settings of InfiniBand's control, and under DASR."""

    name = "dart.infiniband"
    title = "Settings of InfiniBand's congestion control"
    description = "Dart, V-B: incasts of 16 under the published settings of InfiniBand's control, and under DASR"
    claims = (
        Claim(
            "dart-f10-1a", "V-B", "median FCT, InfiniBand / DASR, the greatest over its settings", "16 senders",
            "2.5-3.3x", by=OURS, measure=_slower, band=AtLeast(1.5), direction=MoreThan(1), unit="x",
            too_small="The quick scale's rounds are too close together.",
        ),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        rounds, period_ps = (2, ms(2)) if check_scale(scale) == "quick" else (10, ms(100))
        schemes = {name: PRESET["infiniband-cc"].replace(**changes) for name, changes in _SETTINGS.items()}
        return [
            Point(
                name=name,
                scenario=Scenario(
                    topology=topology.dart_testbed, seed=seed, until=ms(1) + rounds * period_ps,
                    workload=partial(incasts_and_long_flow, _DEGREE, rounds, period_ps, seed),
                    scheme=scheme.replace(payload_bytes=TESTBED_PAYLOAD_BYTES),
                ),
                labels={"settings": name},
            )
            for name, scheme in {**schemes, _DASR: PRESET["dasr-no-look-ahead"]}.items()
        ]  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        fct_ps = result.flows["fct_ps"].iloc[:-1].to_numpy(np.float64, na_value=np.inf)
        numbers = {
            "median FCT": (float(np.percentile(fct_ps, 50)), "ps"),
            "p99 FCT": (float(np.percentile(fct_ps, 99)), "ps"),
            "long flow": (float(result.flows["goodput_bps"].iloc[-1]), "bps"),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = wide(table).set_index("settings")
        places = np.arange(len(rows))
        with style():
            figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True)
            colours = [COLOURS["blue" if name == _DASR else "vermilion"] for name in rows.index]
            left.barh(places, rows["median FCT"] / 1e9, color=colours, label="median")
            left.plot(rows["p99 FCT"] / 1e9, places, "D", color=COLOURS["black"], label="p99")
            first = rows["median FCT"].iloc[0] / 1e9
            left.set_yticks(places, rows.index)
            left.invert_yaxis()
            left.axvline(first, color="0.5", linewidth=1, linestyle=":")
            left.set(title="incasts of 16", xlabel="FCT (ms)")
            left.legend(loc="lower right")
            right.barh(places, rows["long flow"] / 1e9, color=colours)
            right.set(title="long flow", xlabel="throughput (Gb/s)")
            figure.suptitle(f"Dart, V-B: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
