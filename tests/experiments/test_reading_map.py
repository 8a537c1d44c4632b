"""The map of readings shows the claims that two readings judge differently, and no other."""

from __future__ import annotations

import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from rdmacc.experiments.framework.claim import Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, readings_of
from rdmacc.experiments.ledger import reading_map
from rdmacc.experiments.ledger.reading_map import draw_map, hanging, readings_judged
from rdmacc.experiments.ledger.score import by_reading


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_are_the_claims_whose_verdict_differs(paper):
    verdicts, every = hanging(paper), by_reading(paper)
    assert not verdicts.empty
    for id_, row in verdicts.iterrows():
        assert row.tolist() == every.loc[id_, verdicts.columns].tolist()
        assert len(set(row) - {"", Outcome.NOT_JUDGED.value}) > 1
    for _, row in readings_judged(paper).drop(index=verdicts.index).iterrows():
        assert len(set(row) - {"", Outcome.NOT_JUDGED.value}) <= 1


@pytest.mark.parametrize("paper", PAPERS)
def test_a_cell_for_each_verdict(paper):
    figure = draw_map(paper)
    (ax,) = figure.axes
    cells = [one for one in ax.patches if isinstance(one, Rectangle)]
    assert len(cells) == (hanging(paper) != "").to_numpy().sum()
    for id_, label in zip(hanging(paper).index, ax.get_yticklabels(), strict=True):
        assert label.get_text().endswith(id_)


def test_a_reading_that_only_leaves_claims_unjudged_decides_nothing(monkeypatch):
    ids = ["igbn-f6a-1", "igbn-f6a-2", "igbn-f6a-3"]
    frame = pd.DataFrame("", index=ids, columns=[DEFAULT, *(one.name for _, one in readings_of("igbn"))])
    frame[DEFAULT], frame["first packet"] = "holds", ["not judged", "does not hold", ""]
    monkeypatch.setattr(reading_map, "by_reading", lambda paper: frame)
    assert list(readings_judged("igbn").index) == ["igbn-f6a-1", "igbn-f6a-2"]
    assert list(hanging("igbn").index) == ["igbn-f6a-2"]
