"""Records: one declaration, two layouts. After any run, every field must fit the compiled engine's column.

The compiled engine keeps `Int` in 64 bits, `Int32` in 32, `Byte` in 8 and `Float` in a double, and wraps silently;
Python does not. So these tests check the reference engine's values against those ranges, scheme by scheme.
"""

import dataclasses

import numpy as np
import pytest

import rdmacc
from rdmacc import ConfigError, DropTail, Loss
from rdmacc.engine.reference.core import Core
from rdmacc.interface import NEVER, Byte, Deadline, Float, Floats, Int, Int32, Ints, Packet, Record, record_dtype
from rdmacc.interface import state as states
from rdmacc.interface.records import BANNED_NAMES
from rdmacc.schemes import SCHEMES
from tests.support import mostly_at_night, refused


class Every(Record):
    count = Int(7, "a count")
    index = Int32(-1)
    flag = Byte(1)
    rate_bps = Float(2)
    alpha_timer_ps = Deadline("when")
    history = Ints(3, -5)
    weights = Floats(2, 1)


def test_defaults_and_types():
    record = Every()
    assert (record.count, record.index, record.flag, record.rate_bps) == (7, -1, 1, 2.0)
    assert isinstance(record.rate_bps, float)
    assert record.alpha_timer_ps == record.alpha_timer_armed == NEVER
    assert record.history == [-5] * 3
    assert record.weights == [1.0] * 2


def test_reset_restores_every_field():
    record = Every()
    for field in Every.fields:
        setattr(record, field.name, [0] * field.length if field.length else 0)
    record.alpha_timer_armed = 5
    record.reset()
    assert repr(record) == repr(Every())
    assert record.alpha_timer_armed == NEVER


def test_the_dtype_has_the_same_fields():
    dtype = record_dtype(Every)
    assert dtype.names == (
        "count", "index", "flag", "rate_bps", "alpha_timer_ps", "alpha_timer_armed", "history", "weights"
    )  # fmt: skip
    kinds = [dtype[name].base.str[1:] for name in dtype.names]
    assert kinds == ["i8", "i4", "i1", "f8", "i8", "i8", "i8", "f8"]
    assert (dtype["history"].shape, dtype["weights"].shape) == ((3,), (2,))
    assert dtype.isalignedstruct


def test_records_one_after_another_must_not_share_a_name():
    class Other(Record):
        count = Int()

    assert record_dtype(Packet, Every).names[-1] == "weights"
    refused(lambda: record_dtype(Every, Other), "Other = 'count': must be another name: `Every` already has this field")


def test_inherited_fields_come_first():
    class More(Every):
        extra = Int(3)

    assert [field.name for field in More.fields][-2:] == ["weights", "extra"]
    assert (More().extra, More().count) == (3, 7)


@pytest.mark.parametrize("name", sorted(BANNED_NAMES))
def test_names_of_numpy_attributes_are_refused(name):
    with pytest.raises(ConfigError, match=f"^Bad.{name} = .*NumPy"):
        type("Bad", (Record,), {name: Int()})
    assert hasattr(np.ndarray, name) or hasattr(np.record, name) or hasattr(np.generic, name)


def all_records():
    """Yield every record class of the engines and of the schemes' components."""
    for name in ("Packet", "Message", "QueuePair", "Host", "Port"):
        yield getattr(states, name)
    for make in SCHEMES.values():
        for part in make().components:
            for kind in rdmacc.interface.component.RECORD_KINDS:
                if part.record(kind) is not None:
                    yield part.record(kind)


def test_defaults_fit_their_columns():
    for record in dict.fromkeys(all_records()):
        row = np.zeros(1, record_dtype(record))[0]
        for field in record.fields:
            row[field.name] = field.default  # NumPy refuses values that do not fit
            assert np.all(row[field.name] == field.default)


LIMITS = {"i8": 2**63, "i4": 2**31, "i1": 2**7}


def misfits(thing, record, where):
    """Yield the parts of a record that the compiled engine's columns would not preserve."""
    for field in record.fields:
        values = getattr(thing, field.name)
        if field.is_bits:  # stored separately in the compiled engine: tests/engine/test_bits.py
            continue
        for value in values if field.length else [values]:
            if field.code == "f8":
                fits = type(value) is float and value == value
            else:
                limit = LIMITS[field.code]
                fits = type(value) in (int, bool) and -limit <= value < limit
            if not fits:
                yield f"{where}.{field.name} = {value!r} ({type(value).__name__})"
        if field.length and len(values) != field.length:
            yield f"{where}.{field.name} has {len(values)} values"


def engine_records(network, packets):
    """Yield (object, record class, name) for all records in a reference engine, and for the packets it made."""
    groups = {"qp": network.qps, "message": network.messages, "port": network.ports}
    groups["host"] = [node for node in network.nodes if isinstance(node, states.Host)]
    groups["switch"] = [node for node in network.nodes if not isinstance(node, states.Host)]
    bases = {"qp": states.QueuePair, "message": states.Message, "port": states.Port, "host": states.Host}
    for owner, things in groups.items():
        for thing in things:
            if owner in bases:
                yield thing, bases[owner], owner
            for name, record in network.binding.record_slots(owner):
                yield getattr(thing, name), record, f"{owner}.{record.__qualname__}"
    headers = [part.record("Header") for part in network.plan.scheme.components]
    for packet in packets:
        yield packet, Packet, "packet"
        for record in filter(None, headers):
            yield packet, record, f"packet.{record.__qualname__}"


@pytest.mark.slow
@pytest.mark.parametrize("buffer", ["pfc", "droptail"])
@pytest.mark.parametrize("name", mostly_at_night(SCHEMES, every=2))
def test_all_fields_fit_in_a_run_and_after_it(name, buffer, monkeypatch):
    """A workload that marks, pauses or drops, loses, announces groups and times out."""
    scheme = SCHEMES[name]()
    if buffer == "droptail":
        scheme = dataclasses.replace(scheme, buffer=DropTail(limit_bytes=30_000))
    if hasattr(scheme.recovery, "timeout_ps"):
        scheme = scheme.replace(timeout_ps="100us")
    graph = rdmacc.leaf_spine(2, 2, 4, rate="10Gbps", buffer="800kB")
    hosts = rdmacc.topology.hosts(graph)
    work = rdmacc.combine(
        rdmacc.incast(hosts[1:], hosts[0], "60kB"),
        rdmacc.permutation(hosts, "30kB"),
        rdmacc.messages([(hosts[1], hosts[2], 1), (hosts[2], hosts[1], 1001, 0, None, (0,), 0.3)]),
    )
    packets = []

    def kept(net, make=Core.new_packet):
        packets.append(make(net))
        return packets[-1]

    monkeypatch.setattr(Core, "new_packet", kept)
    simulation = rdmacc.Simulation(graph, work, scheme, engine="simpy", faults=[Loss(data=0.003, control=0.003)])
    for until in ("30us", "50ms"):
        simulation.run(until)
        assert len(packets) > 20
        found = [text for record in engine_records(simulation.engine, packets[::5]) for text in misfits(*record)]
        assert found == []


@pytest.mark.parametrize(
    ("made", "allowed"),
    [
        (lambda: Int(0.5), "whole number"), (lambda: Int(2**63), "whole number"),
        (lambda: Int32(2**31), "to 2147483647"),
        (lambda: Byte(128), "from -128 to 127"), (lambda: Float("fast"), "a number"), (lambda: Float(None), "a number"),
        (lambda: Ints(3, 1.5), "whole number"), (lambda: Ints(0), "from 1 to"), (lambda: Floats(2.0), "from 1 to"),
        (lambda: Floats(2**40), "from 1 to"),
    ],
)  # fmt: skip
def test_wrong_fields(made, allowed):
    refused(lambda: type("Wrong", (Record,), {"value": made()}), allowed)


def test_a_deadline_is_named_as_one():
    refused(lambda: type("Bad", (Record,), {"alpha_ps": Deadline()}), "must end in '_timer_ps'")
