"""RCC, figure 12: unsynchronised clocks, and the number of late samples that mean congestion."""

from rdmacc.experiments.rcc.incast import FEW, REQUEST, IncastCase, IncastFigure, mean, points_in, together
from ..api import *
from .setup import *

SCHEMES = {name: IncastCase(name) for name in ("rcc", "rcc-async", "rcc-sender", "rcc-n1")}
SAMPLES = (2, 3, 4, 5)
BY_N = {n: IncastCase("rcc-async", late_samples=n) for n in SAMPLES}
"""RCC-async with different n."""

JITTERS_US = (0.0, 1.0, 2.0, 3.0, 4.0)
SWEEP = {
    (n, jitter): IncastCase("rcc", REQUEST, size="1MB", late_samples=n, jitter_us=jitter, senders=FEW)
    for n in (1, *SAMPLES)
    for jitter in JITTERS_US
}
"""Runs with shares of three packets, by n and jitter in us."""
_LOWER = AtMost(0.999)
"""Noticeably lower."""


def _ratio(one: str, other: str, rows: pd.DataFrame) -> Measured:
    found = {name: mean(rows, case, "goodput") for name, case in SCHEMES.items()}
    words = ", ".join(f"{NAMES[name]} {value / 1e9:.3f}" for name, value in found.items())
    return Measured(found[one] / found[other], f"{words} Gb/s")


def _moved(rows: pd.DataFrame) -> dict[str, float]:
    """Return the goodput with jitter and n = 1 relative to no jitter; 1 if no sample matters."""
    return {_SAMPLES: _ratio("rcc-n1", "rcc", rows).numbers}


def _sender(rows: pd.DataFrame) -> Measured:
    found = _ratio("rcc-sender", "rcc", rows)
    return Measured({"RCC-sender over RCC": found.numbers, **_moved(rows)}, found.note)


def _spread(rows: pd.DataFrame) -> Measured:
    found = [mean(rows, BY_N[n], "goodput") for n in SAMPLES if n > 2]
    numbers = {"highest above the lowest": max(found) / min(found) - 1, **_moved(rows)}
    return Measured(numbers, f"{min(found) / 1e9:.3f} to {max(found) / 1e9:.3f} Gb/s")


def _swept(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the goodput of the sweep in Gb/s, by n and jitter."""
    ran = rows[rows["size"] == "1MB"].pivot_table("goodput", "late_samples", "jitter_us")
    return (ran / 1e9).rename_axis(index="n", columns="jitter")


def _where_it_counts(rows: pd.DataFrame) -> Measured:
    none, most = JITTERS_US[0], JITTERS_US[-1]
    one, three, still = (mean(rows, SWEEP[at], "goodput") for at in ((1, most), (3, most), (3, none)))
    found = _swept(rows)
    words = [
        f"±{jitter:g} us: "
        + ", ".join(f"{found.loc[n, jitter]:.1f} with n = {n}" for n in found.index if n in (1, 3, 5))
        for jitter in found.columns
    ]
    return Measured({_ONE: one / three, "n = 3 over itself without jitter": three / still}, f"{'; '.join(words)} Gb/s")


_ONE = "n = 1 over n = 3"
_SAMPLES = "n = 1 with jitter over RCC"
_COUNTS = {_SAMPLES: _LOWER}
"""Precondition for comparing the others: samples have an effect."""
_SIMILAR = {"RCC-sender over RCC": Within(1, by=0.03)}
_ALIKE = {"highest above the lowest": AtMost(0.03)}


class Figure12(IncastFigure):
    name = "rcc.fig12"
    claims = (
        claim("rcc-f12-1", measure=partial(_ratio, "rcc-async", "rcc"), band=Between(0.9, _LOWER.high),
              direction=_LOWER),
        claim("rcc-f12-2", measure=_sender, band=All(_SIMILAR, _COUNTS), direction=All(_SIMILAR)),
        claim("rcc-f12-3", measure=partial(_ratio, "rcc-n1", "rcc-async"), band=_LOWER),
        claim("rcc-f12-4", measure=_spread, band=All(_ALIKE, _COUNTS), direction=All(_ALIKE)),
        claim("rcc-f12-4a", measure=_where_it_counts, band=Each(_LOWER), direction=At(_ONE, _LOWER)),
    )  # fmt: skip

    def cases(self, scale: str) -> list[IncastCase]:
        swept = SWEEP.values() if scale == "paper" else [SWEEP[n, jitter] for n in (1, 3) for jitter in (0.0, 2.0, 4.0)]
        printed = [*SCHEMES.values(), *BY_N.values()]
        return list(dict.fromkeys([*printed, *map(together, printed), *swept]))

    def plot(self, table: pd.DataFrame) -> Figure:
        lines = zip(SCHEMES.items(), ("-", "--", ":", "-."), strict=True)
        looks = {points_in(table, case)[0]: (*LOOKS[name], line) for (name, case), line in lines}
        colours = zip((1, *SAMPLES), ("vermilion", "orange", "blue", "green", "purple"), strict=True)
        by_n = {n: (f"n = {n}", colour, "o-") for n, colour in colours}
        title = f"(a) the incast of figure 6, {table['senders'].iloc[0]:,} senders"
        words: dict[str, Any] = {"unit": "Gb/s", "label": "goodput", "legend": {"fontsize": 8, "loc": "lower left"}}
        swept = partial(Lines, by="late_samples", where={"size": "1MB"}, over="jitter_us", xlabel="jitter (± us)")
        panels = (
            Traces("goodput over time", looks, title=title, time_unit="ms", axes={"ylim": (0, 105)}, **words),
            swept("goodput", by_n, title="(b) 50 senders of 1 MB", axes={"ylim": (0, None)}, **words),
        )
        return self.drawn(panels, table, size=(5.5, 3.8))
