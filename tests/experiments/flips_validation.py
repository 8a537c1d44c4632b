"""Validations and micro-benchmarks: changes of their tables that must change a judge's mind, at either scale.

See `tests.experiments.flips`.
"""

from __future__ import annotations

import pandas as pd

from rdmacc.experiments import Experiment, Outcome
from rdmacc.experiments.validation.flows import EACH
from rdmacc.experiments.validation.references import theirs
from tests.experiments.flips import Change, both, put, times


def _all_of(point: str, name: str, numbers: range, factor: float) -> Change:
    return both(*[times(f"{name} {i}", factor, point=point) for i in numbers])


def _as_there(name: str) -> Change:
    """Return a change that puts the other simulator's times in the place of ours."""

    def change(table: pd.DataFrame) -> pd.DataFrame:
        times_ps = theirs(name).set_index(["point", "flow"])["fct_ps"]
        there = times_ps.reindex(pd.MultiIndex.from_frame(table[["point", "flow"]])).to_numpy()
        return table.assign(value=table["value"].mask((table["quantity"] == EACH) & ~pd.isna(there), there))

    return change


def _lost_or_unfinished(**where: object) -> list[Change]:
    return [put("drops", 1.0, **where), put("unfinished", 1.0)]


FLIPS: dict[str, list[Change]] = {
    "validation-hpcc-1a": _lost_or_unfinished(),
    "validation-hpcc-2a": [
        times(EACH, 0.999, point="timely, 8 x 200 kB"),
        put(EACH, 138_493_000.0, point="timely, 8 x 200 kB", flow=0.0),
        put(EACH, 676_093_000.0, point="timely, 8 x 1 MB", flow=0.0),
    ],
    "validation-hpcc-3a": [
        times(EACH, 1 + 1e-6, point=point) for point in ("hpcc, 8 x 1 MB", "dctcp, 32 x 1 MB", "timely, permutation")
    ],
    "validation-hpcc-3b": [_as_there("hpcc_ns3")],
    "validation-hpcc-3c": [times(EACH, factor, point="hpcc, 8 x 10 MB") for factor in (0.94, 1.06)],
    "validation-yaps-1a": [put("unfinished", 1.0)],
    "validation-yaps-3a": [times(EACH, 0.93), times(EACH, 1.07)],
    "validation-yaps-2a": [times(EACH, 1.0001), times(EACH, 0.9999)],
    "validation-htsim-1a": [put("unfinished", 1.0, scheme="ndp-4000")],
    "validation-htsim-2a": [
        times("last FCT", factor, scheme=scheme, network="star", case="8 x 1 MB")
        for factor in (0.97, 1.05)
        for scheme in ("ndp-9000", "ndp-1500")
    ],
    "validation-htsim-3a": [
        put("drops", 1.0, scheme="roce-9000"),
        put("retransmissions", 1.0, scheme="roce-1500"),
        put("PFC pauses", 0.0),
    ],
    "validation-htsim-3b": [
        times("last FCT", factor, scheme="roce-1500", network="star", case="8 x 1 MB") for factor in (0.9999, 1.0001)
    ],
    "validation-htsim-4a": [times(EACH, factor, point="ndp-9000, star, 8 x 1 MB") for factor in (0.94, 1.06)],
    "validation-htsim-4b": [times(EACH, factor, point="roce-9000, star, 8 x 1 MB") for factor in (0.94, 1.06)],
    "validation-htsim-4c": [_as_there("htsim")],
    "validation-expresspass-3a": [_all_of("8 x 1 MB, 10G, w 1/16", "FCT of flow", range(8), 0.9)],
    "validation-expresspass-1a": [put("data packets sent again", 1.0)],
    "validation-expresspass-2a": [put("RTTs to converge", 2.0), put("RTTs to converge", 8.0)],
    "validation-expresspass-2b": [put("RTTs to converge", 10.0), put("RTTs to converge", 40.0)],
    "validation-homa-1a": _lost_or_unfinished(case="8 x 1 MB"),
    "validation-homa-3a": [_all_of("8 x 1 MB, 10G", "FCT of flow", range(8), 1.0001)],
    "validation-homa-3b": [_all_of("W5, 50%, run 0", "FCT of flow", range(673), 1.06)],
    "validation-homa-2a": [
        _all_of("8 x 200 kB, 10G", "FCT of flow", range(8), 0.9999),
        put("FCT of flow 0", 1_317_870_000.0, point="8 x 200 kB, 10G"),
        put("FCT of flow 0", 6_582_542_000.0, point="8 x 1 MB, 10G"),
    ],
    "micro-receivers-1a": [put("unfinished", 1.0, scheme="phost")],
    "micro-receivers-2a": [
        times("goodput", factor, scheme="ndp", case=case)
        for factor in (0.5, 2.0)
        for case in ("web search, 50%", "web search, 80%")
    ],
    "micro-receivers-3a": [times("goodput", factor, scheme="homa", case="incast") for factor in (0.7, 1.2)],
    "micro-senders-1a": [put("drops", 1.0, scheme="dcqcn")],
}


def check_judges(chosen: Experiment, table: pd.DataFrame, scale: str = "quick") -> None:
    """Fail if a judge of an experiment takes one of the changed tables as it takes the table itself."""
    for claim in chosen.claims:
        expected = claim.expected if isinstance(claim.expected, Outcome) else claim.expected[scale]
        if expected == Outcome.NOT_JUDGED:
            continue
        outcome = claim.verdict(table).outcome
        for number, change in enumerate(FLIPS[claim.id]):
            changed = claim.verdict(change(table)).outcome
            is_flipped = (changed == Outcome.HOLDS) != (outcome == Outcome.HOLDS)
            assert is_flipped, (claim.id, number, outcome, changed)
