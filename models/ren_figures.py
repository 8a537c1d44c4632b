"""REN's figures 8 and 9 as models: doubling rates; queue and utilisation under random arrivals and departures.

The equations are in `rdmacc.models.ren`. Figure 9 leaves open the number of rounds, whether flows leave in (a), how the
average is taken and how "strength" relates to the Poisson parameter; all are parameters here, and `sensitivity` shows
how much they matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.interface import Rate, Size, Time
from rdmacc.models.base import Floats, Model, check_within, param
from rdmacc.models.ren import bdp_packets, queue_lengths, rate_per_round, rounds_to_full, throughputs
from rdmacc.show.style import COLOURS, canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_REN, _TRADITIONAL = "REN", "traditional"
_LOOK = {_REN: (COLOURS["blue"], "o"), _TRADITIONAL: (COLOURS["vermilion"], "s")}
STRENGTHS = tuple(float(i) / 10 for i in range(1, 11))
"""Values on the horizontal axes of figure 9."""
_MOST_DRAWS = 5_000_000
"""Upper bound on the rounds of all trials, which take 15 s."""


@dataclass(frozen=True, kw_only=True)
class RenRate(Model):
    """Figure 8: the rate after bandwidth has become free, and the resulting completion times.

    >>> RenRate(start_fraction=0.15).evaluate().set_index("protocol").rounds_to_full.to_dict()
    {'REN': 3.0, 'traditional': nan}
    """

    title: ClassVar[str] = "REN: taking free bandwidth (Fig 8)"

    capacity_bps: Rate = param("10Gbps", "bottleneck", symbol="C", low=1.0, slider=("10Gbps", "100Gbps"))
    rtt_ps: Time = param("48us", "base round-trip time", symbol="RTT", low=1, slider=("5us", "100us"))
    start_fraction: float = param(
        0.1, "rate at T1 over capacity", symbol="R/C", equation="(6)", low=1e-6, high=1.0, slider=(0.01, 1.0)
    )
    message_bytes: Size = param("300kB", "bytes left to send at T1", low=1, slider=("30kB", "3MB"))
    rounds: int = param(8, "rounds to show", low=1, high=1000, slider=(4, 20))

    def solve(self) -> pd.DataFrame:
        """Return the rate in each round, equation (5): `protocol, round, time_ps, rate_bps`."""
        ren = rate_per_round(self.start_fraction, 1.0, self.rounds)
        number = np.arange(self.rounds + 1)
        shared = pd.DataFrame({"protocol": _REN, "round": number, "time_ps": number * self.rtt_ps})
        other = shared.assign(protocol=_TRADITIONAL, rate_bps=self.start_fraction * self.capacity_bps)
        return pd.concat([shared.assign(rate_bps=ren * self.capacity_bps), other], ignore_index=True)

    def evaluate(self) -> pd.DataFrame:
        """Return `protocol, rounds_to_full` (equation (6); NaN for never) and `fct_ps`, counted from T1."""
        full = float(rounds_to_full(self.start_fraction, 1.0))
        slow_ps = self.message_bytes * 8e12 / (self.start_fraction * self.capacity_bps)
        rows = [(_REN, full, self._ren_fct_ps()), (_TRADITIONAL, np.nan, slow_ps)]
        return pd.DataFrame(rows, columns=["protocol", "rounds_to_full", "fct_ps"])

    def _ren_fct_ps(self) -> float:
        left, rate, time_ps = self.message_bytes * 8e12, self.start_fraction * self.capacity_bps, 0.0
        while left > rate * self.rtt_ps and rate < self.capacity_bps:
            left -= rate * self.rtt_ps
            time_ps += self.rtt_ps
            rate = 2 * rate if rate < self.capacity_bps / 2 else self.capacity_bps
        return time_ps + left / rate

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw both rates over time, and the completion times."""
        times = self.evaluate().set_index("protocol")["fct_ps"]
        with canvas(ax) as ax:
            for name, curve in self.solve().groupby("protocol", sort=False):
                colour, _ = _LOOK[str(name)]
                ax.plot(
                    curve["time_ps"] / 1e6, curve["rate_bps"] / 1e9, drawstyle="steps-post", color=colour,
                    label=f"{name}: done after {times[name] / 1e6:.0f} us",
                )  # fmt: skip
            ax.axhline(self.capacity_bps / 1e9, color="0.6", linewidth=1, linestyle=":")
            ax.set(title=self.title, xlabel="time since bandwidth became free (us)", ylabel="rate (Gb/s)")
            ax.set_ylim(0, 1.05 * self.capacity_bps / 1e9)
            ax.legend(loc="center right")
        return ax


@dataclass(frozen=True, kw_only=True)
class _RandomFlows(Model):
    """Common to both parts of figure 9: number of rounds and trials, and how often flows come and go."""

    rounds: int = param(20, "rounds of one RTT", source="assumed", low=1, high=10_000, slider=(5, 100))
    factor: float = param(
        1.0, "Poisson parameter over strength", symbol="lambda/strength", source="assumed", low=0.0, high=1000.0,
        slider=(0.5, 2.0),
    )  # fmt: skip
    trials: int = param(2000, "independent trials", source="assumed", low=1, high=1_000_000)
    seed: int = param(0, "seed of arrivals and departures", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounds * self.trials > _MOST_DRAWS:
            most = _MOST_DRAWS // self.trials
            raise ConfigError("rounds", self.rounds, f"at most {most} in each of {self.trials} trials")


@dataclass(frozen=True, kw_only=True)
class RenQueue(_RandomFlows):
    """Figure 9(a): mean queue against the strength of arrivals, equations (1) to (4)."""

    title: ClassVar[str] = "REN: mean queue (Fig 9a)"

    capacity_bps: Rate = param("40Gbps", "bottleneck", symbol="C", source="4.3", low=1.0, slider=("10Gbps", "100Gbps"))
    rtt_ps: Time = param("10us", "round-trip time", symbol="RTT", source="4.3", low=1, slider=("2us", "50us"))
    mss_bytes: Size = param("1500B", "packet", symbol="MSS", source="assumed: 1.5 KB in section 6", low=1)
    has_departures: bool = param(
        True, "flows leave as often as they arrive", symbol="f_i", equation="(2)", source="assumed"
    )
    average: str = param("mean", "average over a trial's rounds", source="assumed", choices=("mean", "last", "peak"))

    @property
    def bdp(self) -> float:
        """Packets of one round trip."""
        return bdp_packets(self.capacity_bps, self.rtt_ps, self.mss_bytes)

    def evaluate(self, strengths: Sequence[float] = STRENGTHS) -> pd.DataFrame:
        """Return mean queue and its standard error: `strength, protocol, queue_packets, error_packets`."""
        check_within("strengths", strengths, 0, 1e6)
        rows = []
        for number, strength in enumerate(strengths):
            rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
            shape = (self.trials, self.rounds)
            arrivals = rng.poisson(strength * self.factor, shape)
            departures = rng.poisson(strength * self.factor if self.has_departures else 0.0, shape)
            for name in (_TRADITIONAL, _REN):
                queue = queue_lengths(arrivals, departures, self.bdp, is_ren=name == _REN)
                value = self._averaged(queue)
                error = value.std() / np.sqrt(self.trials)
                rows.append((strength, name, value.mean(), error))
        return pd.DataFrame(rows, columns=["strength", "protocol", "queue_packets", "error_packets"])

    def _averaged(self, queue: Floats) -> Floats:
        if self.average == "last":
            return queue[:, -1]
        return queue.max(axis=1) if self.average == "peak" else queue.mean(axis=1)

    def plot(self, ax: Axes | None = None, capacities: Sequence[float] = ()) -> Axes:
        """Draw the mean queue over strength, for one or several `capacities` (bit/s) as in the paper."""
        chosen = capacities if len(capacities) else (self.capacity_bps,)
        tables = {f"{one / 1e9:g} Gb/s": self.replace(capacity_bps=one).evaluate() for one in chosen}
        title, xlabel = f"{self.title}, {self.rounds} rounds", "arrival strength (flows per RTT)"
        ax = _draw_strengths(ax, tables, "queue_packets", 1, title, xlabel, "queue (packets)")
        ax.set_ylim(bottom=0)
        return ax


def _draw_strengths(
    ax: Axes | None, tables: dict[str, pd.DataFrame], column: str, scale: float, title: str, xlabel: str, ylabel: str
) -> Axes:
    """Draw both protocols over strength, with a line style for each table."""
    with canvas(ax) as ax:
        for line, (words, table) in zip(("-", "--", ":", "-."), tables.items(), strict=False):
            for name, curve in table.groupby("protocol", sort=False):
                look: dict[str, Any] = dict(zip(("color", "marker"), _LOOK[str(name)], strict=True))
                ax.plot(curve["strength"], scale * curve[column], line, label=f"{name}, {words}", **look)
        ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
        ax.legend()
    return ax


@dataclass(frozen=True, kw_only=True)
class RenUtilisation(_RandomFlows):
    """Figure 9(b): utilisation against the strength with which flows leave, equations (7) to (9)."""

    title: ClassVar[str] = "REN: utilisation (Fig 9b)"

    flows: int = param(20, "initial number of flows", symbol="F", equation="(7)", source="4.3", low=1, slider=(5, 60))
    average: str = param(
        "active", "rounds that count: with a flow, or all (empty: 0)", source="assumed", choices=("active", "all"),
    )  # fmt: skip

    def evaluate(self, strengths: Sequence[float] = STRENGTHS) -> pd.DataFrame:
        """Return mean throughput over capacity: `strength, protocol, utilisation`."""
        check_within("strengths", strengths, 0, 1e6)
        rows = []
        for number, strength in enumerate(strengths):
            rng = np.random.default_rng(np.random.SeedSequence([self.seed, number]))
            leaving = rng.poisson(strength * self.factor, (self.trials, self.rounds))
            ren, traditional, left = throughputs(self.flows, leaving)
            counts = left > 0 if self.average == "active" else np.ones(left.shape, np.bool_)
            for name, value in ((_TRADITIONAL, traditional), (_REN, ren)):
                rows.append((strength, name, value[counts].mean() if counts.any() else np.nan))
        return pd.DataFrame(rows, columns=["strength", "protocol", "utilisation"])

    def plot(self, ax: Axes | None = None, flows: Sequence[int] = ()) -> Axes:
        """Draw utilisation over strength, for one or several initial numbers of `flows` as in the paper."""
        tables = {f"F = {one}": self.replace(flows=one).evaluate() for one in (flows if len(flows) else (self.flows,))}
        title, xlabel = f"{self.title}, {self.rounds} rounds", "leaving strength (flows per RTT)"
        ax = _draw_strengths(ax, tables, "utilisation", 100, title, xlabel, "utilisation (%)")
        ax.set_ylim(0, 102)
        return ax


def sensitivity(model: RenQueue | RenUtilisation, strengths: Sequence[float] = STRENGTHS) -> pd.DataFrame:
    """Return how much the open choices of figure 9 matter."""
    rounds: list[dict[str, Any]] = [{"rounds": n} for n in (10, 20, 30, 100)]
    own: list[dict[str, Any]]
    if isinstance(model, RenQueue):
        own = [{"has_departures": False}, {"average": "last"}, {"average": "peak"}, {"factor": 2.0}]
    else:
        own = [{"average": "all"}, {"average": "all", "rounds": 30}, {"factor": 2.0}]
    frames = []
    for change in (*rounds, *own):
        frame = model.replace(**change).evaluate(strengths)
        frame.insert(0, "choice", ", ".join(f"{name} = {value}" for name, value in change.items()))
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def plot_sensitivity(table: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw a table of `sensitivity`: the ratio or gap between the two protocols for each choice."""
    is_queue = "queue_packets" in table
    value = "queue_packets" if is_queue else "utilisation"
    with canvas(ax) as ax:
        colours = list(COLOURS.values())[:4]
        for number, (choice, rows) in enumerate(table.groupby("choice", sort=False)):
            pair = rows.pivot_table(index="strength", columns="protocol", values=value)
            gap = pair[_TRADITIONAL] / pair[_REN] if is_queue else 100 * (pair[_REN] - pair[_TRADITIONAL])
            line = ("-", "--")[number // 4]
            ax.plot(gap.index, gap, line, color=colours[number % 4], marker=".", label=str(choice))
        if is_queue:
            ax.set(title="REN's gain in queue, by choices left open", ylabel="traditional / REN", yscale="log")
        else:
            ax.set(title="REN's gain in utilisation, by choices left open", ylabel="REN - traditional (points)")
        ax.set_xlabel("strength (flows per RTT)")
        ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return ax
