"""Dart, figure 10: does any setting of InfiniBand's congestion control reproduce the paper's baseline?"""

from rdmacc.experiments.dart.fig10 import incasts, latencies
from ..api import *

_DEGREE = 16
_STEPS = (1, 4)
_TIMERS = ("38.4us", "153.6us", "614.4us")
_TABLES: dict[str, dict[str, Any]] = {"LLNL's table": {}, "linear table": {"is_quadratic": False, "table_step": 1.0}}
_SETTINGS = list(product(_TABLES, _STEPS, _TIMERS))
_MARKERS = {1: "o", 4: "s"}
_DASR = "DASR"
_PUBLISHED = 2.5
"""InfiniBand's median and tail over DASR's, at least (V-B)."""
_LATENCIES = ("median", "p99")
_LONG_FLOW = "long flow"


def _by_setting(table: pd.DataFrame) -> dict[Any, pd.Series]:
    """Return median and p99 relative to DASR's, and the long flow's slow-down relative to DASR, by setting."""
    rows = wide(table).set_index("setting")[[*(f"{name} FCT" for name in _LATENCIES), _LONG_FLOW]]
    ratios = (rows / rows.loc[_DASR]).set_axis([*_LATENCIES, _LONG_FLOW], axis=1).drop(_DASR)
    return dict(ratios.assign(**{_LONG_FLOW: 1 - ratios[_LONG_FLOW]}).iterrows())


def _named(table: str, increase: int, timer: str) -> str:
    return f"{table}, up by {increase}, timer {timer}"


def _both(slower: float, of_long_flow: float) -> Some:
    latency = dict.fromkeys(_LATENCIES, AtLeast(slower, "x"))
    return Some(All({**latency, _LONG_FLOW: Within(0, by=of_long_flow)}), of="the settings")


class ControlTable(Experiment):
    name = "dart.control-table"
    claims = (
        claim("dart-f10-1a", measure=_by_setting, band=_both(1.5, 0.01),
              direction=Some(All(dict.fromkeys(_LATENCIES, MoreThan(1))), of="the settings")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        none = {"table": "", "increase": 0, "timer": ""}
        dasr = incasts(_DEGREE, "dasr-no-look-ahead", scale, seed)
        yield Point(name=_DASR, scenario=dasr, labels={"setting": _DASR, **none})
        for name, increase, timer in _SETTINGS:
            changes = {"increase": increase, "timer_ps": timer, **_TABLES[name]}
            scenario = incasts(_DEGREE, "infiniband-cc", scale, seed, **changes)
            setting = _named(name, increase, timer)
            labels = {"setting": setting, "table": name, "increase": increase, "timer": timer}
            yield Point(name=setting, scenario=scenario, labels=labels)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return tidy(point.name, latencies(result))

    def plot(self, table: pd.DataFrame) -> Figure:
        panels = [Sketch(title=f"{kind} FCT", how=partial(_draw, kind=kind), levels={"_": 1.0}) for kind in _LATENCIES]
        more = f": {_DEGREE} senders"
        return self.drawn(panels, table, more, sharex=True, sharey=True, legend="outside right center")


def _draw(ax: Axes, table: pd.DataFrame, kind: str) -> None:
    found, colours = _by_setting(table), dict(zip(_TIMERS, ("blue", "orange", "green"), strict=True))
    ax.axvspan(-0.5, 0.5, color="0.85", label="published")
    ax.axhspan(_PUBLISHED, 3.3, color="0.85")
    for name, increase, timer in _SETTINGS:
        setting, colour = _named(name, increase, timer), COLOURS[colours[timer]]
        at, fill = (100 * found[setting][_LONG_FLOW], found[setting][kind]), "none" if _TABLES[name] else colour
        ax.plot(*at, _MARKERS[increase], color=colour, markerfacecolor=fill, markersize=8, label=setting)
    ax.set(xlabel="long flow slower than beside DASR by (%)", ylabel="FCT over DASR's")
