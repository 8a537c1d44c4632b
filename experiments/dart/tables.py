"""The runs of Dart's tables I and II, and how they are drawn. Setup: `rdmacc.experiments.dart.clos`."""

from ..api import *
from .clos import *
from .loads import *

CELLS = [(mix, load) for mix, loads in LOADS.items() for load in loads]
"""Mixes and loads of the tables, in their order."""
ALL_RUNS = cases(("dcqcn", "dart"), CELLS)

_IDS = {"typical": "typ", "light": "light", "heavy": "heavy"}


class TableFigure(ClosFigure):
    """A table of percentages: the published ones beside those measured in each reading."""

    published: Mapping[tuple[str, float], tuple[float, float]]
    names: tuple[str, str]
    """Of the two in a cell."""
    measured: ClassVar[Callable[..., tuple[float, float]]]
    """The numbers of a cell, from the rows, the mix and the load."""

    def cases(self, scale: str) -> list[ClosCase]:
        return [case for case in runs(scale) if case.scheme in ("dcqcn", "dart")]

    def draw(self, rows: pd.DataFrame) -> Figure:
        ran = labels_of(rows, "mix", "load")
        sources: dict[str, Callable[..., tuple[float, float]]] = {"published": lambda *cell: self.published[cell]}
        for one in drawn_readings(rows):
            sources[f"measured, {one}"] = partial(self.measured, of_reading(rows, one))
        cells = pd.DataFrame(
            [
                {"source": source, "cell": f"{mix} {load:.0%}", **dict(zip(self.names, of(mix, load)))}
                for source, of in sources.items()
                for mix, load in self.published
                if (mix, load) in ran
            ]
        )
        looks = {source: (source, colour) for source, colour in zip(sources, COLOURS)}
        bars = partial(Bars, looks=looks, by="source", over="cell", label="percent")
        panels = [bars(quantity=name, title=name, axes={"xlabel": "mix and load"}) for name in self.names]
        return self.drawn(panels, cells, columns=1, size=(8, 2.6), sharex=True, legend="outside lower center")


def table_claims(
    number: int, published: Mapping[tuple[str, float], tuple[float, float]], measure: Callable[..., Any],
    band: Callable[[str, float, float], Band], direction: Band,
) -> list[Claim]:  # fmt: skip
    """Return a claim for each cell of a table.

    `measure` takes the rows, and `mix` and `load` by name; `band` takes the mix and the published numbers.
    """
    return [
        claim(f"dart-t{number}-{_IDS[mix]}-{load * 100:.0f}", published=f"{one}; {other}",
              measure=partial(measure, mix=mix, load=load), band=band(mix, one, other), direction=direction,
              needs=cases(("dcqcn", "dart"), [(mix, load)]))
        for (mix, load), (one, other) in published.items()
    ]  # fmt: skip
