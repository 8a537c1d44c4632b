"""Builds a network's objects from its plan: nodes and ports, queue pairs, messages, computation."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any, Generic, TypeVar

from rdmacc.engine.records import MESSAGE_COLUMNS
from rdmacc.engine.reference.core import Computation, Core, Message, QueuePair
from rdmacc.engine.reference.hosts import Host
from rdmacc.engine.reference.messages import schedule_computation, schedule_start
from rdmacc.engine.reference.nic import NicPort, ScanningNicPort
from rdmacc.engine.reference.ports import Port
from rdmacc.engine.reference.switches import Switch, SwitchPort
from rdmacc.engine.sent import Pair
from rdmacc.handlers.hooks import bits_of
from rdmacc.interface import make_bits

_Thing = TypeVar("_Thing")


class _Maker(Generic[_Thing]):
    """Creates objects of a class with the components' records of their kind as attributes."""

    def __init__(self, net: Core, base: type[_Thing], owner: str) -> None:
        self._records = net.binding.record_slots(owner)
        kind: Any = base  # its own key in a cache
        self._class: type[_Thing] = _class_with(kind, tuple(name for name, _ in self._records))

    def __call__(self, *args: Any) -> _Thing:
        thing = self._class(*args)
        for name, record in self._records:
            setattr(thing, name, record())
        return thing


def make_nodes(net: Core) -> tuple[list[Host | Switch], list[Port]]:
    fabric = net.fabric
    make_host, make_switch = _Maker(net, Host, "host"), _Maker(net, Switch, "switch")
    make_nic = _Maker(net, ScanningNicPort if net.scheme.has_scanning_nics else NicPort, "port")
    make_output = _Maker(net, SwitchPort, "port")
    nodes: list[Host | Switch] = [
        make_host(net, node) if fabric.is_host[node] else make_switch(net, node) for node in range(fabric.n_nodes)
    ]
    ports: list[Port] = []
    for number in range(fabric.n_ports):
        node = nodes[fabric.port_node[number]]
        if isinstance(node, Host):
            ports.append(node.add(make_nic(net, number)))
        else:
            ports.append(node.add(make_output(net, number)))
    for port in ports:
        port.reverse = ports[fabric.port_reverse[port.number]]
        port.receive = nodes[fabric.port_peer[port.number]].receive
        if net.on_port is not None:
            net.on_port(port)
    return nodes, ports


def make_queue_pairs(net: Core, ports: Sequence[Port], hosts: Mapping[int, Host], pairs: Iterable[Pair]) -> None:
    make = _Maker(net, QueuePair, "qp")
    for pair in pairs:
        qp = make()
        for name, value in zip(pair._fields, pair):
            setattr(qp, name, value)
        nic, reply_nic = ports[pair.nic], ports[pair.reply_nic]
        assert isinstance(nic, NicPort)
        assert isinstance(reply_nic, NicPort)
        qp.nic, qp.reply_nic = nic, reply_nic
        hosts[qp.dst].expect(qp)
        if net.on_open is not None:
            net.on_open(qp)
        net.qps.append(qp)


def make_messages(net: Core, hosts: Mapping[int, Host]) -> None:
    """Make `net.messages`, and schedule those that wait for no other."""
    plan = net.plan
    values: list[Any] = [getattr(plan, name)[: plan.n_messages].tolist() for name in MESSAGE_COLUMNS]
    add_messages(net, hosts, (dict(zip(MESSAGE_COLUMNS, row, strict=True)) for row in zip(*values, strict=True)))


def add_messages(net: Core, hosts: Mapping[int, Host], rows: Iterable[Mapping[str, Any]]) -> None:
    scheme, make = net.plan.scheme, _Maker(net, Message, "message")
    bits = bits_of(scheme.components)
    for row in rows:
        message = make()
        message.number = len(net.messages)
        for name, value in row.items():
            setattr(message, name, value)
        message.payload_bytes = scheme.payload_bytes
        message.granted_psn = message.packets
        for component, field in bits:
            setattr(getattr(message, f"transfer{component}"), field.name, make_bits(message.packets))
        message.queue_pair = qp = net.qps[message.qp]
        if not hasattr(qp, "first_message"):
            qp.first_message = message
        if message.group >= 0:
            hosts[message.dst].expect_message(message)
        net.messages.append(message)
        if message.waits_for == 0:
            schedule_start(net, message, message.start_ps)


def make_computation(net: Core) -> None:
    """Make `net.computation`, and schedule the rows that wait for nothing."""
    plan, computing = net.plan, net.plan.computation
    for host, start_ps, duration_ps in zip(computing.host, computing.start_ps, computing.duration_ps, strict=True):
        row = Computation()
        row.number, row.src = plan.n_messages + len(net.computation), int(host)
        row.start_ps, row.duration_ps = int(start_ps), int(duration_ps)
        row.waits_for = int(plan.waits_for[row.number])
        net.computation.append(row)
        if row.waits_for == 0:
            schedule_computation(net, row)


@cache
def _class_with(base: type, slots: tuple[str, ...]) -> type:
    """Return a subclass with more slots, and with a copy of each method.

    Python finds an attribute fastest where a function has met it on the same class before (PEP 659), and forgets that
    when another class comes: ports of hosts and of switches, or of two schemes, must not share a function's code.
    The copies are of the same source lines, where a debugger finds them; tracebacks and profiles name the class.
    """
    return type(base)(base.__name__, (base,), {**_own_methods(base), "__slots__": slots})


def _own_methods(base: type) -> dict[str, FunctionType]:
    methods = {}
    for cls in reversed(base.__mro__[:-1]):
        for name, method in vars(cls).items():
            if isinstance(method, FunctionType):
                code = method.__code__.replace(co_name=f"{base.__name__}.{name}")
                methods[name] = FunctionType(code, method.__globals__, name, method.__defaults__, method.__closure__)
    return methods
