"""Each misbehaving handler is refused when its scheme is made, or caught in checked mode, or does no harm."""

from __future__ import annotations

import re
from typing import Any

import pytest

import rdmacc
from rdmacc.errors import CompileError, HandlerError, LivelockError, StalledError
from tests.torture.handlers import ALONE, REFUSED, RUN, scheme_for, scheme_of


def outcome(scheme: Any, engine: str) -> tuple[str, str]:
    """Return how a run ends: the error's type and text, or "" and the results."""
    work = rdmacc.incast(["h1", "h2"], "h0", "24kB")
    try:
        result = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine, until="3ms", progress=False, check=True)
    except rdmacc.RdmaccError as error:
        return type(error).__name__, str(error)
    return "", repr((result.flows.to_dict("list"), sorted(result.counters.to_dict().items())))


@pytest.mark.parametrize("name", REFUSED)
def test_refused_when_made(name: str) -> None:
    hook, body = REFUSED[name]
    with pytest.raises(rdmacc.ConfigError, match=rf"^Odd\.{hook} = .*\(line \d+\): must"):
        scheme_of(hook, body)


@pytest.mark.parametrize("name", RUN)
def test_simpy(name: str) -> None:
    scheme = scheme_for(name)
    kind, text = outcome(scheme, "simpy")
    if kind == HandlerError.__name__:
        assert text.startswith(("Odd.on_", "GoBackN.on_")), text
    else:
        assert kind in ("", LivelockError.__name__, StalledError.__name__), text


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly if name in ALONE else pytest.mark.slow) for name in RUN]
)
def test_compiled_agrees(name: str) -> None:
    scheme = scheme_for(name)
    expected, compiled = outcome(scheme, "simpy"), outcome(scheme, "compiled")
    if compiled[0] == CompileError.__name__:
        assert re.match(r"Odd\.on_\w+ \(line \d+\) cannot be compiled: \S.*: \S", compiled[1]), compiled[1]
    else:
        assert compiled[0] == expected[0], (expected, compiled)
        if not expected[0]:
            assert compiled[1] == expected[1]
