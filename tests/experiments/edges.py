"""Values inside and outside a band and beside each of its bounds, derived from the band's definition, not from `holds`.

All have the shape of a measured value. `edges` yields each with whether the band must hold there.
"""

import math
from functools import singledispatch

from rdmacc.experiments.framework.bands import SIGNS, All, AnyOf, At, Each, Lowest, Number, Ordered

STEP = 1e-6
"""Relative distance from a bound."""


@singledispatch
def inside(band, value):
    """Return a value for which the band holds."""


@singledispatch
def outside(band, value):
    """Return a value for which the band does not hold."""


@singledispatch
def edges(band, value):
    """Yield values beside each bound, and whether the band holds there."""


@inside.register
def _(band: Number, value):
    if band.holds(value):
        return float(value)
    low, high = (band.low, band.high)
    if math.isfinite(low) and math.isfinite(high):
        return (low + high) / 2
    bound = low if math.isfinite(low) else high
    return bound + (1 if math.isfinite(low) else -1) * (abs(bound) or 1.0) / 2


@outside.register
def _(band: Number, value):
    low, high = (band.low, band.high)
    return low - (abs(low) or 1.0) / 2 if math.isfinite(low) else high + (abs(high) or 1.0) / 2


@edges.register
def _(band: Number, value):
    for bound, inwards in zip((band.low, band.high), (1, -1)):
        if math.isfinite(bound):
            step = STEP * (abs(bound) or 1.0) * inwards
            yield bound, not band.is_open
            yield bound - step, False
            if band.holds(bound + step):
                yield bound + step, True


def just(band, value):
    """Return values of which just enough are inside the band."""
    least = band.least(value)
    return {
        name: (inside if place < least else outside)(band.band, one) for place, (name, one) in enumerate(value.items())
    }


@inside.register
def _(band: Each, value):
    return value if band.holds(value) else just(band, value)


@outside.register
def _(band: Each, value):
    return {name: outside(band.band, one) for name, one in value.items()}


@edges.register
def _(band: Each, value):
    base = just(band, value)
    for name in list(base)[: band.least(value)]:
        for one, holds in edges(band.band, base[name]):
            yield {**base, name: one}, holds


def ladder(band, value, by=0.5):
    """Return numbers in the band's order, each a factor away from the last."""
    return {name: (1 + by) ** (SIGNS[band.sign][0] * place) for place, name in enumerate(value)}


@inside.register
def _(band: Ordered, value):
    return value if band.holds(value) else ladder(band, value)


@outside.register
def _(band: Ordered, value):
    return dict(reversed(list(zip(reversed(list(value)), ladder(band, value, band.slack + 0.5).values()))))


@edges.register
def _(band: Ordered, value):
    way, is_strict, _ = SIGNS[band.sign]
    base, bound = ladder(band, value), 1 - way * band.slack
    ratios = [(bound + way * STEP, True), (bound - way * STEP, False)]
    ratios += [] if band.slack else [(bound, not is_strict)]
    for place, (before, name) in enumerate(zip(base, list(base)[1:]), 1):
        for ratio, holds in ratios:
            factor = base[before] * ratio / base[name]
            yield {one: v * (factor if at >= place else 1) for at, (one, v) in enumerate(base.items())}, holds


@inside.register
def _(band: Lowest, value):
    best = 1.0 if band.way > 0 else 2.0
    return value if band.holds(value) else {name: best if name == band.name else 3.0 - best for name in value}


@outside.register
def _(band: Lowest, value):
    worst = 2.0 * (1 + band.slack) if band.way > 0 else 1.0 / (1 + band.slack)
    return {name: worst if name == band.name else 1.5 for name in value}


@edges.register
def _(band: Lowest, value):
    bound = 1 + band.way * band.slack
    size = max(map(abs, value.values())) or 1.0  # where other bands of the same numbers may hold
    for rival in (name for name in value if name != band.name):
        far = dict.fromkeys(value, size * (1.0 + band.way * 0.5)) | {rival: size}
        yield {**far, band.name: size * (bound - band.way * STEP)}, True
        yield {**far, band.name: size * (bound + band.way * STEP)}, False


@inside.register
def _(band: At, value):
    return {**value, band.name: inside(band.band, value[band.name])}


@outside.register
def _(band: At, value):
    return {**value, band.name: outside(band.band, value[band.name])}


@edges.register
def _(band: At, value):
    for one, holds in edges(band.band, value[band.name]):
        yield {**value, band.name: one}, holds


@inside.register
def _(band: All, value):
    for _ in band.parts:
        for part in band.parts:
            value = value if part.holds(value) else inside(part, value)
    return value


@outside.register
def _(band: All, value):
    return outside(band.parts[0], value)


@inside.register
def _(band: AnyOf, value):
    return value if band.holds(value) else inside(band.parts[0], value)


@outside.register
def _(band: AnyOf, value):
    for _ in band.parts:
        for part in band.parts:
            value = outside(part, value) if part.holds(value) else value
    return value


@edges.register
def _(band: All, value):
    """Where one part decides: the others hold in `All` and do not in `AnyOf`."""
    is_all = not isinstance(band, AnyOf)
    base = inside(band, value) if is_all else outside(band, value)
    for part in band.parts:
        others = [one for one in band.parts if one is not part]
        for found, holds in edges(part, base):
            if all(one.holds(found) == is_all for one in others):
                yield found, holds
