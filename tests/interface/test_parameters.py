"""Parameters: quantities, choices and vectors, as seen by users, type checkers and handlers."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pytest

import rdmacc
from rdmacc import Scheme
from rdmacc.engine.compare import first_difference
from rdmacc.interface import Component, Float, Int, OptionalTime, Record, Sizes, param
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.homa import Homa
from rdmacc.switch.buffer import Pfc
from rdmacc.switch.red import Red
from tests.support import refused, run_cell
from tests.typed import parameters as typed

Law = Literal["first", "largest", "all"]


@dataclass(frozen=True, kw_only=True)
class Chooser(Component):
    """Counts bytes according to a choice and a vector."""

    law: Law = param("all", "what counts", choices=get_args(Law))
    limits_bytes: Sizes = param((), "sizes", unit="bytes")
    weights: tuple[float, ...] = param((1.0, 2.5), "weights")
    late_ps: OptionalTime = param(None, "0: nothing is late", unit="ps")

    class Sender(Record):
        rate_bps = Float(1e9)
        counted = Int()

    def on_send(params, sender, packet, now):
        if params.law == "all":
            sender.counted += 7
        elif params.law == "first" and packet.psn == 0:
            sender.counted += 1
        for i in range(len(params.limits_bytes)):
            if packet.payload_bytes > params.limits_bytes[i] and params.law != "largest":
                sender.counted += int(params.weights[i % len(params.weights)] * 10.0)
        if 0 < params.late_ps < now:
            sender.counted += 1000
        sender.rate_bps = 1e9 * (1.0 + 0.01 * (sender.counted % 1000))


CHANGES: tuple[dict[str, Any], ...] = (
    {},
    {"law": "first", "limits_bytes": "100B 500B"},
    {"law": "largest", "limits_bytes": [200]},
    {"limits_bytes": (100, "0.5kB", 10_000), "weights": (3.0,), "late_ps": "1us"},
)


def run(engine: str, is_checked: bool, **changes: Any) -> rdmacc.Simulation:
    net = rdmacc.star(3, rate="100Gbps", delay="1us")
    work = rdmacc.incast(senders=["h1", "h2"], receiver="h0", size="6300B")
    scheme = Scheme(name="chooser", control=Chooser(**changes))
    simulation = rdmacc.Simulation(net, work, scheme, engine=engine, check=is_checked)
    simulation.run()
    return simulation


@pytest.mark.slow
@pytest.mark.parametrize("changes", CHANGES)
def test_both_engines_show_handlers_the_same_choices_vectors_and_disabled_parameters(changes):
    simulation = run("compiled", False, **changes)
    assert first_difference(simulation.plan) == ""
    assert run("compiled", True, **changes).now_ps == simulation.now_ps == run("simpy", True, **changes).now_ps


def test_choices_and_vectors_change_what_handlers_do():
    assert len({run("simpy", False, **changes).now_ps for changes in CHANGES}) == len(CHANGES)


@pytest.mark.parametrize(
    ("body", "allowed"),
    [
        ("sender.counted += params.law == 'frist'", "did you mean 'first'"),
        ("sender.counted += params.law", "compare it: params.law == 'first'"),
        ("sender.counted += packet.psn == 'first'", "a parameter that has choices"),
        ("sender.counted += params.law < 'first'", "using == or !="),
        ("params.weights[0] = 1.0", "must not write parameters"),
    ],
)
def test_misuse_of_parameters_in_handlers_is_refused(body, allowed):
    names = {"Chooser": Chooser}
    run_cell(f"class Mine(Chooser):\n    def on_send(params, sender, packet, now):\n        {body}\n", names)
    assert allowed in refused(lambda: Scheme(control=names["Mine"]())).allowed


@pytest.mark.parametrize(
    "given", ["1kB 2000B", "1kB, 2kB", ["1kB", 2000], (1000, 2000), (size for size in ("1kB", "2kB"))]
)
def test_a_vector_is_given_as_a_string_or_an_iterable(given):
    assert Homa(cutoffs=given).cutoffs == (1000, 2000)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"limits_bytes": 5}, "Chooser.limits_bytes"),
        ({"limits_bytes": "1kB 2us"}, "Chooser.limits_bytes[1]"),
        ({"limits_bytes": [1] * 65}, "Chooser.limits_bytes"),
        ({"weights": (1.0, "2")}, "Chooser.weights[1]"),
        ({"weights": (True,)}, "Chooser.weights[0]"),
        ({"law": None}, "Chooser.law"),
    ],
)
def test_wrong_vectors_are_refused(changes, field):
    assert refused(lambda: Chooser(**changes)).field == field


@pytest.mark.parametrize(
    ("default", "choices", "unit"),
    [("5us", (), "ps"), ("1 Gb/s", (), "bps"), (("1kB", "2kB"), (), "bytes"), ("0", (), ""), ("1s", ("1s", "2s"), "")],
)
def test_a_default_with_a_unit_determines_the_base_unit(default, choices, unit):
    assert param(default, "value", choices=choices).metadata["unit"] == unit


def test_a_default_with_an_unknown_unit_is_refused():
    refused(lambda: param("55uss", "value"), "default = '55uss': must be a quantity")


def test_a_vector_without_a_unit_needs_a_default_with_elements():
    refused(lambda: param((), "weights"), "determines their type")


def test_none_means_off_where_allowed():
    assert (Chooser(late_ps=None).late_ps, Pfc(xoff_bytes=None).xoff_bytes) == (0, 0)
    assert (Dcqcn(reference_bps=None).reference_bps, Dcqcn().reference_bps) == (0.0, 40e9)
    refused(lambda: Red(kmin_bytes=None), "kmin_bytes")


def test_code_that_type_checkers_accept_runs():
    assert [scheme.name for scheme in typed.schemes()] == ["one", "several", "lossy", "law", "hpcc", "mine"]
    assert typed.sizes() == 10**6 + 30_000 + 3000 + 5000
