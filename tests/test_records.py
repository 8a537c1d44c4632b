"""Records: one declaration for Python objects and for NumPy rows, with the same names and the same values."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import rdmacc
from rdmacc import ConfigError
from rdmacc.component import RECORD_KINDS
from rdmacc.engine.reference.network import Network
from rdmacc.records import NEVER, Byte, Deadline, Float, Floats, Int, Int32, Ints, Record, record_dtype
from rdmacc.scheme import SCHEMES
from rdmacc.state import Host, Message, Packet, Port, QueuePair
from tests.scenarios import draw

RANGES = {"i1": 2**7, "i4": 2**31, "i8": 2**63}


class Everything(Record):
    """One field of each kind."""

    whole = Int(3)
    small = Int32(-1)
    flag = Byte(1)
    value = Float(0.5)
    hops = Ints(3, 7)
    rates = Floats(2, 0.25)
    alarm_timer_ps = Deadline()


def test_defaults_are_the_same_as_objects_and_as_rows():
    record = Everything()
    dtype = record_dtype(Everything)
    assert dtype["hops"].shape == (3,)
    for field in Everything.fields:
        value = getattr(record, field.name)
        expected = [field.default] * field.length if field.length else field.default
        assert value == expected
        assert dtype[field.name].base == np.dtype(field.code)
    assert record.alarm_timer_ps == record.alarm_timer_armed == NEVER


def test_arrays_are_not_shared_between_records():
    one, other = Everything(), Everything()
    one.hops[0] = 99
    assert other.hops[0] == 7


@pytest.mark.parametrize(
    "name", ["size", "data", "base", "flags", "item", "nbytes", "shape", "T", "real", "trace", "sum"]
)
def test_names_of_numpy_attributes_are_refused(name):
    with pytest.raises(ConfigError, match=name):
        type("Bad", (Record,), {name: Int()})


def test_a_deadline_must_be_called_a_timer():
    with pytest.raises(ConfigError, match="_timer_ps"):
        type("Bad", (Record,), {"alarm": Deadline()})


def test_two_records_must_not_share_a_name_in_a_row():
    class One(Record):
        rate = Float()

    class Other(Record):
        rate = Float()

    with pytest.raises(ConfigError, match="rate"):
        record_dtype(One, Other)


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_every_scheme_declares_only_names_that_both_engines_read(name):
    for part in rdmacc.scheme(name).components:
        for kind in RECORD_KINDS:
            record = part.record(kind)
            if record is not None:
                assert not set(record_dtype(record).names or ()) & set(dir(np.ndarray))


def check(record: object, fields: tuple) -> int:
    """Check that a record's values are of the kinds that its rows would hold; return how many were looked at."""
    for field in fields:
        value = getattr(record, field.name)
        for one in value if field.length else [value]:
            if field.code == "f8":
                assert type(one) is float, (record, field.name)
            else:
                assert type(one) in (int, bool), (record, field.name, one)
                assert -RANGES[field.code] <= one < RANGES[field.code], (record, field.name, one)
    return len(fields)


@pytest.mark.parametrize("number", range(40, 60))
def test_after_a_run_every_field_holds_what_its_row_could(number):
    """The compiled engine would cut or wrap anything else; Python would not notice."""
    scenario = draw(number)
    simulation = rdmacc.Simulation(**scenario.arguments(), engine="simpy")
    with contextlib.suppress(rdmacc.SimulationError):
        simulation.run("200us", progress=False)
    net = simulation.engine
    assert isinstance(net, Network)
    looked = 0
    for things, base, kinds in (
        (net.qps, QueuePair, ("sender", "receiver")),
        (net.messages, Message, ("transfer",)),
        (net.ports, Port, ("egress",)),
        ([node for node in net.nodes if isinstance(node, Host)], Host, ("endpoint",)),
    ):
        for thing in things:
            looked += check(thing, base.fields)
            for i, part in enumerate(scenario.scheme.components):
                for kind in kinds:
                    record = part.record(kind.capitalize())
                    if record is not None:
                        looked += check(getattr(thing, f"{kind}{i}"), record.fields)
    for port in net.ports:
        for packet in (*port.flight, *(p for queue in port.queues for p in queue)):
            looked += check(packet, Packet.fields)
    assert looked > 100
