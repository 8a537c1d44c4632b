"""Published values in figures and bands, compared with the papers' texts."""

import pytest

from rdmacc.experiments.dart import fig01, fig11, fig12, fig13, fig14, fig15, testbed
from rdmacc.experiments.igbn import fig03 as reasons
from rdmacc.experiments.igbn import fig07 as timeouts
from rdmacc.experiments.rcc import fig05 as sharing
from rdmacc.experiments.rcc import fig06 as incast
from rdmacc.experiments.rcc import fig07 as queue
from rdmacc.experiments.rcc import fig08 as two_links
from rdmacc.experiments.rcc import fig09 as fct
from rdmacc.experiments.rcc import fig13 as parts
from rdmacc.experiments.rcc.fat_tree import DCQCN
from rdmacc.experiments.ren import fig14 as breakdown
from rdmacc.experiments.ren import fig15 as tails
from rdmacc.experiments.ren import fig16, fig18, fig19


def less(**percents):
    """Return what remains after reductions in percent."""
    return {name: pytest.approx(1 - percent / 100) for name, percent in percents.items()}


def test_dart():
    """Xue et al. 2020: II-B; VI-B, VI-C, VI-D; V-B."""
    assert fig01.QUOTED == {"RCP": 60, "TIMELY": 50, "NUMFabric": 31, "EyeQ": (25 + 30) / 2}
    tails_of = fig11.PUBLISHED_TAIL
    shown = {"at_20": tails_of["typical", 0.2], "at_40": tails_of["typical", 0.4], "at_60": tails_of["typical", 0.6]}
    assert shown == less(at_20=84, at_40=79, at_60=93)
    assert {tails_of["light", load] for load in (0.2, 0.4, 0.6, 0.8)} == {1.0}  # "comparable"
    assert [tails_of["heavy", load] for load in (0.2, 0.4)] == pytest.approx(2 * [1 - (77 + 83) / 200])
    medians = {mix: value for (mix, _), value in fig12.PUBLISHED_MEDIAN.items()}
    assert medians == less(typical=30, light=36, heavy=29)
    assert {mix: value for (mix, _), value in fig13.PUBLISHED_GOODPUT.items()} == {"typical": 1.48, "heavy": 2.73}
    at_20, at_60 = (
        {scheme: value for (scheme, load), value in fig14.PUBLISHED_RATIOS.items() if load == one} for one in (0.2, 0.6)
    )
    assert at_20 == less(dart=84, dasr=79, iofd=31, **{"pri-q": 0})
    assert at_60 == less(dart=93, dasr=77, iofd=79)
    assert fig15.EXPRESSPASS_RTTS == (4, 20)
    assert testbed.PUBLISHED_US == {0.9: 28, 0.99: 41, 0.999: 44}


def test_igbn():
    """Wang et al. 2019: II-B."""
    assert list(reasons.PUBLISHED.values()) == [32, 19, 4, 1]
    shown = {(ms, loss, value) for lines in timeouts.PUBLISHED.values() for ms in lines for loss, value in lines[ms]}
    wanted = {(100, 1e-2, 0.0), (10, 1e-2, 0.132), (100, 1e-2, 0.64), (10, 1e-2, 0.6), (100, 2e-3, 0.68)}
    assert {(ms // 10**9, loss, value) for ms, loss, value in shown} == wanted | {(100, 1e-2, 0.176), (10, 1e-2, 0.0)}


def test_rcc():
    """Zhang et al. 2021: V-B to V-E."""
    assert sharing.PUBLISHED_BPS == 0.95 * 100e9
    assert incast.PUBLISHED_GBPS == 94.98
    assert queue.PUBLISHED_BYTES == 900_000
    assert two_links.PUBLISHED_BPS == 12e9
    order = ("hpcc", "homa", "expresspass", DCQCN, "timely")
    assert {
        "web_search": {one: (percent / 100,) for one, percent in zip(order, (9, 11, 11, 30, 45))},
        "data_mining": {one: (percent / 100,) for one, percent in zip(order, (7, 4, 15, 18, 19))},
        "web_server": {"hpcc": (0.05, 0.11)},
        "cache_follower": {"hpcc": (0.14,)},
    } == fct.PUBLISHED
    assert parts.PUBLISHED == {"rcc-pid": (0.28,), "rcc-ewa": (0.19,)}


def test_ren():
    """Li et al. 2021: 5.2, 6.1 and 6.2, over DCTCP, pHost, Homa, NDP, ExpressPass and Aeolus in this order."""
    order = ("dctcp", "phost", "homa", "ndp", "expresspass", "aeolus")

    def over(*percents):
        return dict(zip(order, (percent / 100 for percent in percents), strict=True))

    assert {
        "data_mining": (11054, over(9, 51, 39, 4, 6, 21)), "cache_follower": (1809, over(50, 35, 29, 14, 18, 20)),
    } == breakdown.PUBLISHED  # fmt: skip
    assert {"p99 FCT, short": over(73, 68, 52, 33, 56, 28)} == tails.PUBLISHED
    assert {"AFCT": over(6, 41, 22, 2, 8, 11)} == fig16.PUBLISHED
    assert {"AFCT": over(36, 43, 30, 9, 17, 21)} == fig18.PUBLISHED
    assert over(18, 33, 26, 4, 13, 17) == fig19.PUBLISHED
