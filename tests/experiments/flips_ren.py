"""REN: changes of the stored tables that must change a judge's mind. See `tests.experiments.flips`."""

from __future__ import annotations

from tests.experiments.flips import Change, both, put, times

_OTHERS = ("phost", "homa", "ndp")

FLIPS: dict[str, list[Change]] = {
    # Leaf-spine networks: figures 14 to 19 and what belongs to them
    "ren-f17-1a": [times("AFCT, short", 0.5, scheme="ren")],
    "ren-x-1a": [put("unfinished", 1, scheme="ren"), put("unfinished", 0, scheme="ren-literal-unsafe")],
    "ren-x-1b": [times("AFCT", 1.08, scheme="ren-literal")],
    "ren-x-1c": [
        both(*(times(one, 1.5, scheme="traditional") for one in ("AFCT", "AFCT, short", "p99 FCT, short"))),
    ],
    "ren-x-4a": [both(*(times("AFCT", 0.3, scheme=one) for one in _OTHERS))],
}
