"""Dart, table I: the share of short flows' packets with ECN marks, under DCQCN and under Dart."""

from ..api import *
from .clos import *
from .loads import *

CELLS = [(mix, load) for mix, loads in LOADS.items() for load in loads]
"""Mixes and loads of the tables, in order."""
ALL_RUNS = cases(("dcqcn", "dart"), CELLS)

_IDS = {"typical": "typ", "light": "light", "heavy": "heavy"}


class TableFigure(ClosFigure):
    """A table of percentages: the published ones beside those measured in each reading."""

    published: Mapping[tuple[str, float], tuple[float, float]]
    names: tuple[str, str]
    """Names of the two numbers in a cell."""
    measured: ClassVar[Callable[..., tuple[float, float]]]
    """Computes the numbers of a cell from the rows, the mix and the load."""

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

    `measure` takes the rows and, by name, `mix` and `load`; `band` takes the mix and the published numbers.
    """
    return [
        claim(f"dart-t{number}-{_IDS[mix]}-{load * 100:.0f}", published=f"{one}; {other}",
              measure=partial(measure, mix=mix, load=load), band=band(mix, one, other), direction=direction,
              needs=cases(("dcqcn", "dart"), [(mix, load)]))
        for (mix, load), (one, other) in published.items()
    ]  # fmt: skip


PUBLISHED_MARKS = {
    ("typical", 0.2): (17, 6), ("typical", 0.4): (41, 11), ("typical", 0.6): (67, 14),
    ("light", 0.2): (5, 4), ("light", 0.4): (14, 9), ("light", 0.6): (36, 21), ("light", 0.8): (48, 28),
    ("heavy", 0.2): (33, 9), ("heavy", 0.4): (70, 18),
}  # fmt: skip
"""Table I: percentage of short flows' packets with marks, under DCQCN and under Dart."""


def marks(rows: pd.DataFrame, mix: str, load: float) -> tuple[float, float]:
    """Return the percentages of short flows' packets with marks, under DCQCN and under Dart."""
    dcqcn, dart = (float(means(rows, "marked", scheme, mix)[load]) * 100 for scheme in ("dcqcn", "dart"))
    return dcqcn, dart


def _cell(rows: pd.DataFrame, mix: str, load: float) -> dict[str, float]:
    dcqcn, dart = marks(rows, mix, load)
    return {"DCQCN": dcqcn, "Dart": dart, "DCQCN / Dart - 1": dcqcn / dart - 1}


def _published_cell(_: str, dcqcn: float, dart: float) -> Band:
    return All({"DCQCN": Part(dcqcn, whole=100), "Dart": Part(dart, whole=100)})


_HIGH = (("typical", 0.4), ("typical", 0.6), ("heavy", 0.4))


class Table1(TableFigure):
    name = "dart.table1"
    published, names = PUBLISHED_MARKS, ("DCQCN", "Dart")
    measured = staticmethod(marks)
    claims = (
        *table_claims(1, PUBLISHED_MARKS, _cell, _published_cell, At("DCQCN / Dart - 1", AtLeast(NOTICEABLE))),
        claim("dart-t1-x",
              measure=lambda rows: {f"{mix}, {load:.0%}": np.divide(*marks(rows, mix, load)) for mix, load in _HIGH},
              band=Each(MoreThan(4)), direction=Each(AtLeast(1 + NOTICEABLE)), needs=cases(("dcqcn", "dart"), _HIGH)),
        claim("dart-t1-y",
              measure=lambda rows: {
                  f"{scheme}, {mix}": {f"{load:.0%}": marks(rows, mix, load)[place] for load in loads}
                  for mix, loads in LOADS.items()
                  for place, scheme in enumerate(("DCQCN", "Dart"))
              }, band=Each(Rises(), "scheme and mix"), needs=ALL_RUNS),
    )  # fmt: skip
