"""RCC at 320 hosts: other readings of the baselines' parameters and of RCC, compared. Setup: `fat_tree`."""

from __future__ import annotations

from ..api import *
from .fat_tree import *
from .fct import *
from .setup import *

_NAME = "web_search"
_LOADS = {"quick": 0.7, "paper": 0.5}


def _readings_of(scheme: str) -> dict[str, tuple[str, str, Changes]]:
    """Return a scheme as in the figures, and its readings, by label."""
    name = NAMES[scheme]
    others = {words: one for words, one in READINGS.items() if one[0] == scheme}
    labels = {words if words.startswith(name) else f"{name}, {words}": one for words, one in others.items()}
    return {name: (scheme, scheme, ()), **labels}


_SHOWN = {words: one for scheme in ("rcc", "rcc-ewa", *OTHERS) for words, one in _readings_of(scheme).items()}
"""The runs, by label."""


def _found(rows: pd.DataFrame, quantity: str) -> dict[str, pd.Series[float]]:
    return {
        words: rows.loc[(rows["scheme"] == scheme) & (rows["changes"] == differences(changes)), quantity]
        for words, (_, scheme, changes) in _SHOWN.items()
    }


def _ratios(rows: pd.DataFrame, one: str, *schemes: str) -> dict[str, float]:
    found = _found(rows.set_index("seed"), "all mean")
    ratios = {words: (found[words] / found[one]).mean() for words, of in _SHOWN.items() if of[0] in schemes}
    return {words: float(ratio) for words, ratio in ratios.items() if words != one}


def _reductions(rows: pd.DataFrame, *schemes: str) -> dict[str, float]:
    return {words: 1 - 1 / ratio for words, ratio in _ratios(rows, "RCC", *schemes).items()}


def _draw_ours(quantity: str, ax: Axes, rows: pd.DataFrame) -> None:
    ax.axvline(_found(rows, quantity)["RCC"].mean() / 1e6, color="0.4", linestyle=":", linewidth=1.2)


class Baselines(FatTreeFigure):
    name = "rcc.baselines"
    claims = (
        claim("rcc-b-1a", measure=lambda rows: 1 - _ratios(rows, "Homa", "homa")["Homa, ECMP"], band=AtLeast(0.05),
              direction=MoreThan(0)),
        claim("rcc-b-2a", measure=lambda rows: _reductions(rows, DCQCN, "timely"), band=Each(MoreThan(0), "reading")),
        claim("rcc-b-3a", measure=lambda rows: _ratios(rows, "RCC", "rcc"), band=Each(Within(1, by=0.05), "reading")),
        claim("rcc-b-4a", measure=lambda rows: _reductions(rows, "homa"), band=Each(Between(0, 0.16), "reading"),
              direction=Each(MoreThan(0), "reading")),
    )  # fmt: skip

    under = Experiment.under  # all readings

    def cases(self, scale: str) -> list[FatTreeCase]:
        return [FatTreeCase(scheme, _NAME, _LOADS[scale], changes) for _, scheme, changes in _SHOWN.values()]

    def draw(self, rows: pd.DataFrame) -> Figure:
        looks = {
            (scheme, differences(changes)): (words, LOOKS[of][1]) for words, (of, scheme, changes) in _SHOWN.items()
        }
        panels = [
            Bars(
                quantity=f"{kind} mean", looks=looks, by=("scheme", "changes"), is_flat=True, unit="us", label="FCT",
                title=f"average of {kind} flows", legend=None, also=partial(_draw_ours, f"{kind} mean"),
            )
            for kind in ("all", "short", "long")
        ]  # fmt: skip
        more = f", web search at {rows['load'].iloc[0]:.0%} (dotted: as in the figures)"
        return self.drawn(panels, rows, more, size=(4, 4.6), sharey=True)
