"""Improved Go-Back-N: two sentences that can be read in two ways, each reading simulated, side by side."""

from ..api import *
from .setup import *

_ONE_PERCENT = 1e-2
_PUBLISHED_BEST = 0.6
"""Improved Go-Back-N at a loss rate of 1% (IV-A)."""


def _means(table: pd.DataFrame, timeout_ps: int = ACK_TIMEOUT_PS) -> dict[str, float]:
    return by_variant(table, timeout_ps, _ONE_PERCENT)


@register_experiment
class OtherReadings(LossSweep):
    name = "igbn.readings"
    points_of = LossSweep
    title = "Two readings of two sentences"
    description = "Improved Go-Back-N: two readings each of its timer's start and of its NAK interval"
    claims = (
        Claim(
            "igbn-x-1", "II-A", "NAK interval for all packets together", "100 ms, p = 1e-2",
            "about 60% for Improved: so the interval is for each packet", unit="%", by=OURS,
            measure=lambda table: _means(of_reading(table, nak_interval=FOR_ALL)),
            band=Each(LessThan(_PUBLISHED_BEST / 2), of="variant"),
        ),
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

    under = Experiment.under  # of all readings

    def plot(self, table: pd.DataFrame) -> Figure:
        x = np.arange(len(VARIANTS))
        timers = [(f"from the {timer} on", of_reading(table, timer), c) for timer, c in zip(TIMERS, ("blue", "sky"))]
        naks = [
            (name, of_reading(table, nak_interval=name), colour)
            for name, colour in ((PER_PACKET, "blue"), (FOR_ALL, "vermilion"))
        ]
        panels = [(f"timer, {name}", time_ps, timers) for time_ps, name in TIMEOUTS.items()]
        panels += [("NAK interval, 100 ms", ACK_TIMEOUT_PS, naks)]
        figure, axes = subplots(1, len(panels), figsize=(14, 4), sharey=True)
        for ax, (title, timeout_ps, readings) in zip(axes, panels, strict=True):
            for shift, (name, rows, colour) in zip((-0.2, 0.2), readings, strict=True):
                values = [100 * value for value in _means(rows, timeout_ps).values()]
                ax.bar(x + shift, values, 0.36, color=COLOURS[colour], label=name)
                for at, value in zip(x + shift, values, strict=True):
                    ax.text(at, value + 0.8, f"{value:.0f}", ha="center", fontsize=8)
            ax.set(title=title, ylim=(0, 78))
            ax.set_xticks(x, list(VARIANTS.values()))
            ax.grid(visible=False, axis="x")
            ax.legend(loc="upper left", fontsize=8)
        axes[0].set_ylabel("relative throughput (%)")
        figure.suptitle(f"IGBN: {self.title.lower()}, loss rate 1%, all simulated", x=0.01, ha="left", fontsize=12)
        return figure
