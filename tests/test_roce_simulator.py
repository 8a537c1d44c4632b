"""The preset `roce-htsim` against an event model of csg-htsim's rules.

The model follows roce.cpp, queue_lossless_input.cpp and queue_lossless_output.cpp on a star event by event, and shares
no code with rdmacc; the completion times below are its own. It counts a packet until it has been sent, and its PAUSE
takes the link's delay and nothing else; here a packet counts until it begins to be sent, and PAUSE waits for the packet
on its link.
"""

from __future__ import annotations

import numpy as np
import pytest

import rdmacc
from rdmacc.experiments.validation.htsim import NETWORKS, TWO, _flows

TWO_PS = {9000: [2_026_310_400, 2_955_973_760], 1500: [2_089_719_680, 3_132_260_480]}
EIGHT_PS = {
    9000: [615_286_400, 621_812_480, 627_613_440, 633_414_400, 639_215_360, 645_016_320, 650_092_160, 654_442_880],
    1500: [670_774_720, 671_024_960, 671_150_080, 671_275_200, 671_400_320, 671_525_440, 671_650_560, 671_775_680],
}
THIRTY_TWO_PS = {
    9000: [467_905_760, 496_004_160, 518_120_320, 538_423_680],
    1500: [452_096_240, 482_156_320, 511_559_520, 540_649_920],
}
"""Lower quartile, median, upper quartile and last of 32 x 200 kB."""
PAUSES = {(9000, TWO): 213, (9000, "8 x 1 MB"): 96, (1500, "8 x 1 MB"): 176}


def run(mtu, case, engine):
    scheme = rdmacc.preset("roce-htsim")[f"roce-{mtu}"]
    return rdmacc.simulate(NETWORKS["star"](), _flows(case), scheme, engine=engine, progress=False)


def sorted_ps(result):
    return np.sort(result.flows["fct_acked_ps"].to_numpy(np.int64))


def test_two_flows():
    """Exact with packets of 9,000 B; with 1,500 B the link is idle for 0.6 us more once one flow is left."""
    exact = run(9000, TWO, "compiled")
    assert sorted_ps(exact).tolist() == TWO_PS[9000]
    assert exact.counters.pfc_pauses == PAUSES[9000, TWO]
    np.testing.assert_allclose(sorted_ps(run(1500, TWO, "compiled")), TWO_PS[1500], rtol=3e-4)


@pytest.mark.parametrize("mtu", [9000, 1500])
def test_eight_flows_end_together_and_no_one_is_far_off(engine, mtu):
    result = run(mtu, "8 x 1 MB", engine)
    found = sorted_ps(result)
    assert found[-1] == EIGHT_PS[mtu][-1]
    np.testing.assert_allclose(found, EIGHT_PS[mtu], rtol=0.012)
    assert result.counters.pfc_pauses == pytest.approx(PAUSES[mtu, "8 x 1 MB"], rel=0.05)
    assert result.counters.pfc_violations == result.counters.retransmissions == 0


@pytest.mark.parametrize("mtu", [9000, 1500])
def test_thirty_two_flows(engine, mtu):
    found = sorted_ps(run(mtu, "32 x 200 kB", engine))
    assert found[-1] == THIRTY_TWO_PS[mtu][-1]
    np.testing.assert_allclose(np.percentile(found, [25, 50, 75]), THIRTY_TWO_PS[mtu][:-1], rtol=0.03)
