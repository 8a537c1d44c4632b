"""For claims with a band, tables just inside and just outside each of its ends, and what the judge must say of them.

`flips` shows that every judge says yes and no; here are the ends of the bands themselves, written from the claims'
words: of what holds, and of what has the direction alone. A claim that fails on the stored table has no other test that
would notice a band of another width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdmacc.experiments import Outcome
from rdmacc.experiments.dart.table1 import PUBLISHED_MARKS
from rdmacc.experiments.dart.table2 import PUBLISHED_DILATION
from rdmacc.workload import DART_MIXES
from tests.experiments.flips import Change, both, follow, put

Edge = tuple[Change, Outcome]
YES, SOME, NO = Outcome.HOLDS, Outcome.DIRECTION, Outcome.FAILS


def ends(change: Callable[[float], Change], *found: tuple[float, Outcome]) -> list[Edge]:
    """Return the edges that a change makes of some values."""
    return [(change(value), outcome) for value, outcome in found]


def _even(quantity: str, **where: Any) -> Change:
    """Return a change after which DCTCP and TIMELY have DCQCN's values."""
    return both(*(follow(quantity, one, "dcqcn", 1.0, **where) for one in ("dctcp", "timely")))


def _dart(quantity: str, **where: Any) -> Callable[[float], Change]:
    """Return a change that gives Dart a multiple of what the three others have."""
    return lambda factor: both(_even(quantity, **where), follow(quantity, "dart", "dcqcn", factor, **where))


def _scheme(scheme: str, quantity: str = "p99", other: str = "dcqcn", **where: Any) -> Callable[[float], Change]:
    """Return a change that gives a scheme a multiple of another one's values, in the typical mix."""
    return lambda factor: follow(quantity, scheme, other, factor, mix="typical", **where)


def _dctcp_above(gap_ps: float) -> Change:
    where = {"mix": "typical", "load": 0.2}
    others = [put("p99", 1e8, scheme=one, **where) for one in ("dcqcn", "timely")]
    return both(*others, put("p99", 1e8 + gap_ps, scheme="dctcp", **where))


def _growth_of_dart(factor: float) -> Change:
    return both(_dart("p99", mix="heavy", load=0.2)(0.5), _dart("p99", mix="heavy", load=0.4)(0.5 * factor))


def _growth(light: float, typical: float, heavy: float) -> Change:
    values = {"light": light, "typical": typical, "heavy": heavy}
    return both(
        put("p99", 1e8, scheme="dcqcn", load=0.2),
        *(put("p99", value * 1e8, scheme="dcqcn", mix=mix, load=0.4) for mix, value in values.items()),
    )


def _median(light: float, heavy: float) -> Change:
    return both(_dart("p50", mix="light")(light), _dart("p50", mix="heavy")(heavy))


def _goodput(mix: str, *others: str) -> Callable[[float], Change]:
    """Return a change that gives Dart a multiple of what others have."""
    return lambda gain: both(*(follow("goodput", one, "dart", 1 / gain, mix=mix) for one in others))


def _heavy(gain: float, typical: float = 1.2) -> Change:
    return both(_goodput("heavy", "dcqcn", "timely")(gain), _goodput("typical", "dcqcn", "timely")(typical))


def _alone(iofd: float, dasr: float) -> Change:
    return both(_scheme("iofd", load=0.6)(iofd), _scheme("dasr", load=0.6)(dasr))


def _growing(*factors: float) -> Change:
    return both(*(_scheme("iofd", load=load)(one) for load, one in zip((0.2, 0.4, 0.6), factors)))


def _marks_of(mix: str, load: float) -> list[Edge]:
    was, now = PUBLISHED_MARKS[mix, load]

    def change(size: float) -> Change:
        """DCQCN's marks over Dart's, less one, are so many times the published."""
        return follow("marked", "dcqcn", "dart", 1 + size * (was / now - 1), mix=mix, load=load)

    noticeable = 0.05 / (was / now - 1)
    found = ends(change, (0.51, YES), (1.98, YES), (0.49, SOME), (2.02, SOME), (0.97 * noticeable, NO))
    return found + (ends(change, (1.03 * noticeable, SOME)) if noticeable < 0.45 else [])


def _detours_of(mix: str, load: float) -> list[Edge]:
    def change(dilation: float, share: float = 1.0) -> Change:
        """Dilation as a multiple of the published; the load increase as a multiple of what the mix's share makes."""
        path = dilation * PUBLISHED_DILATION[mix, load][1] / 100
        return both(
            follow("path", "dart", "dcqcn", 1 + path, mix=mix, load=load),
            follow("data hops", "dart", "dcqcn", 1 + path * share * DART_MIXES[mix], mix=mix, load=load),
        )

    sizes = ends(change, (0.41, YES), (2.45, YES), (0.39, SOME), (2.55, SOME), (-0.1, NO))
    shares = ends(lambda share: change(1.0, share), (0.76, YES), (1.24, YES), (0.74, SOME), (1.26, SOME), (-0.1, NO))
    return sizes + shares


def _averages(increase: float, dilation: float) -> Change:
    return both(
        follow("data hops", "dart", "dcqcn", 1 + increase / 100), follow("path", "dart", "dcqcn", 1 + dilation / 100)
    )


def _shares(factor: float) -> Change:
    """The load increase is a multiple of what a dilation of a tenth and the mix's share make."""
    hops = [
        follow("data hops", "dart", "dcqcn", 1 + 0.1 * factor * share, mix=mix) for mix, share in DART_MIXES.items()
    ]
    return both(follow("path", "dart", "dcqcn", 1.1), *hops)


def _cells(number: int, cells: Any, of: Callable[[str, float], list[Edge]]) -> dict[str, list[Edge]]:
    names = {"typical": "typ", "light": "light", "heavy": "heavy"}
    return {f"dart-t{number}-{names[mix]}-{100 * load:.0f}": of(mix, load) for mix, load in cells}


_TYPICAL = {"mix": "typical"}

EDGES: dict[str, list[Edge]] = {
    "dart-f11a-1": ends(_dart("p99", **_TYPICAL), (0.49, YES), (0.51, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f11a-2": ends(_dart("p99", **_TYPICAL), (0.49, YES), (0.51, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f11a-3": ends(_dart("p99", **_TYPICAL), (0.59, YES), (0.61, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f11a-4": ends(_dart("p99", **_TYPICAL), (0.49, YES), (0.51, SOME), (0.99, SOME), (1.01, NO)),
    "dart-f11a-5": ends(_scheme("timely"), (0.51, YES), (1.99, YES), (0.49, NO), (2.01, NO)),
    "dart-f11-1": ends(_dctcp_above, (251e6, YES), (249e6, NO)),
    "dart-f11-2": ends(lambda share: put("marks at last hop", share, scheme="dctcp"),
                       (0.56, YES), (0.89, YES), (0.54, SOME), (0.91, SOME), (0.51, SOME), (0.49, NO)),
    "dart-f11b-1": ends(_dart("p99", mix="light"), (0.67, YES), (1.49, YES), (0.66, NO), (1.51, NO)),
    "dart-f11c-1": ends(_dart("p99", mix="heavy"), (0.59, YES), (0.61, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f11c-2": ends(_growth_of_dart, (0.99, YES), (1.01, NO)),
    "dart-f11-3": [(_growth(1.1, 1.2, 1.3), YES), (_growth(1.1, 1.3, 1.2), SOME), (_growth(1.2, 1.3, 1.1), NO),
                   (_growth(1.2, 1.1, 1.3), SOME)],
    "dart-f12-1": ends(_dart("p50", **_TYPICAL), (0.89, YES), (0.91, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f12-2": ends(_dart("p50", **_TYPICAL), (0.49, YES), (0.51, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f12-3": [(_median(0.89, 0.8), YES), (_median(0.8, 0.89), YES), (_median(0.91, 0.8), SOME),
                   (_median(0.8, 0.91), SOME), (_median(0.94, 0.8), SOME), (_median(0.8, 0.96), NO)],
    "dart-f12-4": ends(lambda factor: both(_even("p50"), follow("p50", "dart", "dcqcn", factor)),
                       (1.04, YES), (1.06, NO)),
    "dart-f13-1": ends(_goodput("typical", "dcqcn"), (1.33, YES), (1.71, YES), (1.31, SOME), (1.73, SOME),
                       (1.06, SOME), (1.04, NO)),
    "dart-f13-2": ends(_goodput("typical", "timely"), (1.46, YES), (2.01, YES), (1.44, SOME), (2.03, SOME),
                       (1.06, SOME), (1.04, NO)),
    "dart-f13-3": ends(_goodput("typical", "dcqcn", "timely"), (1.40, YES), (1.86, YES), (1.38, SOME), (1.88, SOME),
                       (1.06, SOME), (1.04, NO)),
    "dart-f13-4": [*ends(_heavy, (2.17, YES), (3.58, YES), (2.14, SOME), (3.61, SOME), (1.19, NO)),
                   *ends(lambda gain: _heavy(gain, 1.01), (1.06, SOME), (1.04, NO))],
    "dart-f14-1": ends(_scheme("dart", load=0.2), (0.59, YES), (0.61, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f14-2": [*ends(lambda one: both(_scheme("iofd", load=0.2)(0.9), _scheme("dasr", load=0.2)(one)),
                         (0.64, YES), (0.66, SOME), (0.94, SOME), (0.96, NO)),
                   (both(_scheme("iofd", load=0.2)(0.5), _scheme("dasr", load=0.2)(0.51)), SOME)],
    "dart-f14-3": ends(_scheme("iofd", load=0.2), (0.84, YES), (0.41, YES), (0.86, SOME), (0.39, SOME), (0.94, SOME),
                       (0.96, NO)),
    "dart-f14-4": ends(_scheme("dart", load=0.6), (0.49, YES), (0.51, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f14-5": [(_alone(0.69, 0.2), YES), (_alone(0.2, 0.69), YES), (_alone(0.71, 0.2), SOME),
                   (_alone(0.2, 0.71), SOME), (_alone(0.94, 0.2), SOME), (_alone(0.2, 0.96), NO)],
    "dart-f14-6": ends(_scheme("pri-q", load=0.2), (0.86, YES), (1.14, YES), (0.84, NO), (1.16, NO)),
    "dart-f14-7": ends(lambda one: both(_alone(0.7, 0.6), _scheme("pri-q", load=0.6)(one)),
                       (0.99, YES), (0.71, YES), (1.01, NO), (0.69, NO)),
    "dart-f14-8": ends(_scheme("dasr", other="dasr-no-look-ahead", load=0.2),
                       (0.89, YES), (0.91, SOME), (0.94, SOME), (0.96, NO)),
    "dart-f14-9": ends(lambda one: both(_scheme("dasr", other="iofd")(1.2), _scheme("dart", other="iofd")(one)),
                       (1.04, YES), (1.06, NO)),
    "dart-f14-10": [(_growing(0.9, 0.8, 0.7), YES), (_growing(0.9, 0.7, 0.8), SOME), (_growing(0.9, 0.95, 0.84), SOME),
                    (_growing(0.9, 0.95, 0.86), NO)],
    "dart-f7-3a": [(both(put("refused", 0), put("deflections", 1)), NO)],
    **_cells(1, PUBLISHED_MARKS, _marks_of),
    **_cells(2, PUBLISHED_DILATION, _detours_of),
    "dart-t1-x": ends(lambda ratio: follow("marked", "dcqcn", "dart", ratio),
                      (2.51, YES), (2.49, SOME), (1.06, SOME), (1.04, NO)),
    "dart-t2-x": ends(_shares, (0.76, YES), (1.24, YES), (0.74, NO), (1.26, NO)),
    "dart-t2-y": [*ends(lambda size: _averages(7 * size, 16), (0.41, YES), (2.49, YES), (0.39, SOME), (2.51, SOME)),
                  *ends(lambda size: _averages(7, 16 * size), (0.41, YES), (2.49, YES), (0.39, SOME), (2.51, SOME)),
                  (_averages(-0.1, 16), NO), (_averages(7, -0.1), NO)],
}  # fmt: skip
"""By id of the claim: changes of the stored table, and what must become of it."""
