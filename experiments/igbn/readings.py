"""Improved Go-Back-N: two ambiguous sentences, with each reading simulated."""

from ..api import *
from .setup import *

_ONE_PERCENT = 1e-2
_PUBLISHED_BEST = 0.6
"""Improved Go-Back-N at a loss rate of 1% (IV-A)."""
_means = partial(by_variant, timeout_ps=ACK_TIMEOUT_PS, loss=_ONE_PERCENT)


class OtherReadings(LossSweep):
    name = "igbn.readings"
    points_of = LossSweep
    claims = (
        claim("igbn-x-1", measure=lambda table: _means(of_reading(table, nak_interval=FOR_ALL)),
              band=Each(LessThan(_PUBLISHED_BEST / 2), of="variant")),
    )  # fmt: skip

    def settings(self, scale: str) -> list[Setting]:
        both = [
            Setting(variant, timeout_ps, _ONE_PERCENT, timer)
            for timer in TIMERS
            for timeout_ps in TIMEOUTS
            for variant in VARIANTS
        ]
        usual = dict.fromkeys([*super().settings(scale), *both])
        return [*usual, *(Setting(variant, ACK_TIMEOUT_PS, _ONE_PERCENT, nak_interval=FOR_ALL) for variant in VARIANTS)]

    under = Experiment.under  # all readings

    def plot(self, table: pd.DataFrame) -> Figure:
        timers = {f"from the {timer} on": of_reading(table, timer) for timer in TIMERS}
        naks = {name: of_reading(table, nak_interval=name) for name in (PER_PACKET, FOR_ALL)}
        panels = [_panel(f"timer, {name}", time_ps, timers) for time_ps, name in TIMEOUTS.items()]
        panels.append(_panel("NAK interval, 100 ms", ACK_TIMEOUT_PS, naks))
        return self.drawn(panels, table, ", loss rate 1%, all simulated", size=(3.5, 4), sharey=True)


def _panel(title: str, timeout_ps: int, readings: dict[str, pd.DataFrame]) -> Bars:
    means = pd.DataFrame({name: _means(rows, timeout_ps=timeout_ps) for name, rows in readings.items()})
    found = (
        means.rename_axis("variant").melt(var_name="reading", value_name="goodput", ignore_index=False).reset_index()
    )
    looks = {name: (name, colour) for name, colour in zip(readings, ("blue", "sky"), strict=True)}
    words: dict[str, Any] = {"unit": "%", "label": "relative throughput", "title": title}
    return Bars("goodput", looks, by="reading", of=lambda _: found, over="variant", **words)
