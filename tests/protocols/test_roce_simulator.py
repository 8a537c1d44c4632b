"""The preset `roce-htsim` against csg-htsim's own results."""

import pytest

from rdmacc.experiments import experiment
from rdmacc.experiments.validation.references import is_exact, theirs


@pytest.mark.parametrize("case", ["8 x 1 MB", "32 x 200 kB", "32 x 1 MB"])
def test_incasts_on_a_star_end_at_the_same_time(case):
    name = f"roce-9000, star, {case}"
    rows = theirs("htsim")
    point = next(one for one in experiment("validation.htsim").points() if one.name == name)
    result = point.scenario.run()
    last_ps = result.flows["fct_acked_ps"].nlargest(1).reset_index(drop=True)
    wanted_ps = rows.loc[rows["point"] == name, "fct_ps"].nlargest(1).reset_index(drop=True)
    assert is_exact(last_ps, wanted_ps, "htsim").all()
    assert result.counters.pfc_violations == result.counters.retransmissions == 0
    assert result.counters.pfc_pauses > 0
