"""The runs of Dart's tables I and II, and how they are drawn. Setup: `rdmacc.experiments.dart.clos`."""

from ..api import *
from .clos import *
from .loads import *

CELLS = [(mix, load) for mix, loads in LOADS.items() for load in loads]
"""Mixes and loads of the tables, in their order."""
ALL_RUNS = cases(("dcqcn", "dart"), CELLS)

_SENTENCES = {
    1: "Table I shows the percent of short-flow packets with ECN marks under DCQCN and Dart.",
    2: "Table II shows the percent increase in (a) network load and (b) short-flow path length under IOFD relative to"
    " DCQCN.",
}
_IDS = {"typical": "typ", "light": "light", "heavy": "heavy"}


def table_runs(scale: str) -> list[ClosCase]:
    """Return the runs of figures 11 to 13 that are DCQCN's or Dart's."""
    return [case for case in runs(scale) if case.scheme in ("dcqcn", "dart")]


def draw_bars(
    rows: pd.DataFrame,
    published: Mapping[tuple[str, float], tuple[float, float]],
    measured: Callable[[pd.DataFrame, str, float], tuple[float, float]],
    names: tuple[str, str],
    title: str,
) -> Figure:
    """Draw the published values beside those measured in each reading, two for each mix and load."""
    ran = set(zip(rows["mix"], rows["load"], strict=True))
    at = [key for key in published if key in ran]
    readings = drawn_readings(rows)
    places, width = np.arange(len(at)), 0.8 / (1 + len(readings))
    palette = list(COLOURS.values())
    figure, axes = subplots(2, 1, figsize=(8, 5.2), sharex=True)
    for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
        bars = {"published": [published[key][number] for key in at]}
        for reading in readings:
            chosen = of_reading(rows, reading)
            bars[f"measured, {reading}"] = [measured(chosen, *key)[number] for key in at]
        for place, (label, heights) in enumerate(bars.items()):
            offset = (place - len(readings) / 2) * width
            ax.bar(places + offset, heights, 0.95 * width, color=palette[place], label=label)
        ax.set(title=name, ylabel="percent")
    axes[1].set_xticks(places, [f"{mix}\n{load:.0%}" for mix, load in at])
    axes[1].set_xlabel("mix and load")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=len(labels), loc="outside lower center")
    figure.suptitle(title)
    return figure


def table_claims(
    number: int, published: Mapping[tuple[str, float], tuple[float, float]], quantity: str,
    measure: Callable[..., Any], band: Callable[[str, float, float], Band],
    misses: Mapping[tuple[str, float], Any] | None = None, **more: Any,
) -> list[Claim]:  # fmt: skip
    """Return a claim for each cell of a table.

    `measure` takes the rows, and `mix` and `load` by name; `band` takes the mix and the published numbers; `misses` has
    what differs in single claims, by mix and load.
    """
    return [
        claim(
            f"dart-t{number}-{_IDS[mix]}-{load * 100:.0f}", f"Table {'I' * number}", quantity, f"{mix} mix, {load:.0%}",
            f"{one}; {other}", measure=partial(measure, mix=mix, load=load), band=band(mix, one, other),
            quote=_SENTENCES[number],
            needs=cases(("dcqcn", "dart"), [(mix, load)]), **{**more, **(misses or {}).get((mix, load), {})},
        )
        for (mix, load), (one, other) in published.items()
    ]  # fmt: skip
