"""Components: parameters are checked, handlers are found and take only the arguments that their hook offers."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import pytest

import rdmacc
from rdmacc import Scheme, probes
from rdmacc.interface import Component, Deadline, Float, Int, Int32, Record, param
from rdmacc.protocols.line_rate import LineRate
from rdmacc.units import us
from tests.support import WIRE, check_finished, refused, run_cell, samples, transmission


@dataclass(frozen=True, kw_only=True)
class Example(Component):
    period_ps: int = param("55us", "a time", symbol="K", source="section 1", low=1)
    rate_bps: float = param("40Mbps", "a rate")
    limit_bytes: int = param("10MB", "a size")
    gain: float = param(0.5, "a number", low=0.0, high=1.0)
    steps: int = param(5, "a whole number", low=1)
    is_on: bool = param(False, "yes or no")
    order: str = param("fifo", "one of few", choices=("fifo", "lifo"))


def test_defaults_with_units_become_base_units():
    example = Example()
    assert (example.period_ps, example.rate_bps, example.limit_bytes) == (55_000_000, 40e6, 10_000_000)
    assert [type(getattr(example, field.name)) for field in dataclasses.fields(example)] == [
        int, float, int, float, int, bool, str
    ]  # fmt: skip


def test_arguments_are_converted():
    example = Example(period_ps="1ms", rate_bps=5, limit_bytes="1KiB", gain=1, steps=3.0)
    assert dataclasses.astuple(example) == (10**9, 5.0, 1024, 1.0, 3, False, "fifo")
    assert type(example.steps) is int
    assert type(example.gain) is float


@pytest.mark.parametrize(
    ("changes", "allowed"),
    [
        ({"period_ps": 0}, "at least 1"),
        ({"period_ps": "1kB"}, "us"),
        ({"rate_bps": "1us"}, "Gbps"),
        ({"limit_bytes": 1.5}, "whole number"),
        ({"gain": 1.01}, "at least 0.0 and at most 1.0"),
        ({"gain": True}, "a finite number"),
        ({"gain": "0.5"}, "a finite number"),
        ({"steps": 0}, "at least 1"),
        ({"steps": 2.5}, "a whole number"),
        ({"steps": None}, "a whole number"),
        ({"is_on": 1}, "True or False"),
        ({"order": "both"}, "one of fifo, lifo"),
        ({"order": "lief"}, "did you mean 'lifo'"),
    ],
)
def test_wrong_values_are_refused(changes, allowed):
    error = refused(lambda: Example(**changes))
    assert error.field == f"Example.{next(iter(changes))}"
    assert allowed in error.allowed


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("def on_dat(packet): ...", "on_dat"),
        ("def on_ack(host): ...", "on_ack(host)"),
        ("def on_ack(sender): ...", "on_ack(sender)"),
        ("class Sender(Record): probe_timer_ps = Deadline()", "Sender.probe_timer_ps"),
        (
            "class Header(Record): probe_timer_ps = Deadline()\n    def on_probe_timer(now): ...",
            "Header.probe_timer_ps",
        ),
        (
            "class Endpoint(Record): probe_timer_ps = Deadline()\n    def on_probe_timer(qp): ...",
            "on_probe_timer(qp)",
        ),
    ],
)
def test_wrong_handlers_are_refused_when_a_scheme_is_made(body, field):
    names = {"Component": Component, "Record": Record, "Deadline": Deadline}
    run_cell(f"class Mine(Component):\n    {body}\n", names)
    assert refused(lambda: Scheme(control=(names["Mine"](),))).field == f"Mine.{field}"


@dataclass(frozen=True, kw_only=True)
class Ticker(Component):
    """Deadlines that move: after each ACK one tick per `period_ps`, three in all, then none."""

    period_ps: int = param("10us", "from tick to tick", low=1)

    class Sender(Record):
        rate_bps = Float(0.0)
        ticks = Int32()
        last_tick_ps = Int()
        tick_timer_ps = Deadline()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_start(params, sender, now):
        sender.tick_timer_ps = now + 2 * params.period_ps  # moved forward below: the earlier time applies
        sender.tick_timer_ps = now + params.period_ps

    def on_ack(params, sender, now):
        if sender.ticks == 0:
            sender.tick_timer_ps = now + params.period_ps  # moved back: the pending event comes too early

    def on_tick_timer(params, sender, now):
        sender.ticks += 1
        sender.last_tick_ps = now
        sender.rate_bps = sender.rate_bps / 2.0
        if sender.ticks < 3:
            sender.tick_timer_ps = now + params.period_ps


def test_deadlines_fire_when_they_say(engine):
    """ACKs push the first tick back; then ticks come every period, change the rate, and stop."""
    work = rdmacc.messages([("h0", "h1", 100_000), ("h0", "h1", 1000, "1ms")])
    scheme = Scheme(control=(Pairwise(), Ticker()))
    watch = [probes.field("flow", 0, "Ticker.last_tick_ps"), probes.rate(0)]
    result = rdmacc.simulate(rdmacc.star(2), work, scheme, engine=engine, probes=watch)
    check_finished(result)
    ticks = [int(value) for _, value in samples(result, "Ticker.last_tick_ps 0") if value > 0]
    assert [at for at, value in samples(result, "Ticker.last_tick_ps 0") if value > 0] == ticks
    acked = result.flows["fct_acked_ps"][0]
    # The ACKs of the first 10 us restart the clock until the message's last one.
    assert acked == us(4) + 101 * transmission(WIRE, 100e9) + 2 * transmission(64, 100e9)
    assert ticks == [acked + us(10), acked + us(20), acked + us(30)]
    assert samples(result, "rate 0")[-1][1] == 100e9 / 8


class Pairwise(Component):
    pairwise: ClassVar[bool] = True


class Window(Component):
    class Sender(Record):
        window_bytes = Int()

    def on_open(sender):
        sender.window_bytes = 2_000


def test_a_window_limits_what_is_in_flight(engine):
    """Two packets per round trip, to the picosecond: the third starts when the first ACK is back."""
    scheme = Scheme(control=(LineRate(), Window()))
    watch = [probes.field("port", ("h0", "s0"), "tx_data_packets"), probes.field("flow", 0, "inflight_bytes")]
    work = rdmacc.messages([("h0", "h1", 10_000)])
    result = rdmacc.simulate(rdmacc.star(2), work, scheme, engine=engine, probes=watch)
    check_finished(result)
    t, rtt = transmission(WIRE, 100e9), int(result.plan.qp_base_rtt_ps[0])
    starts = [at for at, value in samples(result, "tx_data_packets ('h0', 's0')") if value > 0]
    assert starts == [i // 2 * rtt + i % 2 * t for i in range(10)]
    assert max(value for _, value in samples(result, "inflight_bytes 0")) == 2_000


def undecorated():
    class Mine(Component):
        gain: float = param(0.5, "gain")

    return Mine()


def without_annotation():
    class Mine(Component):
        gain = param(0.5, "gain")

    return Mine()


def scheme_of(body, record=True):
    """Return a scheme whose component has this class body and a Sender record."""

    @dataclass(frozen=True, kw_only=True)
    class Mine(Component):
        on_open = body
        if record:

            class Sender(Record):
                rate_bps = Float()

    return Scheme(name="mine", control=(Mine(),))


def returns(qp, sender):
    sender.rate_bps = qp.line_bps
    return 5


FORGOTTEN = {
    "@dataclass": (undecorated, "write @dataclass(frozen=True, kw_only=True) above `class Mine`"),
    "an annotation": (without_annotation, "as in `gain: float = param(...)`"),
    "params for self": (lambda: scheme_of(lambda self, qp: None), "with `params` in place of `self`"),
    "that handlers return nothing": (lambda: scheme_of(staticmethod(returns)), "as in `sender.rate_bps = ...`"),
    "a record": (lambda: scheme_of(staticmethod(returns), record=False), "add `class Sender(Record)`"),
    "the brackets": (lambda: Scheme(name="mine", control=(Example,)), "write Example()"),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_omissions_in_a_component_are_reported(what):
    refused(*FORGOTTEN[what])
