"""What an agent does in the Gymnasium environment equals a simulation with the same rates and parameters."""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rdmacc
from rdmacc import Scenario
from rdmacc.gym import CongestionControl
from rdmacc.protocols.line_rate import LineRate
from tests.support import refused

NETWORK = rdmacc.star(5)
WORK = rdmacc.poisson(NETWORK, "64kB", 0.6, duration="300us", seed=1)


def environment(scheme="line-rate", until="300us", reward=lambda seen: seen["goodput"].sum(), **options):
    scenario = Scenario(network=NETWORK, workload=WORK, scheme=scheme, until=until)
    return CongestionControl(scenario, reward=reward, **options)


def test_gymnasium_finds_no_fault():
    env = environment("dcqcn", act=["rate_change", ("kmin_bytes", 1e3, 50e3)], warm_up="50us")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about infinite bounds
        check_env(env, skip_render_check=True)


class Half(LineRate):
    def on_open(qp, sender):
        sender.rate_bps = 0.5 * qp.line_bps


def test_the_agents_rates_are_used():
    env = environment(until="20ms", every="7us")
    env.reset(seed=3)
    while not env.step(np.full(5, 0.5))[2]:
        pass
    whole = rdmacc.simulate(NETWORK, WORK, rdmacc.Scheme(name="half", control=Half()), seed=0)
    assert env.simulation.result().flows["fct_ps"].equals(whole.flows["fct_ps"])


def test_parameters_act_as_in_a_fork():
    env = environment("dcqcn", act=[("kmin_bytes", 1e3, 50e3)], warm_up="50us", every="20us")
    env.reset(seed=3)
    chance = env.simulation.plan.chance_seed
    env.step(np.array([2e3]))
    env.step(np.array([9e9]))  # outside the bounds
    other = rdmacc.Simulation(NETWORK, WORK, "dcqcn", order="time")
    other.run("50us", progress=False)
    for kmin, until in (("2kB", "70us"), ("50kB", "90us")):
        other = other.fork(parameters={"kmin_bytes": kmin}, seed=chance)
        seen = other.run(until, progress=False)
    assert env.simulation.result().counters.equals(seen.counters)


def test_observations_agree_with_the_result():
    sums, env = [], environment(reward=lambda seen: sums.append(seen) or 0.0, until="20ms", act=["rate"])
    env.reset()
    while not env.step(np.ones(5))[2]:
        pass
    line_bytes = 100e9 / 8 * 10e-6
    arrived = sum(seen["goodput"] for seen in sums) * line_bytes
    assert arrived == pytest.approx(WORK.groupby("src")["size_bytes"].sum()[env.hosts].to_numpy())
    assert (sums[-1]["active"] == 0).all()
    assert max(seen["queue"].max() for seen in sums) > 0.5


def test_a_step_before_reset_changes_no_episode():
    one, other = environment(), environment()
    for _ in range(5):
        other.step(np.full(5, 0.1))
    seen = [env.reset(seed=1) and env.step(np.ones(5)) for env in (one, other)]
    assert (seen[0][0] == seen[1][0]).all()
    assert seen[0][4] == seen[1][4]


def test_mistakes_are_named():
    names = "kmin_bytes", "g"
    acts = [[(names[0], 5, 5)], [(names[0], 5, np.inf)], [(names[1], "0.1", "0.2")], ["window"]]
    for options in ({"observe": ["rtt"]}, {"every": 0}, *({"act": act} for act in acts)):
        refused(lambda: environment("dcqcn", **options), next(iter(options)))
    refused(lambda: environment(until=None), "until")
    refused(lambda: environment(warm_up="300us"), "warm_up")
    refused(lambda: environment("homa", act=["rate"]), "no rate")
    env = environment()
    env.reset()
    for action in (np.ones(4), "x", [1, [2], 3, 4, 5], {"a": 1}):
        refused(partial(env.step, action), "action = ", "5 numbers")
    refused(lambda: env.reset(seed="x"), "seed = 'x'")
    env.simulation.send("h1", "h0", "1kB")
    refused(lambda: env.step(np.ones(5)), "1 messages sent")
    refused(lambda: environment(reward=lambda seen: None).step(np.ones(5)), "reward = None")
    refused(lambda: environment(rewards=1), "did you mean 'reward'")


def test_a_whole_parameter_is_set_to_whole_numbers():
    env = environment("dcqcn", act=[("ack_every_packets", 1, 4)])
    env.reset(seed=np.int64(1))
    assert env.step([2.4])[4] == {"now_ps": 10_000_000}


def test_without_the_extra_the_error_says_how_to_install_it():
    code = "import sys; sys.modules['gymnasium'] = None; import rdmacc.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert 'pip install "rdmacc[gym]"' in done.stderr
