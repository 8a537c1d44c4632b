"""Dart, figures 11 to 14: shared runs, plots and claims. Setup: `rdmacc.experiments.dart.clos`."""

from ..api import *
from .clos import *

OTHERS = ("dctcp", "dcqcn", "timely")
BASELINES = ("dcqcn", "timely")
SCHEMES = ("dctcp", "dcqcn", "timely", "dart")
NAMES = {"dctcp": "DCTCP", "dcqcn": "DCQCN", "timely": "TIMELY", "dart": "Dart"}
LOOKS = {
    "dctcp": ("DCTCP", "green", "s-"),
    "dcqcn": ("DCQCN", "blue", "o-"),
    "timely": ("TIMELY", "orange", "^-"),
    "dart": ("Dart", "vermilion", "D-"),
}
VARIANTS = {
    "dcqcn": "DCQCN", "pri-q": "Pri-Q", "iofd": "IOFD only", "dasr-no-look-ahead": "DASR without look-ahead",
    "dasr": "DASR only", "dart": "Dart",
}  # fmt: skip
COMPONENTS = ("iofd", "dasr")


def runs(scale: str) -> list[ClosCase]:
    """Return all schemes, mixes and loads under each reading; at quick scale, two loads of the typical mix."""
    if scale == "quick":
        return cases(SCHEMES, [("typical", 0.2), ("typical", 0.6)])
    readings = [replace(case, jitter=STARTS_WITHIN) for case in all_runs("typical")]
    readings += [replace(case, changes=TO_LAST_HOP) for case in all_runs("typical", "heavy", schemes=("dart",))]
    readings += [replace(case, changes=MIN_RTT) for case in all_runs("typical", "heavy", schemes=("timely",))]
    readings += [replace(case, is_persistent=True) for case in all_runs(*LOADS)]
    found = [case for reading in (BY_LOAD, kept(128), FRESH) for case in all_runs(*LOADS, reading=reading)]
    return list(dict.fromkeys([*readings, *found]))


def all_runs(*mixes: str, schemes: Sequence[str] = SCHEMES, reading: str = DEFAULT_READING) -> list[ClosCase]:
    """Return schemes, by default all four, at every load of the given mixes."""
    return cases(schemes, [(mix, load) for mix in mixes for load in LOADS[mix]], [reading])


class LoadFigure(ClosFigure):
    """A quantity of the four schemes over the load: a column for each mix, a row for each reading.

    The paper's axes are unreadable, but its text gives Dart's values relative to others: `published`, by mix and load,
    is drawn as that multiple of DCQCN's measured mean.
    """

    quantity: str
    published: Mapping[tuple[str, float], float]
    look: Mapping[str, Any]

    def cases(self, scale: str) -> list[ClosCase]:
        return runs(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        mixes = [mix for mix in LOADS if having(rows, mix=mix).any()]
        panels = [self._panel(rows, reading, mix) for reading in drawn_readings(rows) for mix in mixes]
        more = " at 1,024 hosts"
        return self.drawn(panels, rows, more, columns=len(mixes), size=(3.6, 3.1), legend="outside lower center")

    def _panel(self, rows: pd.DataFrame, reading: str, mix: str) -> Lines:
        dcqcn = means(of_reading(rows, reading), self.quantity, "dcqcn", mix)
        known = [load for load in dcqcn.index if (mix, load) in self.published]
        marks = {"dart": [(100 * load, dcqcn[load] * self.published[mix, load]) for load in known]} if known else {}
        axes = {"xticks": [100 * load for load in LOADS[mix]]}
        words = {"title": f"{mix} mix, {reading}", "published": marks, "axes": axes, **self.look}
        return over_load(self.quantity, reading, LOOKS, where={"mix": mix, "changes": ""}, **words)


def over_load(quantity: str, reading: str, looks: Mapping[str, tuple[str, ...]], **more: Any) -> Lines:
    """Return the panel of a quantity over the load under a reading."""
    axis: dict[str, Any] = {"over": "load", "percent": True, "xlabel": "load (% of ToR uplinks)"}
    return Lines(quantity, looks, of=partial(of_reading, reading=reading), **axis, **more)


IS_GAIN = Each(AtLeast(NOTICEABLE, "%"))
"""A noticeable gain over each of the others."""


def over(
    rows: pd.DataFrame, quantity: str, mix: str, others: Sequence[str], loads: Sequence[float] | None = None
) -> pd.DataFrame:
    """Return Dart's reduction of a quantity relative to others: rows by load, columns by scheme."""
    dart = means(rows, quantity, "dart", mix)
    found = {NAMES[one]: reduction(dart, means(rows, quantity, one, mix)) for one in others}
    return pd.DataFrame(found).loc[[*(loads or dart.index)]]


def mean_of(
    quantity: str, mix: str, others: Sequence[str], loads: Sequence[float] | None = None
) -> Callable[[pd.DataFrame], dict[str, float]]:
    """Return a function that measures Dart's mean reduction of a quantity, over all others and over each."""

    def measure(rows: pd.DataFrame) -> dict[str, float]:
        by_scheme = over(rows, quantity, mix, others, loads).mean()
        return {"mean": by_scheme.mean(), **(by_scheme if len(others) > 1 else {})}

    return measure


def compared(rows: pd.DataFrame, quantity: str, mix: str) -> pd.DataFrame:
    """Return a quantity of each scheme that has run, by load as in "20%"."""
    found = {NAMES[scheme]: means(rows, quantity, scheme, mix) for scheme in SCHEMES}
    frame = pd.DataFrame({name: values for name, values in found.items() if len(values)})
    return frame.set_axis([f"{load:.0%}" for load in frame.index])


def p99(rows: pd.DataFrame, scheme: str, load: float, differences: str = "") -> float:
    """Return the mean p99 of 8 KB flows over seeds, in ps."""
    return float(means(rows, "p99", scheme, "typical", differences)[load])


def less(rows: pd.DataFrame, scheme: str, load: float) -> float:
    """Return a variant's reduction of the p99 relative to DCQCN."""
    return reduction(p99(rows, scheme, load), p99(rows, "dcqcn", load))
