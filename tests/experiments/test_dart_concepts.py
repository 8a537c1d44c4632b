"""Dart's figures 2 to 5: their claims on the engine, their tables, and the pieces that they are made of."""

from __future__ import annotations

import pickle

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest

from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, SCALES, experiment
from rdmacc.experiments.dart.fig04 import EXPECTED_STEPS, expire, walk
from rdmacc.experiments.dart.fig05 import EXPECTED, INPUTS, STATES, transition
from rdmacc.experiments.dart.receiver import DasrReceiver
from rdmacc.experiments.dart.setup import WIRE_BYTES, fat_tree, other_pods, ports_towards
from rdmacc.experiments.framework.claim import CHECK_COLUMNS
from rdmacc.experiments.framework.trace import first_within, settled, shown, time_in, value_at, worst_between
from rdmacc.schemes import as_scheme
from rdmacc.sweep.tidy import TABLE_COLUMNS, curve, scalar, scalars
from rdmacc.units import s, us
from tests.experiments.quick import QuickTables

NAMES = ["dart.fig2", "dart.fig3", "dart.fig4", "dart.fig5"]
PUBLISHED = {
    "dart.fig2": ["dart-f2-1", "dart-f2-2"],
    "dart.fig3": ["dart-f3-1", "dart-f3-2", "dart-f3-3"],
    "dart.fig4": ["dart-f4-1", "dart-f4-2"],
    "dart.fig5": ["dart-f5-1", "dart-f5-2", "dart-f5-3", "dart-f5-4"],
}
"""Claims of the paper; the experiments may add checks of their own."""


@pytest.fixture(scope="module")
def tables(engine):
    """Return each experiment's table, run once."""
    return QuickTables(engine)


def test_the_registry_has_them_in_order():
    assert [name for name in EXPERIMENTS if name in NAMES] == NAMES
    with pytest.raises(ConfigError, match=r"experiment = 'dart\.fig99'"):
        experiment("dart.fig99")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_published_claim_holds(tables, name):
    checks = experiment(name).check(tables[name]).set_index("id")
    assert set(PUBLISHED[name]) <= set(checks.index)
    failed = checks.loc[PUBLISHED[name]].query("not holds")
    assert failed.empty, failed["measured"].to_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tables_are_tidy_and_checks_say_what_was_measured(tables, name):
    table = tables[name]
    assert tuple(table.columns[: len(TABLE_COLUMNS)]) == TABLE_COLUMNS
    numbers = scalars(table)
    assert not numbers.duplicated(["point", "quantity"]).any()
    checks = experiment(name).check(table)
    assert tuple(checks.columns) == CHECK_COLUMNS
    assert (checks["measured"].str.len() > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_figure_is_drawn_from_the_table_alone(tables, name, tmp_path):
    figure = experiment(name).plot(tables[name])
    figure.savefig(tmp_path / "figure.png")
    assert all(ax.lines or ax.texts for ax in figure.axes)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", SCALES)
def test_points_have_names_of_their_own(name, scale):
    points = experiment(name).points(scale)
    assert len({point.name for point in points}) == len(points)
    assert all(as_scheme(point.scenario.scheme).name.startswith("dasr") for point in points if point.scenario)
    assert len(pickle.dumps(points)) < 100_000


def test_an_unknown_scale_is_named():
    with pytest.raises(ConfigError, match="scale = 'huge'"):
        experiment("dart.fig2").points("huge")


def test_the_seed_reaches_every_point():
    assert {point.scenario.seed for point in experiment("dart.fig3").points(seed=7)} == {7}


# Figure 2


def test_both_flows_settle_within_one_rtt_at_other_seeds(engine):
    """Wherever ECMP makes the two paths meet, the receiver's shares are right."""
    figure = experiment("dart.fig2")
    for seed in (1, 2):
        table = figure.run(seed=seed, engine=engine)
        assert figure.check(table)["holds"].all()


def test_n_and_queue_follow_the_flows(tables):
    table = tables["dart.fig2"]
    assert sorted(curve(table, "long", "n").unique()) == [0, 1, 2]
    queue = curve(table, "long", "queue")
    arrival = scalar(table, "long", "arrival of S2")
    assert queue[queue.index < arrival - us(40)].max() <= WIRE_BYTES
    assert 0 < queue.iloc[-1] < 100_000
    assert scalar(table, "long", "CNPs") == 0


# Figure 3


def test_look_ahead_counts_all_senders_at_once(tables):
    table = tables["dart.fig3"]
    n = curve(table, "k=16 8kB dasr", "n")
    assert n.tolist()[:3] == [0, 1, 17]
    slower = curve(table, "k=16 8kB dasr-no-look-ahead", "n")
    assert slower.tolist()[:5] == [0, 1, 2, 3, 4]


# Figure 4


def test_the_handlers_count_as_the_state_diagram():
    assert walk() == list(EXPECTED_STEPS)


def test_an_idle_sender_leaves_after_two_seconds_to_the_picosecond():
    assert expire() == {"removed_after_ps": s(2), "n_before": 1, "n_after": 0, "n_resumed": 1}


def test_retransmitted_packets_do_not_count_a_sender_twice():
    receiver = DasrReceiver()
    message = receiver.message("S", packets=5)
    receiver.receive(message)
    message.message.received_packets = 0  # the first packet again
    receiver.receive(message)
    assert receiver.n == 1
    assert message.sender.open_messages == 1


def test_a_message_of_one_packet_is_counted_in_its_own_ack():
    receiver = DasrReceiver()
    receiver.receive(receiver.message("T"))
    _, ack = receiver.receive(receiver.message("S", packets=1))
    assert ack.auss_n == 2
    assert ack.share == 0.5
    assert receiver.n == 1


def test_look_ahead_binds_arrivals_to_what_was_announced():
    receiver = DasrReceiver()
    first, second = (receiver.message(name, packets=3, group=0) for name in ("S", "T"))
    receiver.receive(first)
    assert receiver.n == 2
    receiver.receive(second)
    assert receiver.n == 2


# Figure 5


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("seen", INPUTS)
def test_the_transition_table(state, seen):
    came = transition(state, seen)
    assert came["state"] == EXPECTED[seen]
    assert came["share"] == (1.0 if seen == "marks, half rate" else 0.5)
    assert came["passed"] == (seen == "marks, half rate")


# Networks and traces


def test_senders_sit_six_hops_away_and_ports_lead_to_the_receiver():
    graph = fat_tree(4)()
    assert other_pods(graph) == [f"h{i}" for i in range(4, 16)]
    ports = ports_towards(graph, "h0")
    assert ("tor0", "h0") in ports
    assert {("agg0", "tor0"), ("agg1", "tor0"), ("core0", "agg0"), ("core3", "agg1")} <= set(ports)
    assert len(ports) == 1 + 2 + 4 + 2  # the last two from the pod's other ToR


def test_traces_hold_their_value_until_the_next():
    trace = pd.Series([10.0, 5.0, 10.0], index=pd.Index([0, 100, 200], name="time_ps"))
    assert [value_at(trace, time) for time in (-1, 0, 99, 100, 500)] == [0, 10, 10, 5, 10]
    assert first_within(trace, 50, 5.0, 0.1) == 100
    assert first_within(trace, 120, 5.0, 0.1) == 120
    assert np.isnan(first_within(trace, 201, 5.0, 0.1))
    assert settled(trace, 50, 10.0, 0.1) == 200
    assert settled(trace, 300, 10.0, 0.1) == 300
    assert np.isnan(settled(trace, 0, 5.0, 0.1))
    assert worst_between(trace, 0, 150, 10.0) == 5
    assert worst_between(trace, 200, 300, 10.0) == 10
    assert np.isnan(worst_between(trace, float("nan"), 300, 10.0))
    assert time_in(trace, 10.0, 50, 250) == 100
    assert shown(trace, 50, 250).to_dict() == {50: 10, 100: 5, 200: 10, 250: 10}


def test_a_number_that_is_not_there_is_named(tables):
    with pytest.raises(ConfigError, match="quantity"):
        scalar(tables["dart.fig2"], "long", "luck")
