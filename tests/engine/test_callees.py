"""Schemes share the compiled code of handlers that are identical in everything they depend on, and of no others."""

import math
from dataclasses import dataclass
from typing import Any

import pytest

import rdmacc
from rdmacc.caching.lifetimes import Kept
from rdmacc.engine.compiled.machine_code.hooks import CompiledHooks
from rdmacc.engine.compiled.machine_code.units import CHECKED, names_in, part_of
from rdmacc.engine.compiled.tables.layout import PACKET, Layout, packet_with
from rdmacc.interface import Float, Int, Record

MODULE = """
FACTOR = {factor}


def half(value):
    return value * {number}


def on_ack(sender, packet):
    sender.rate_bps = half(FACTOR * packet.{field}) + math.sqrt(2.0)
"""


def module(factor: object = 2, number: str = "0.5", field: str = "psn", **more: Any) -> dict[str, Any]:
    """Return the content of a user's module."""
    names: dict[str, Any] = {"__name__": "own", "math": math, **more}
    exec(compile(MODULE.format(factor=factor, number=number, field=field), "own.py", "exec"), names)
    return names


def test_defaults_closures_and_options_count():
    def scaled(by: int) -> Any:
        def scale(value, offset=0):  # type: ignore[no-untyped-def]
            return value * by + offset

        return scale

    one = scaled(2)
    assert part_of(one) is part_of(one)
    assert part_of(one) is not part_of(scaled(3))
    assert (part_of(scaled(2))(5), part_of(scaled(3))(5)) == (10, 15)
    before = part_of(one)
    one.__defaults__ = (1,)
    assert part_of(one) is not before
    assert part_of(one)(5) == 11
    own = module()["half"]
    assert part_of(own) is not part_of(own, **CHECKED)


def test_a_function_may_have_the_name_of_a_field():
    own = module()
    exec("def psn(packet):\n    return packet.psn\n\ndef handler(packet):\n    return psn(packet)", own)
    assert names_in(own["handler"]) == {"psn"}
    assert part_of(own["handler"]).py_func.__globals__["psn"] is part_of(own["psn"])


def test_header_fields_are_where_they_are_in_the_whole_packet():
    packet = Layout.of(rdmacc.scheme("ndp")).packet
    assert packet_with(packet, ()) == PACKET
    headers = [name for name in packet.names if name not in PACKET.names]
    for name in headers:
        some = packet_with(packet, (name,))
        assert some.names == (*PACKET.names, name)
        assert all(some.fields[each] == packet.fields[each] for each in some.names)
        assert some.itemsize % 8 == 0
        assert some.itemsize <= packet.itemsize + 7


def test_schemes_share_their_parts(monkeypatch):
    """HPCC's packets have a different header from DCQCN's; Go-Back-N does not read it and is not compiled again."""
    monkeypatch.setattr("rdmacc.engine.compiled.machine_code.units._KEPT", Kept(512))
    monkeypatch.setattr("rdmacc.engine.compiled.machine_code.hooks.kept", lambda unit, make: make())
    monkeypatch.setattr("rdmacc.engine.compiled.machine_code.hooks._LOADED", Kept(512))
    layouts = []
    for name in ("dcqcn", "hpcc"):
        scheme = rdmacc.scheme(name)
        layouts.append(Layout.of(scheme))
        CompiledHooks(scheme, layouts[-1])
    assert layouts[0].packet != layouts[1].packet
    for name in ("on_data", "on_ack"):
        assert len(part_of(scheme.recovery.handlers()[name]).overloads) == 1


def reading() -> Any:
    """Return a handler that calls a function in its closure."""

    def stamp(packet):  # type: ignore[no-untyped-def]
        return packet.stamp

    def on_ack(sender, packet):  # type: ignore[no-untyped-def]
        sender.total = sender.total + stamp(packet)

    return on_ack


@dataclass(frozen=True)
class Stamped(rdmacc.Component):
    """Reads its header in a function that its handler does not name."""

    class Sender(Record):
        rate_bps = Float()
        total = Int()

    class Header(Record):
        stamp = Int(7)

    def on_open(qp, sender):  # type: ignore[no-untyped-def]
        sender.rate_bps = qp.line_bps

    on_ack = staticmethod(reading())


@pytest.mark.parametrize("check", [True, False])
def test_a_header_is_read_by_a_function_in_a_closure(check):
    scheme = rdmacc.Scheme(name="stamped", control=Stamped())
    totals = []
    for engine in ("simpy", "compiled"):
        run = rdmacc.Simulation(rdmacc.star(3), rdmacc.incast(["h1"], "h0", "8kB"), scheme, engine=engine, check=check)
        run.run(progress=False)
        totals.append(run.engine.sender_value(0, scheme.components.index(scheme.control[0]), "total"))
    assert totals[0] == totals[1] > 0
