"""Each odd handler is refused when its scheme is created, or ends the same way on both engines."""

import re
from functools import cache
from typing import Any

import pytest

import rdmacc
from rdmacc.errors import HandlerError, LivelockError, StalledError
from tests.support import mostly_at_night
from tests.torture.handlers import REFUSED, RUN, scheme_for, scheme_of
from tests.torture.language import DEFINITIONS

_FIELDS = ("big", "x", "flag", "small")


def outcome(scheme: Any, engine: str) -> tuple[str, str, str]:
    """Return how a run ends: the error's type, location and text, or the results."""
    work = rdmacc.incast(["h1", "h2"], "h0", "24kB")
    try:
        run = rdmacc.Simulation(rdmacc.star(3), work, scheme, engine=engine, check=True)
        result = run.run(until="3ms", progress=False)
    except rdmacc.RdmaccError as error:
        kind = type(error).__name__
        return kind, str(error).split(": ")[0] if kind == HandlerError.__name__ else "", str(error)
    odd = scheme.components.index(scheme.control[0])
    values = [run.engine.sender_value(qp, odd, field) for qp in range(2) for field in _FIELDS]
    tables = (result.flows.to_dict("list"), result.transfers.to_dict("list"), sorted(result.counters.to_dict().items()))
    return "", "", repr((tables, values))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_made(name: str) -> None:
    hook, body = REFUSED[name]
    with pytest.raises(rdmacc.ConfigError, match=rf"^Odd\.{hook} = .*\(line \d+ of .*\): must"):
        scheme_of(hook, body)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_handler_is_a_plain_function(name: str) -> None:
    with pytest.raises(
        rdmacc.ConfigError, match=r"^Odd\.on_ack.*: must|^Odd\.on_ack.*an argument that the hook offers"
    ):
        scheme_of("on_ack", "", DEFINITIONS[name])


@cache
def by_simpy(name: str) -> tuple[str, str, str]:
    return outcome(scheme_for(name), "simpy")


@pytest.mark.parametrize("name", mostly_at_night(RUN, every=2))
def test_simpy(name: str) -> None:
    kind, _, text = by_simpy(name)
    if kind == HandlerError.__name__:
        assert re.match(r"(Odd|GoBackN)\.on_", text), text
    else:
        assert kind in ("", LivelockError.__name__, StalledError.__name__), text


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(RUN, every=4))
def test_compiled_agrees(name: str) -> None:
    expected, compiled = by_simpy(name), outcome(scheme_for(name), "compiled")
    assert compiled[:2] == expected[:2], (expected, compiled)
    if not expected[0]:
        assert compiled[2] == expected[2]
