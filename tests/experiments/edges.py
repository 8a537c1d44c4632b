"""For claims with a band, tables just inside and just outside each of its ends, and what the judge must say of them.

`flips` shows that every judge says yes and no; here are the ends of the bands themselves, written from the claims'
words: of what holds, and of what has the direction alone. A claim that fails on the stored table has no other test that
would notice a band of another width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rdmacc.experiments import Outcome
from rdmacc.experiments.dart.setup import WIRE_BYTES
from rdmacc.experiments.dart.table1 import PUBLISHED_MARKS
from rdmacc.experiments.dart.table2 import PUBLISHED_DILATION
from rdmacc.workload import DART_MIXES
from tests.experiments.flips import CE, GBN, IGBN, ST, Change, _10, _100, _500, both, follow, goodput, put, rtts

Edge = tuple[Change, Outcome]
LONG_WINDOW = "Dasr.window_ps 0s, Dasr.full_packets 10"
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


def _readings(kept: float, fresh: float) -> Change:
    where = {"scheme": "dcqcn", "mix": "typical", "load": 0.4}
    return both(
        put("p99", kept, reading="kept, 128 groups", **where), put("p99", fresh, reading="fresh, 128 groups", **where)
    )


def _gain(factor: float, reading: str) -> Change:
    return both(
        follow("p99", "timely", "dcqcn", 1.0, reading=reading), follow("p99", "dart", "dcqcn", factor, reading=reading)
    )


def _by_groups(*factors: float) -> Change:
    names = (f"kept, {groups} groups" for groups in (64, 128, 256))
    return both(*(_gain(factor, name) for factor, name in zip(factors, names)))


def _long_window(kept: float, fresh: float) -> Change:
    """Dart's marks with the longer window over those without."""
    where = {"scheme": "dart", "mix": "typical"}
    return both(
        put("marked", 0.1, changes="", **where),
        put("marked", 0.1 * kept, changes=LONG_WINDOW, reading="kept, 128 groups", **where),
        put("marked", 0.1 * fresh, changes=LONG_WINDOW, reading="fresh", **where),
    )


def _marks_with_long_window(size: float) -> Change:
    """DCQCN's marks over Dart's, less one, are so many times the published."""
    each = []
    for load in (0.2, 0.4, 0.6):
        where = {"mix": "typical", "load": load}
        was, now = PUBLISHED_MARKS["typical", load]
        each += [
            put("marked", 0.1, scheme="dart", changes=LONG_WINDOW, **where),
            put("marked", 0.1 * (1 + size * (was / now - 1)), scheme="dcqcn", changes="", **where),
        ]
    return both(*each)


def _varied(factors: dict[str, float]) -> Change:
    """Give Dart's p99 multiples of DCQCN's, by what is varied."""
    return both(
        put("p99", 1e8, scheme="dcqcn"),
        *(put("p99", factor * 1e8, scheme="dart", changes=name) for name, factor in factors.items()),
    )


def _degrees(*factors: float) -> Change:
    return _varied(dict(zip(("degree 6", "", "degree 26"), factors)))


def _sizes(*factors: float) -> Change:
    return _varied(dict(zip(("2000 B", "4000 B", "8000 B"), factors)))


def _tokens(to_four: float, to_eight: float) -> Change:
    """By how much 4 tokens shorten the tail over 1, and 8 over 4."""
    four = 1 - to_four
    eight = four * (1 - to_eight)
    return _varied({"FlowDeflection.tokens 1": 1.0, "": four, "FlowDeflection.tokens 8": eight})


def _deflections(at_20_kb: float) -> Change:
    return both(
        put("deflections", 1.0, scheme="dart", changes=""),
        put("deflections", at_20_kb, changes="threshold_bytes 20kB"),
    )


def _slow(rcp: float, timely: float, quantity: str = "converged") -> Change:
    return both(rtts("rcp", rcp, quantity), rtts("timely", timely, quantity))


def _five_times(dart: float, others: float) -> Change:
    return both(rtts("dart", dart), *(rtts(name, others) for name in ("rcp", "timely", "dcqcn")))


def _incast(*quantities: str) -> Callable[[float], Change]:
    """Return a change that makes InfiniBand's a multiple of DASR's."""

    def change(ratio: float) -> Change:
        dasr = [put(one, 1e9, scheme="dasr-no-look-ahead") for one in quantities]
        return both(*dasr, *(put(one, ratio * 1e9, scheme="infiniband-cc") for one in quantities))

    return change


def _attacked(kept: float) -> Change:
    return both(
        put("throughput of A", 1e9, point="no look-ahead, no attack"),
        put("throughput of A", kept * 1e9, point="no look-ahead, attack"),
    )


def _at(variant: str, timeout_ps: int, loss: float) -> Callable[[float], Change]:
    return lambda value: goodput(value, variant, timeout_ps, loss)


def _all_at(timeout_ps: int, loss: float, *values: float) -> Change:
    """Give the variants, in the order of the paper's legend, these throughputs."""
    return both(*(goodput(value, one, timeout_ps, loss) for one, value in zip((GBN, ST, CE, IGBN), values)))


def _duplicates_cost(points: float) -> Change:
    """Improved go-back-N is so many percentage points below check-ePSN."""
    pairs = [(goodput(0.9, CE, _100, loss), goodput(0.9 - points / 100, IGBN, _100, loss)) for loss in (1e-5, 1e-3)]
    return both(*(change for pair in pairs for change in pair))


def _check_between(ratio: float, excess: float = -0.1) -> Change:
    """Check-ePSN is a multiple of go-back-N at 1%, and so much above Improved at 0.5%."""
    each = [_all_at(_10, loss, 0.1, 0.1, 0.3, 0.6) for loss in (2e-3, 5e-3)]
    return both(*each, _all_at(_10, 1e-2, 0.3 / ratio, 0.1, 0.3, 0.6), goodput(0.6 + excess, CE, _10, 5e-3))


def _twice(long: float, middle: float) -> Change:
    steps = [_at(ST, timeout, 5e-3)(0.05) for timeout in (_100, _10)]
    return both(*steps, goodput(long, ST, _100, 1e-2), goodput(middle, ST, _10, 1e-2))


_TYPICAL = {"mix": "typical"}

EDGES: dict[str, list[Edge]] = {
    "dart-f1-1": [(_slow(31, 26), YES), (_slow(119, 99), YES), (_slow(29, 50), SOME), (_slow(121, 50), SOME),
                  (_slow(60, 24), SOME), (_slow(60, 101), SOME), (_slow(10.1, 10.1), SOME), (_slow(9.9, 50), NO),
                  (_slow(60, 9.9), NO)],
    "dart-f1-2": ends(lambda count: rtts("dart", count), (1.99, YES), (2.01, NO)),
    "dart-f1-3": [(_five_times(0.5, 5.1), YES), (_five_times(0.5, 4.9), NO), (_five_times(1.2, 6.1), YES),
                  (_five_times(1.2, 5.9), NO)],
    "dart-f2-1": ends(lambda bps: both(put("rate of S1, alone", bps), put("throughput, alone", bps)),
                      (9.71e9, YES), (9.69e9, NO)),
    "dart-f2-2": [*ends(lambda bps: put("rate of S1, shared", bps),
                        (4.86e9, YES), (5.14e9, YES), (4.84e9, NO), (5.16e9, NO)),
                  *ends(lambda bps: put("throughput, shared", bps), (9.51e9, YES), (9.49e9, NO))],
    "dart-f2-2a": ends(lambda count: rtts("long", count, "time to settle"), (0.99, YES), (1.01, NO)),
    "dart-f2-2b": ends(lambda packets: put("queue growth, settled", packets * WIRE_BYTES),
                       (1.99, YES), (-1.99, YES), (2.01, NO), (-2.01, NO)),
    "dart-f3-1": ends(lambda ratio: put("rate / (line / (k+1))", ratio),
                      (1.049, YES), (0.951, YES), (1.051, NO), (0.949, NO)),
    "dart-f3-2": ends(lambda taken: both(put("time to recover", taken), put("time to recover, allowed", 1e6)),
                      (0.99e6, YES), (1.01e6, NO)),
    "dart-f10-1": ends(_incast("median FCT", "p99 FCT"), (1.51, YES), (1.49, SOME), (1.01, SOME), (0.99, NO)),
    "dart-f10-2": ends(_incast("p99 FCT"), (1.68, YES), (1.65, SOME), (1.01, SOME), (0.99, NO)),
    "dart-f10-3": ends(lambda ratio: both(put("median FCT", 1e9, scheme="infiniband-cc"),
                                          put("p99 FCT", ratio * 1e9, scheme="infiniband-cc")),
                       (1.06, YES), (1.79, YES), (1.04, NO), (1.81, NO)),
    "dart-f10-4": ends(_incast("long flow"), (1.009, YES), (0.991, YES), (1.011, SOME), (0.989, SOME), (1.052, SOME),
                       (1.054, NO), (0.954, SOME), (0.951, NO)),
    "dart-f15-1": ends(lambda count: both(rtts("dart", 1.5, "reached"), rtts("rcp", count, "reached")),
                       (30.1, YES), (119, YES), (29.9, SOME), (121, SOME), (10.1, SOME), (9.9, NO)),
    "dart-f15-2": ends(lambda count: rtts("dart", count), (1.99, YES), (2.01, NO)),
    "dart-x-8c": ends(_attacked, (0.981, YES), (0.979, NO)),
    "dart-r-1a": [(_readings(2.01e8, 1e8), YES), (_readings(1.99e8, 1e8), NO)],
    "dart-r-1b": ends(lambda factor: _gain(factor, "fresh"), (0.59, YES), (0.61, SOME), (0.94, SOME), (0.96, NO)),
    "dart-r-1c": [(_by_groups(0.5, 0.51, 0.52), YES), (_by_groups(0.51, 0.5, 0.52), NO),
                  (_by_groups(0.5, 0.52, 0.51), NO)],
    "dart-r-2a": [(_long_window(2.01, 2.01), YES), (_long_window(1.99, 3), NO), (_long_window(3, 1.99), NO)],
    "dart-r-2b": ends(_marks_with_long_window, (0.51, YES), (1.98, YES), (0.49, NO), (2.02, NO)),
    "dart-x-7a": [(put(name, 1, scheme="dart", changes="degree 6"), NO) for name in ("refused", "unfinished")],
    "dart-f14s-2": [(_degrees(0.8, 0.7, 0.6), YES), (_degrees(0.7, 0.8, 0.6), NO), (_degrees(0.8, 0.6, 0.7), NO)],
    "dart-f14s-3": [(_sizes(0.59, 0.5, 0.5), YES), (_sizes(0.5, 0.59, 0.5), YES), (_sizes(0.5, 0.5, 0.61), SOME),
                    (_sizes(0.5, 0.94, 0.5), SOME), (_sizes(0.96, 0.5, 0.5), NO)],
    "dart-x-3": [(_tokens(0.051, 0.02), YES), (_tokens(0.049, 0.02), NO), (_tokens(0.1, 0.049), YES),
                 (_tokens(0.1, 0.051), SOME), (_tokens(0.1, 0.11), NO), (_tokens(-0.01, -0.02), NO)],
    "dart-f14s-1": ends(_deflections, (0.249, YES), (0.251, SOME), (0.899, SOME), (0.901, NO)),
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
    "igbn-f2-1": ends(_at(GBN, _100, 1e-5), (0.981, YES), (0.979, NO)),
    "igbn-f2-2": ends(_at(GBN, _100, 1e-3), (0.36, YES), (0.54, YES), (0.34, SOME), (0.56, SOME), (0.11, SOME),
                      (0.89, SOME), (0.09, NO), (0.91, NO)),
    "igbn-f2-2a": ends(_at(GBN, _100, 1e-3), (0.431, YES), (0.489, YES), (0.429, NO), (0.491, NO)),
    "igbn-f2-3": ends(_at(GBN, _100, 1e-2), (0.011, YES), (0.039, YES), (0.009, NO), (0.041, NO)),
    "igbn-f6a-2": [*ends(lambda value: both(goodput(0.97, CE, _100, 1e-3), goodput(value, IGBN, _100, 1e-3)),
                         (0.961, YES), (0.989, YES), (0.959, NO), (0.991, NO)),
                   *ends(lambda value: both(goodput(0.97, IGBN, _100, 1e-3), goodput(value, CE, _100, 1e-3)),
                         (0.961, YES), (0.989, YES), (0.959, NO), (0.991, NO))],
    "igbn-f6a-3": ends(_at(IGBN, _100, 1e-2), (0.51, YES), (0.67, YES), (0.49, SOME), (0.69, SOME), (0.36, SOME),
                       (0.34, NO)),
    "igbn-f6a-4": ends(_at(GBN, _100, 1e-4), (0.61, YES), (0.79, YES), (0.59, SOME), (0.81, SOME), (0.94, SOME),
                       (0.96, NO)),
    "igbn-f6a-5": ends(lambda gain: _all_at(_100, 1e-3, 0.5, 0.5 + gain),
                       (0.001, YES), (0.149, YES), (-0.001, NO), (0.151, NO)),
    "igbn-f6a-6": ends(_duplicates_cost, (0.99, YES), (-0.99, YES), (1.01, NO), (-1.01, NO)),
    "igbn-f6b-1": ends(_at(IGBN, _10, 1e-2), (0.521, YES), (0.679, YES), (0.519, NO), (0.681, NO)),
    "igbn-f6b-2": [*ends(_check_between, (2.51, YES), (2.49, NO)),
                   *ends(lambda excess: _check_between(3, excess), (0.0009, YES), (0.0011, NO))],
    "igbn-f6c-1": ends(lambda gap: _all_at(_500, 5e-3, 0.9, 0.9, 0.9, 0.9 - gap), (0.059, YES), (0.061, NO)),
    "igbn-f6c-2": ends(lambda gain: _all_at(_500, 1e-2, 0.5, 0.5, 0.5 + gain / 2, 0.5 + gain / 2),
                       (0.051, YES), (0.199, YES), (0.049, SOME), (0.201, SOME), (0.021, SOME), (0.019, NO)),
    "igbn-f7a-1": ends(_at(GBN, _100, 1e-2), (0.039, YES), (0.041, NO)),
    "igbn-f7a-2": ends(_at(GBN, _10, 1e-2), (0.101, YES), (0.199, YES), (0.099, NO), (0.201, NO)),
    "igbn-f7a-3": [*ends(lambda value: both(goodput(0.4, GBN, _10, 5e-3), goodput(value, GBN, _10, 2e-3)),
                         (0.751, YES), (0.849, YES), (0.749, NO), (0.851, NO)),
                   *ends(lambda value: both(goodput(0.8, GBN, _10, 2e-3), goodput(value, GBN, _10, 5e-3)),
                         (0.499, YES), (0.501, NO))],
    "igbn-f7b-1": ends(lambda gap: both(*(goodput(0.9, IGBN, one, 1e-3) for one in (_100, _10)),
                                        goodput(0.9 - gap, IGBN, _500, 1e-3)), (0.079, YES), (0.081, NO)),
    "igbn-f7c-1": ends(lambda value: both(goodput(0.95, CE, _100, 1e-3), goodput(0.1, CE, _100, 1e-2),
                                          goodput(value, CE, _100, 2e-3)),
                       (0.581, YES), (0.779, YES), (0.579, SOME), (0.781, SOME), (0.96, NO), (0.09, NO)),
    "igbn-f7c-2": ends(_at(CE, _100, 1e-2), (0.121, YES), (0.249, YES), (0.119, SOME), (0.251, SOME), (0.399, SOME),
                       (0.401, NO)),
    "igbn-f7c-3": ends(lambda gap: both(goodput(0.5, CE, _10, 1e-2), goodput(0.5 + gap, CE, _500, 1e-2)),
                       (0.119, YES), (0.121, NO)),
    "igbn-f7d-1": [(_twice(0.039, 0.039), YES), (_twice(0.039, 0.041), SOME), (_twice(0.041, 0.039), NO)],
    "igbn-f7d-2": ends(_at(ST, _500, 1e-2), (0.501, YES), (0.499, NO)),
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
