"""Water-filling: conservation, max-min fairness, and the distance of packets from it.

The fair share of a receiver's link: by hand, and against a simulation.

DASR, HPCC, ideal times and go-back-N: by hand, and DASR's fluid models against packets.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology
from rdmacc.engine.plan import make_plan
from rdmacc.experiments.micro import max_min as max_min_experiment
from rdmacc.models.comparison import compare
from rdmacc.models.dasr import DasrConvergence, DasrIncast, sender_counts
from rdmacc.models.fair_share import FairShare
from rdmacc.models.filling import run
from rdmacc.models.go_back_n import GoBackNGoodput
from rdmacc.models.hpcc import HpccSteady
from rdmacc.models.ideal import ProcessorSharing, wire_bytes
from rdmacc.models.max_min import MaxMin, error_on_record, errors_on_record, paths_in_numbers
from rdmacc.schemes import scheme
from tests.support import refused


@st.composite
def networks_of_links(draw):
    n = draw(st.integers(1, 6))
    capacity = draw(st.lists(st.floats(0.1, 100.0), min_size=n, max_size=n))
    links = st.lists(st.integers(0, n - 1), min_size=1, max_size=n, unique=True)
    return draw(st.lists(links, min_size=1, max_size=12)), np.array(capacity)


def filled(use, capacity):
    """Return max-min fair rates, given the flows' use of each link (rows): all rise until a link of theirs is full."""
    rates, is_rising = np.zeros(len(use)), np.ones(len(use), bool)
    while is_rising.any():
        load, left = use[is_rising].sum(axis=0), np.clip(capacity - rates @ use, 0.0, None)
        level = np.divide(left, load, out=np.full(len(load), np.inf), where=load > 1e-9)
        stops = is_rising & (use[:, level <= level.min() * (1 + 1e-12)] > 0).any(axis=1)
        rates[stops] = level.min()
        is_rising &= ~stops
    return rates


def ends_by_filling(volume, ready, waits, latency, next_first, nexts, use, capacity):
    """Return when each flow's last byte leaves, recomputing all rates at every event."""
    left, begin, waiting, end, now = volume.copy(), ready.copy(), waits.copy(), np.zeros(len(volume)), 0.0
    starts, active = set(np.flatnonzero(waits == 0).tolist()), []
    while starts or active:
        rates = filled(use[active], capacity)
        then = min([*(now + left[active] / rates), *(begin[f] for f in starts)])
        left[active] -= (then - now) * rates
        for f in [one for one in active if left[one] <= 1e-9 * volume[one]]:
            active.remove(f)
            end[f] = then
            for follower in nexts[next_first[f] : next_first[f + 1]].tolist():
                waiting[follower] -= 1
                begin[follower] = max(begin[follower], then + latency[f])
                starts |= {follower} if waiting[follower] == 0 else set()
        active += [f for f in starts if begin[f] <= then]
        starts, now = {f for f in starts if begin[f] > then}, then
    return end


def rates_of(paths, capacity, use=None):
    """Return the model's rates for flows of equal volume, derived from the first end."""
    n, links = len(paths), np.concatenate([np.asarray(path, np.int64) for path in paths])
    first = np.concatenate(([0], np.cumsum([len(path) for path in paths])))
    shares = np.ones(len(links)) if use is None else np.concatenate(use)
    rates = []
    for f in range(n):  # only f is short: it ends after its volume over its rate
        volume = np.full(n, 1e18)
        volume[f] = 1e6
        none, zeros = np.zeros(n, np.int64), np.zeros(n)
        given = volume, zeros, none, zeros, np.zeros(n + 1, np.int64), none[:0], zeros[:0], first, links, shares
        rates.append(1e6 / run(*given, np.asarray(capacity, float), np.arange(n), 1e-9)[1][f])
    return np.array(rates)


@pytest.mark.slow
@given(networks_of_links())
def test_conservation_and_fairness(case):
    paths, capacity = case
    rates = rates_of(paths, capacity)
    use = np.array([[float(link in path) for link in range(len(capacity))] for path in paths])
    assert rates == pytest.approx(filled(use, capacity), rel=1e-6)
    load = np.zeros(len(capacity))
    for path, rate in zip(paths, rates):
        load[path] += rate
    assert (rates > 0).all()
    assert (load <= capacity * (1 + 1e-9)).all()
    for path, rate in zip(paths, rates):
        # Its bottleneck is full, and no other flow on it has more.
        assert any(
            load[link] >= capacity[link] * (1 - 1e-9)
            and all(other <= rate * (1 + 1e-9) for p, other in zip(paths, rates) if link in p)
            for link in path
        )


def test_fractional_use():
    """A flow's ACKs take a tenth of the other's link: x + y/10 = 1 both ways."""
    rates = rates_of([[0, 1], [1, 0]], [1.0, 1.0], use=[[1.0, 0.1], [1.0, 0.1]])
    assert rates == pytest.approx([1 / 1.1, 1 / 1.1])


@pytest.mark.slow
def test_incrementally_updated_rates_equal_water_filling():
    """Flows that come, go and wait on links of two rates: both algorithms give the same ends."""
    rng = np.random.default_rng(2)
    for _ in range(60):
        n, n_links = int(rng.integers(2, 60)), int(rng.integers(2, 12))
        paths = [rng.choice(n_links, int(rng.integers(1, min(n_links, 4) + 1)), replace=False) for _ in range(n)]
        first = np.concatenate(([0], np.cumsum([len(path) for path in paths])))
        links = np.concatenate(paths).astype(np.int64)
        use = np.where(rng.random(len(links)) < 0.3, 0.06, 1.0)
        use[first[:-1]] = 1.0
        volume, ready = rng.uniform(1e3, 1e6, n), rng.uniform(0, 2e8, n).round()
        waits, nexts = np.zeros(n, np.int64), [[] for _ in range(n)]
        for flow in np.flatnonzero(rng.random(n) < 0.3):
            if flow:
                nexts[int(rng.integers(flow))].append(flow)
                waits[flow] += 1
        next_first = np.concatenate(([0], np.cumsum([len(rows) for rows in nexts])))
        rows = np.array([row for part in nexts for row in part], dtype=np.int64)
        given = volume, ready, waits, np.full(n, 1e6), next_first, rows, np.zeros(len(rows)), first, links, use
        capacity = rng.choice([0.0125, 0.0125, 0.05], n_links)
        of_links = np.zeros((n, n_links))
        of_links[np.repeat(np.arange(n), np.diff(first)), links] = use
        anew = ends_by_filling(*given[:6], of_links, capacity)
        assert run(*given, capacity, np.arange(n), 1e-9)[1] == pytest.approx(anew, rel=1e-6)


def test_a_message_alone_takes_its_ideal_time():
    net = rdmacc.leaf_spine(2, 2, 2)
    work = rdmacc.messages([("h0", "h3", size, f"{i}ms") for i, size in enumerate((1, 999, 100_001, 5_000_000))])
    table = MaxMin(network=net, workload=work, has_acks=False).solve()
    assert table["slowdown"].to_numpy() == pytest.approx(1.0, abs=1e-9)


def test_messages_of_a_queue_pair_go_one_after_another():
    """As packets do; on separate queue pairs, both would end last."""
    net, size = rdmacc.star(2), 1_000_000
    work = rdmacc.messages([("h0", "h1", size)] * 3).assign(queue_pair=[7, 7, 7])
    table = MaxMin(network=net, workload=work, scheme="line-rate", has_acks=False).solve()
    wire_ps = 1000 * 1048 * 80
    assert np.diff(table["fct_ps"]).tolist() == pytest.approx([wire_ps, wire_ps])
    packets = rdmacc.simulate(net, work, "line-rate", progress=False).flows["fct_ps"]
    assert table["fct_ps"].tolist() == pytest.approx(packets.tolist(), rel=1e-3)


def test_shares_are_in_proportion_to_weights():
    """The message of weight 3 has 3/4 of the link until it ends; then the other has a third of itself behind it."""
    work = rdmacc.incast(["h1", "h2"], "h0", "1MB").assign(weight=[3.0, 1.0])
    table = MaxMin(network=rdmacc.star(3), workload=work, scheme="line-rate", has_acks=False).solve()
    wire_ps = 1000 * 1048 * 80
    latency_ps = table["ideal_fct_ps"] - wire_ps
    assert (table["fct_ps"] - latency_ps).tolist() == pytest.approx([wire_ps * 4 / 3, wire_ps * 2])


@pytest.mark.parametrize("is_reply", [False, True])
def test_paths_match_those_of_packets(is_reply):
    net = rdmacc.leaf_spine(4, 4, 2)
    work = rdmacc.random_pairs(topology.hosts(net), 40, "1kB", seed=5)
    result = rdmacc.simulate(net, work, "line-rate", seed=9)
    plan = make_plan(net, work, scheme("line-rate"), seed=9)
    counted = np.bincount(paths_in_numbers(plan, is_reply=is_reply)[1], minlength=plan.fabric.n_ports)
    column = "tx_control_packets" if is_reply else "tx_data_packets"
    assert counted.tolist() == result.ports[column].tolist()


def test_one_link_under_poisson_arrivals_is_processor_sharing():
    rng, load, count, size = np.random.default_rng(3), 0.5, 20_000, 50_000
    mean_ps = 52_400 * 80 / load
    starts = np.cumsum(rng.exponential(mean_ps, count)).astype(np.int64)
    sources = [f"h{i}" for i in rng.integers(1, 40, count)]
    work = rdmacc.messages(pd.DataFrame({"src": sources, "dst": "h0", "size": size, "start_ps": starts}))
    # Sources are faster than the receiver's link, so only that link is shared.
    net = rdmacc.star(1)
    for i in range(1, 40):
        topology.add_host(net, f"h{i}")
        topology.add_link(net, f"h{i}", "s0", "8Tbps", "1us")
    net.nodes["s0"]["buffer_bytes"] = 10**11
    got = MaxMin(network=net, workload=work, has_acks=False).solve()
    latency = int(got["ideal_fct_ps"].iloc[0] - 52_400 * 80)
    expected = ProcessorSharing(load=load, latency_ps=latency).evaluate([size])
    assert got["fct_ps"].mean() == pytest.approx(expected["fct_ps"].iloc[0], rel=0.05)


@pytest.mark.parametrize(("load", "median", "mean"), [(0.1, 0.03, 0.1), (0.3, 0.25, 0.3)])
def test_error_against_packets(load, median, mean):
    """Max-min is close to DASR at low load and drifts away as load grows: the cost of a scheme."""
    net = rdmacc.leaf_spine(4, 8, 8)
    window = 600 * 1.048e6 * 8 / (load * 32 * 100e9)
    work = rdmacc.random_pairs(topology.hosts(net), 600, "1MB", seed=3, jitter=f"{window * 1e6:.3f}us")
    row = compare(MaxMin(network=net, workload=work, scheme="dasr")).summary(1.0).loc["slowdown"]
    assert row["median_error"] < median
    assert abs(row["relative"]) < mean


def test_a_result_shows_the_error_on_record():
    """It is taken from the next higher load and the size; for a scheme without measurements, it is the worst of all."""
    record = errors_on_record().set_index(["scheme", "load", "size_class"])["median_error"]
    sizes = np.array([5_000, 100_000, 2_000_000])
    assert error_on_record("dcqcn", 0.3, sizes).tolist() == [record["dcqcn", "0.4", one] for one in (0, 1, 3)]
    assert error_on_record("dcqcn", 5.0, sizes[:1]).tolist() == [record["dcqcn", "0.8", 0]]
    assert error_on_record("rocev9", 0.2, sizes[:1]).tolist() == [record.xs(("0.2", 0), level=(1, 2)).max()]
    net = rdmacc.star(3)
    alone = MaxMin(network=net, workload=rdmacc.incast(["h1", "h2"], "h0", "5kB")).solve()
    assert alone["error"].tolist() == [record["dcqcn", "0.8", 0]] * 2, "simultaneous starts count as the highest load"
    chain = rdmacc.messages([("h1", "h0", "5kB"), {"src": "h0", "dst": "h2", "size": "2MB", "after": 0}])
    errors = MaxMin(network=net, workload=chain).solve()["error"]
    assert errors.isna().all(), "no record applies if all messages wait for others"


def test_the_record_matches_the_measurement():
    """One load with few messages: the record's code on a frame of the comparison."""
    rows = max_min_experiment.errors("dcqcn", 0.2, count=40)
    assert list(rows) == list(errors_on_record())
    assert rows["messages"].sum() == 40
    assert (rows["median_error"] <= rows["p90_error"]).all()
    assert rows["median_error"].max() < 0.5


@pytest.mark.nightly
def test_the_record_is_current():
    """One full load. If it fails, run python -m rdmacc.experiments.micro.max_min."""
    record, rows = errors_on_record(), max_min_experiment.errors("dcqcn", 0.2)
    part = record[(record["scheme"] == "dcqcn") & (record["load"] == rows["load"].iloc[0])]
    for column in ("size_class", "messages", "median_error", "p90_error", "bias"):
        assert part[column].tolist() == pytest.approx(rows[column].tolist(), abs=1e-3)


def test_shares_and_fct_by_hand():
    model = FairShare(senders=3, message_bytes="10kB", line_bps="10Gbps", delay_ps="5us")
    assert model.n == 4
    assert model.message_wire_bytes == 10_480
    table = model.evaluate().set_index("kind")
    assert table["count"].to_dict() == {"incast": 3, "long": 1}
    assert table["share_bps"].tolist() == [2.5e9, 2.5e9]
    assert table.loc["incast", "fct_ps"] == pytest.approx(5e6 + 10_480 * 8e12 / 2.5e9)
    assert table.loc["incast", "ideal_fct_ps"] == pytest.approx(5e6 + 10_480 * 8e12 / 10e9)
    assert table.loc["long", "goodput_bps"] == pytest.approx(2.5e9 / 1.048)
    assert np.isnan(table.loc["long", "fct_ps"])


def test_convergence_takes_a_round_trip_and_the_software_quantiles():
    table = DasrConvergence().evaluate()
    assert table["convergence_ps"].to_numpy() / 1e6 == pytest.approx([15, 28, 41, 44], abs=0.1)
    assert table["rtts"].iloc[0] == 1.0
    assert (table["t_f_ps"] + table["t_cpu_ps"] + table["t_b_ps"]).tolist() == table["convergence_ps"].tolist()


def test_a_sender_with_two_messages_counts_once():
    table = sender_counts(["a", "a", "b", "a"], [0, 5, 6, 50], [10, 20, 8, 60])
    assert table.to_numpy().tolist() == [[0, 1], [6, 2], [8, 1], [20, 0], [50, 1], [60, 0]]
    refused(lambda: sender_counts(["a"], [5], [1]), "end")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(1, 20)), min_size=1, max_size=12))
def test_the_sender_set_matches_a_count(messages):
    names, begin, length = zip(*messages)
    end = [b + d for b, d in zip(begin, length)]
    table = sender_counts(list(names), list(begin), end)
    for t in np.arange(-0.5, 75.0):
        active = {name for name, b, e in zip(names, begin, end) if b <= t < e}
        rows = table[table["time_ps"] <= t]
        assert (rows["n"].iloc[-1] if len(rows) else 0) == len(active)


def test_look_ahead_halves_the_queue_and_backs_off_no_later():
    gain = DasrIncast(senders=16, message_bytes="256kB", jitter_ps="20us").gain()
    with_it = DasrIncast(senders=16, message_bytes="256kB", jitter_ps="20us").solve()["queue_bytes"].max()
    assert gain["peak_queue_bytes"] > 0.8 * with_it
    assert gain["back_off_ps"] >= 0


@pytest.mark.parametrize("look_ahead", [True, False])
@pytest.mark.parametrize(
    ("senders", "size", "jitter"), [(16, "256kB", "20us"), (4, "64kB", "0us"), (16, "8kB", "20us")]
)
def test_packets_agree_with_dasr_fluids(senders, size, jitter, look_ahead):
    model = DasrIncast(senders=senders, message_bytes=size, jitter_ps=jitter, look_ahead=look_ahead, step_ps="100ns")
    found = compare(model)
    queue = found.frame[found.frame["quantity"] == "queue"]
    assert queue["simulation"].max() == pytest.approx(queue["model"].max(), rel=0.03)
    assert found.summary(1.0).loc["FCT", "relative"] == pytest.approx(0, abs=0.02)


def test_hpcc_facts():
    one = HpccSteady(flows=1)
    assert one.bdp_bytes == 162_500
    assert one.steady_state()["window_bytes"] == 154_455
    assert one.steady_state()["utilisation"] == pytest.approx(0.9505, abs=1e-4)
    assert HpccSteady(capacity_bps="25Gbps").bdp_bytes == 40_625
    assert HpccSteady().most_flows == pytest.approx(101.6, abs=0.1)
    # A multiplicative step from U = 1.5: 162500 * 0.95 / 1.5 + 80.
    frame = HpccSteady(flows=2, start_first=1.0, start=0.5, rounds=1).solve()
    assert frame["inflight"].iloc[0] == 1.5
    assert frame["window_first_bytes"].iloc[1] == pytest.approx(102_996.67, abs=0.01)


@pytest.mark.parametrize("flows", [1, 2, 16, 101, 400])
def test_hpcc_equilibrium_found_is_equilibrium_iterated(flows):
    table = HpccSteady(flows=flows, start_first=1.0, start=0.3, rounds=30_000).evaluate()
    assert table["iterated"].to_numpy() == pytest.approx(table["steady"].to_numpy(), rel=1e-6)
    assert (table.loc["queue_bytes", "steady"] > 0) == (flows > HpccSteady().most_flows)


def test_a_message_alone_is_stored_and_forwarded():
    """Propagation, the whole message once, and the first packet once more."""
    net = rdmacc.star(3, rate="40Gbps", delay="700ns")
    sizes = np.array([1, 1000, 100_000])
    work = rdmacc.messages([("h1", "h0", size, f"{i}ms") for i, size in enumerate(sizes.tolist())])
    ideal = rdmacc.simulate(net, work, "line-rate").flows["ideal_fct_ps"]
    alone_ps = (wire_bytes(sizes) + np.minimum(sizes, 1000) + 48) * 8e12 / 40e9 + 2 * 700_000
    assert alone_ps == pytest.approx(ideal.to_numpy(np.float64))


def test_processor_sharing_slowdown_is_the_same_for_all_sizes():
    table = ProcessorSharing(load=0.8, latency_ps=0).evaluate()
    assert table["slowdown"].to_numpy() == pytest.approx(5.0)
    diluted = ProcessorSharing(load=0.8, latency_ps="4us").evaluate()["slowdown"]
    assert diluted.is_monotonic_increasing
    assert diluted.max() < 5.0


@pytest.mark.parametrize(
    ("variant", "loss", "timeout", "percent"),
    [
        ("IGBN", 0.001, "100ms", 97.4), ("IGBN", 0.01, "100ms", 58.6), ("GBN", 0.01, "100ms", 1.8),
        ("GBN", 0.01, "10ms", 14.4), ("GBN", 0.001, "100ms", 56.2), ("CE", 0.01, "100ms", 25.3),
    ],
)  # fmt: skip
def test_go_back_n_numbers_of_m_g10(variant, loss, timeout, percent):
    table = GoBackNGoodput(timeout_ps=timeout).evaluate([loss]).set_index("variant")
    assert 100 * table.loc[variant, "goodput"] == pytest.approx(percent, abs=0.3)
