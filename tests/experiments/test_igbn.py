"""Improved Go-Back-N's experiments: exact claims on both engines, figures of random loss from one small sweep."""

from dataclasses import asdict
from itertools import product

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.experiments import experiment, load_summary
from rdmacc.experiments.framework.claim import Outcome
from rdmacc.experiments.igbn.drawing import closed_form, computed_band
from rdmacc.experiments.igbn.fig03 import PUBLISHED, shares
from rdmacc.experiments.igbn.fig06 import Figure6
from rdmacc.experiments.igbn.ladders import arrows_of
from rdmacc.experiments.igbn.setup import (
    GOODPUT,
    VARIANTS,
    Setting,
    alone_ps,
    chain_of_messages,
    mean,
    of_reading,
    runs_of,
)
from rdmacc.protocols.go_back_n import TIMEOUT_REASONS
from rdmacc.sweep.fingerprint import identify
from rdmacc.sweep.tidy import tidy
from rdmacc.units import ms
from tests.experiments.quick import QuickTables

OF_THE_SWEEP = ["igbn.fig2", "igbn.fig3", "igbn.fig6", "igbn.fig7"]


def test_ladders_are_restored_from_the_table(engine):
    """A table keeps everything that a ladder needs: lost packets, retransmissions, replies."""
    table = QuickTables(engine)["igbn.fig4"]
    arrows = arrows_of(table, "twice, go-back-n")
    assert sorted(arrow.label for arrow in arrows if arrow.is_lost) == ["DATA 2", "DATA 2"]
    assert arrows[-1].label == "ACK 6"
    assert any(arrow.look == "again" for arrow in arrows)
    assert max(arrow.end_ps for arrow in arrows) > ms(100)


def test_shared_points_are_measured_alike():
    class Different(Figure6):
        def measure(self, point, result):
            return tidy(point.name, {"one": (1, "")})

    with pytest.raises(ConfigError, match=r"Different\.measure"):
        identify(Different(), {point.name: point for point in Different().points()})


@pytest.mark.parametrize("count", [1, 3])
def test_relative_throughput_is_1_without_loss(engine, count):
    net, scheme = rdmacc.topology.igbn_pair(), rdmacc.preset("igbn-2019")["go-back-n"]
    result = rdmacc.simulate(net, chain_of_messages(count), scheme, engine=engine, progress=False)
    ends = result.flows["start_ps"] + result.flows["fct_acked_ps"]
    assert ends.tolist() == [alone_ps(result) * (number + 1) for number in range(count)]


def made_up(goodputs, timeouts, **reasons):
    """Return a table of go-back-N's runs at 100 ms and a loss rate of 1%."""
    frames = []
    for run, (goodput, count) in enumerate(zip(goodputs, timeouts, strict=True)):
        counts = {name: reasons.get(name, 0) for name in TIMEOUT_REASONS}
        numbers = {GOODPUT: goodput, "messages": 10, "timeouts": count} | counts
        frames.append(tidy("p", {name: (value, "") for name, value in numbers.items()}).assign(run=run))
    labels = asdict(Setting("go-back-n", ms(100), 1e-2))
    return pd.concat(frames).assign(**labels)


def test_the_mean_is_over_times():
    """Half the messages at full speed, half at a quarter: 2.5 times as long overall."""
    runs = runs_of(made_up([1.0, 0.25], [0, 5]), "go-back-n", ms(100), 1e-2)
    assert mean(runs) == pytest.approx(0.4)
    assert runs_of(made_up([1.0], [0]), "go-back-n", ms(100), 1e-3).empty


@pytest.mark.parametrize("name", OF_THE_SWEEP)
def test_a_table_is_judged_under_either_timer(name):
    """One claim distinguishes them; the other timer has a fifth of the runs and leaves more undecided."""
    one, table = experiment(name), load_summary(name)
    assert one.readings_in(table) == ["first packet"]
    last, first = (one.check(table, "paper", reading).set_index("id") for reading in ("last packet", "first packet"))
    verdicts = pd.DataFrame({"last": last["verdict"], "first": first["verdict"]})
    differ = verdicts[verdicts["last"] != verdicts["first"]]
    assert (differ == Outcome.UNDECIDED).any(axis=1).all()
    refused = differ.index[(differ["first"] == Outcome.FAILS) & (differ["last"] != Outcome.FAILS)]
    assert list(refused) == {"igbn.fig6": ["igbn-f6c-2"]}.get(name, [])
    with pytest.raises(ConfigError, match="first packet"):
        one.check(table, "paper", "for all packets")
    assert one.plot(one.under(table, "first packet")).axes


def test_the_computed_band_holds_four_of_five_of_the_simulated_runs():
    table = of_reading(load_summary("igbn.fig6"))
    inside = []
    for variant in VARIANTS:
        for timeout_ps, loss in product((ms(100), ms(10)), (1e-3, 2e-3, 5e-3, 1e-2)):
            low, high = computed_band(variant, timeout_ps, [loss], 100)
            values = runs_of(table, variant, timeout_ps, loss)[GOODPUT]
            inside.append(values.between(float(low[0]) - 0.01, float(high[0]) + 0.01).mean())
    assert 0.7 < np.mean(inside) < 0.95  # counts are whole numbers: a little more than 80%
    none, some = (computed_band("go-back-n", ms(10), [loss], 100) for loss in (0.0, 1e-2))
    assert none.tolist() == [[1.0], [1.0]]
    assert 0 < some[0, 0] < closed_form("go-back-n", ms(10), [1e-2])[0] < some[1, 0] < 1


def test_shares_of_the_published_counts():
    """Figure 3's percentages are 32, 19, 4 and 1 of 56; its claims hold of them."""
    table = made_up([0.02], [sum(PUBLISHED.values())], **PUBLISHED)
    share = shares(table)
    assert np.round(100 * share[list(PUBLISHED)], 1).tolist() == [57.1, 33.9, 7.1, 1.8]
    checks = experiment("igbn.fig3").check(table, "paper").set_index("id")
    assert checks.loc[["igbn-f3-1", "igbn-f3-2"], "holds"].all()
    assert checks.loc["igbn-f3-3", "verdict"] == "does not hold"  # of 10 messages here


def test_the_closed_form_of_go_back_0():
    """Without loss nothing is wasted; 4096 packets in a row take ((1 - p)^-n - 1) / p packets."""
    free, often = closed_form("go-back-0", 1, [0.0, 5e-4])
    assert free == 1.0
    assert often == pytest.approx(4096 * 5e-4 / ((1 - 5e-4) ** -4096 - 1), rel=0.03)
