"""Both engines stop runs that only retries keep alive, and name who waits for what; long pauses do not count."""

from dataclasses import dataclass
from typing import Any

import pytest

import rdmacc
from rdmacc import DropTail, LinkDown, Loss, Pfc, Scheme, ScriptedLoss
from rdmacc.engine import stalls as progress
from rdmacc.engine.stalls import explain_stall
from rdmacc.errors import SimulationError
from rdmacc.interface import REQUEST, Component, Deadline, Float, Int, Int32, Record, param
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.schemes import SCHEMES
from rdmacc.units import ms
from tests.support import mostly_at_night

ENGINES = ("simpy", "compiled")
_STAR = rdmacc.star(3)
_SLOW_STAR = rdmacc.star(3, rate="10Gbps")
_INCAST = rdmacc.incast(["h1", "h2"], "h0", "10kB")

_LATER_PS = ms(300)
"""More than twice as long as ExpressPass may keep requesting in vain."""

FAILURES = {
    "data lost": (Loss(data=1.0), "all data is lost on the way to h0 (h1->s0)"),
    "control lost": (Loss(control=1.0), "all packets back are lost on the way to h1 (h0->s0)"),
}
ENDLESS = {"expresspass", "expresspass-aeolus", "phost"}
"""Schemes whose receivers keep requesting when all data is lost."""


def ending(engine: str, scheme: Any, *faults: Any, network: Any = _STAR, work: Any = _INCAST) -> tuple[str, Any]:
    """Return how a run ends, and its result."""
    try:
        return "", rdmacc.simulate(network, work, scheme, engine=engine, faults=faults, progress=False)
    except SimulationError as error:
        return str(error), error.result


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(sorted(SCHEMES), every=4))
def test_every_scheme_ends_whatever_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With less patience than usual: most schemes retry or set timers forever. On slow links that is less work."""
    monkeypatch.setattr(progress, "_LEAST_RETRIES", 10)
    monkeypatch.setattr(progress, "_STILL_PS", ms(200))
    for case, (fault, reason) in FAILURES.items():
        (one, first), (other, second) = (ending(engine, name, fault, network=_SLOW_STAR) for engine in ENGINES)
        assert one == other
        assert first.flows["status"].tolist() == second.flows["status"].tolist()
        if one:
            assert one.startswith("stalled at ")
            assert f"message 0 from h1 to h0: {reason}" in one
        else:
            assert "failed" in first.flows["status"].tolist(), case
        assert bool(one) or not (name in ENDLESS and case == "data lost")


@dataclass(frozen=True, kw_only=True)
class Chatty(Component):
    """Paced at a rate, with a request every millisecond."""

    start_bps: float = param("20kbps", "pacing rate")

    class Sender(Record):
        rate_bps = Float()
        talk_timer_ps = Deadline()
        talks = Int32()

    def on_open(params, sender):
        sender.rate_bps = params.start_bps

    def on_start(sender, now):
        sender.talk_timer_ps = now

    def on_talk_timer(sender, request, now):
        sender.talks += 1
        request.kind = REQUEST
        sender.talk_timer_ps = now + 1_000_000_000


def test_a_low_rate_is_no_stall_despite_many_requests(engine: str) -> None:
    """Half a second between packets, and a request every millisecond."""
    work = rdmacc.messages([("h1", "h0", "3kB")])
    said, result = ending(engine, Scheme(control=Chatty()), work=work)
    assert said == ""
    gap_ps = round(Scheme().wire_bytes * 8e12 / 20e3)
    assert result.flows["fct_ps"][0] > 2 * gap_ps > 200 * ms(1)


def test_a_long_link_is_no_stall(engine: str) -> None:
    """Two hundred timeouts before the first ACK."""
    scheme = rdmacc.scheme("go-back-n").replace(timeout_ps="5ms", retry_limit=1000, buffer=DropTail())
    work = rdmacc.messages([("h1", "h0", "1kB")])
    said, result = ending(engine, scheme, network=rdmacc.star(2, delay="300ms"), work=work)
    assert said == ""
    assert result.flows["timeouts"][0] > 200


def test_retries_up_to_their_limit_are_no_stall(engine: str) -> None:
    scheme = rdmacc.scheme("go-back-n").replace(timeout_ps="2ms", retry_limit=400)
    faults = [ScriptedLoss(message=0, psn=0, nth=nth) for nth in range(1, 400)]
    said, result = ending(engine, scheme, *faults, work=rdmacc.messages([("h1", "h0", "1kB")]))
    assert (said, result.flows["retransmissions"][0]) == ("", 399)


def test_the_run_continues_until_the_last_message_has_started(engine: str) -> None:
    """Message 0 never ends; message 1 starts long after that is clear."""
    work = rdmacc.messages([("h1", "h0", "3kB"), ("h2", "h0", "3kB")]).assign(start_ps=[0, _LATER_PS])
    lost = Loss(data=1.0, links=(("h1", "s0"),))
    said, result = ending(engine, "expresspass", lost, work=work)
    assert "1 message unfinished: 0 (" in said
    assert result.flows["status"].tolist() == ["running", "finished"]


def test_it_waits_for_links_that_have_yet_to_fail(engine: str) -> None:
    """Routes lead through a link that loses everything until it fails for good."""
    net = rdmacc.leaf_spine(2, 2, 1)
    work = rdmacc.messages([("h0", "h1", "3kB")])
    lost = Loss(data=1.0, links=(("leaf0", "spine0"),))
    down = LinkDown(link=("leaf0", "spine0"), at_ps=_LATER_PS)
    said, result = ending(engine, "expresspass", lost, down, network=net, work=work)
    stuck, _ = ending(engine, "expresspass", lost, network=net, work=work)
    assert said == ""
    assert result.flows["fct_ps"][0] > _LATER_PS
    assert "message 0 from h0 to h1: data is lost on some ways to h1 (leaf0->spine0); 0 of 3 packets" in stuck


@dataclass(frozen=True, kw_only=True)
class Stop(Component):
    credits: int = param(100, "credits")
    granted: int = param(100, "packets granted")
    window_bytes: int = param(10**6, "window", unit="bytes")

    class Sender(Record):
        window_bytes = Int()

    def on_open(params, qp, sender):
        qp.credits = params.credits
        sender.window_bytes = params.window_bytes

    def on_start(params, message):
        message.granted_psn = min(message.packets, params.granted)


_ACKED = GoBackN(ack_every_packets=1, timer_after_last=False)


@pytest.mark.parametrize(
    ("stop", "text"),
    [
        (Stop(credits=3), "3 of 10 packets have arrived, 3 are acknowledged; it has no credit for packet 3"),
        (Stop(granted=3), "3 of 10 packets have arrived, 3 are acknowledged; it may send 3: it waits for a grant"),
        (
            Stop(window_bytes=0),
            "0 of 10 packets have arrived, 0 are acknowledged; Stop.Sender.window_bytes of queue pair 0 is 0",
        ),
    ],
)
def test_the_error_names_what_a_sender_lacks(engine: str, stop: Stop, text: str) -> None:
    said, _ = ending(engine, Scheme(control=stop, recovery=_ACKED), work=rdmacc.messages([("h1", "h0", "10kB")]))
    assert said.startswith("stalled at ")
    assert said.endswith(f" us with 1 message unfinished: 0 (message 0 from h1 to h0: {text})")


def test_the_error_names_a_paused_class() -> None:
    net = rdmacc.star(5, buffer="800kB")
    work = rdmacc.incast(["h1", "h2", "h3", "h4"], "h0", "200kB")
    scheme = rdmacc.scheme("line-rate").replace(buffer=Pfc(alpha=0.01))
    texts = set()
    for engine in ENGINES:
        simulation = rdmacc.Simulation(net, work, scheme, engine=engine)
        simulation.run("30us", progress=False)
        texts.add(explain_stall(simulation.engine, simulation.plan.fabric, [0, 1], 0, 0))
    assert len(texts) == 1
    assert "PFC has stopped class 3 of h1->s0 for " in texts.pop()
