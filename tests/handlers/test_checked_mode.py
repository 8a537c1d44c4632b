"""Checked mode: handlers' mistakes reach the user, and results do not change."""

import inspect
import linecache
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rdmacc
from rdmacc import Scheme
from rdmacc.engine.compiled.machine_code.exceptions import compile_error
from rdmacc.errors import ConfigError, HandlerError, LivelockError, StalledError
from rdmacc.handlers.hooks import calls_of
from rdmacc.interface import Component, Deadline, Float, Int, Ints, Record, param
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.schemes import SCHEMES
from rdmacc.switch.red import Red
from rdmacc.topology.fabric import Fabric
from tests.conftest import ENGINES
from tests.support import mostly_at_night

_NET = rdmacc.leaf_spine(2, 2, 2, rate="25Gbps")
_WORK = rdmacc.incast(["h1", "h2"], "h0", "30kB")


@dataclass(frozen=True, kw_only=True)
class Slip(Component):
    """Fails at the sixth packet."""

    class Sender(Record):
        rate_bps = Float()
        seen = Ints(4)

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_ack(sender, packet):
        if packet.psn > 5:
            sender.seen[packet.psn] = 1


@dataclass(frozen=True, kw_only=True)
class Fine(Component):
    class Sender(Record):
        rate_bps = Float()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps / 2


@dataclass(frozen=True, kw_only=True)
class Stopped(Component):
    """Ends with an invalid rate."""

    class Sender(Record):
        rate_bps = Float()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_ack(sender, packet):
        if packet.psn > 3:
            sender.rate_bps = 0.0


@dataclass(frozen=True, kw_only=True)
class Raises(Component):
    """Raises a custom exception."""

    def on_ack(packet):
        if packet.psn > 5:
            raise ValueError("too far")


@dataclass(frozen=True, kw_only=True)
class Grows(Component):
    """Ends with a number that does not fit a float."""

    factor: float = param(1.0, "of the exponent")

    class Sender(Record):
        x = Float()

    def on_ack(params, sender, packet):
        sender.x = math.exp(params.factor * packet.psn) + math.log(5.0 - packet.psn)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("factor", [1.0, 500.0])
def test_a_math_function_without_a_result_is_named_alike(engine: str, factor: float) -> None:
    with pytest.raises(HandlerError) as caught:
        rdmacc.simulate(_NET, _WORK, Scheme(control=Grows(factor=factor)), engine=engine)
    assert caught.value.reason == "ValueError: a math function without a finite result"


@dataclass(frozen=True, kw_only=True)
class Circle(Component):
    class Sender(Record):
        circle_timer_ps = Deadline()

    def on_start(sender, now):
        sender.circle_timer_ps = now + 1000

    def on_circle_timer(sender, now):
        sender.circle_timer_ps = now


@pytest.mark.parametrize("engine", ENGINES)
def test_an_index_out_of_range_is_named_with_handler_line_and_queue_pair(engine: str) -> None:
    with pytest.raises(
        HandlerError, match=r"^Slip\.on_ack, line \d+ \(at \d+ ps, queue pair 0, message 0\): IndexError"
    ) as caught:
        rdmacc.simulate(_NET, _WORK, Scheme(control=Slip()), engine=engine)
    line = caught.value.line
    assert line is not None
    with open(__file__) as file:
        assert "sender.seen[packet.psn] = 1" in file.readlines()[line - 1]
    assert caught.value.filename == __file__
    assert caught.value.result.flows.fct_ps.isna().all()


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_handler_raises_reaches_the_user_unchecked_too(engine: str) -> None:
    with pytest.raises(HandlerError, match=r"^Raises\.on_ack, line \d+ .*: ValueError: too far"):
        rdmacc.simulate(_NET, _WORK, Scheme(control=Raises()), engine=engine, check=False)


@pytest.mark.parametrize("check", [True, False])
def test_an_error_names_the_current_file_and_line(tmp_path: Path, check: bool) -> None:
    source = inspect.getsource(Raises).replace("@dataclass(frozen=True, kw_only=True)\n", "")
    for lines, name in [(0, "here"), (0, "copied"), (7, "copied")]:
        path = tmp_path / f"{name}.py"
        path.write_text("\n" * lines + source)
        namespace: dict[str, Any] = {"Component": Component, "__name__": "user"}
        exec(compile(path.read_text(), str(path), "exec"), namespace)
        linecache.checkcache()
        part = dataclass(frozen=True, kw_only=True)(namespace["Raises"])()
        with pytest.raises(HandlerError, match="too far") as caught:
            rdmacc.simulate(_NET, _WORK, Scheme(control=part), engine="compiled", check=check)
        assert caught.value.filename == str(path)
        assert caught.value.line is not None
        assert path.read_text().splitlines()[caught.value.line - 1].strip() == 'raise ValueError("too far")'


@pytest.mark.parametrize("engine", ENGINES)
def test_an_invalid_rate_is_named(engine: str) -> None:
    scheme = Scheme(control=Stopped())
    with pytest.raises(HandlerError, match=r"queue pair 0, message 0\): sender\.rate_bps = 0: must be from 1 kb/s"):
        rdmacc.simulate(_NET, _WORK, scheme, engine=engine)
    with pytest.raises(StalledError, match=r"Stopped\.Sender\.rate_bps of queue pair \d is 0"):
        rdmacc.simulate(_NET, _WORK, scheme, engine=engine, check=False)


@dataclass(frozen=True, kw_only=True)
class Astray(Component):
    """Sends packets out of any port of the network, whichever switch it belongs to."""

    to: int = param(0, "number of the port")

    def on_route(params, packet):
        packet.route = params.to


@pytest.mark.parametrize("engine", ENGINES)
def test_a_packet_leaves_a_switch_by_one_of_its_own_ports(engine: str) -> None:
    fabric, one = Fabric.from_graph(_NET), rdmacc.messages([("h1", "h0", 1000)])
    leaf = fabric.port_peer[fabric.node_first_port[fabric.index["h1"]]]

    def run(to: int) -> None:
        rdmacc.simulate(
            _NET, one, Scheme(switch=Astray(to=to)), engine=engine, until="2us"
        )  # as far as the first switch

    for to in range(fabric.n_ports):
        if fabric.port_node[to] == leaf:
            run(to)
            continue
        with pytest.raises(HandlerError, match=r"^Astray\.on_route \(at .*message 0, port \d+\)") as caught:
            run(to)
        assert caught.value.reason == f"packet.route = {to}: must be -1 or the number of a port of this switch"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_livelock_is_named(engine: str) -> None:
    allowed = r"livelock at 1000 ps: .*Circle\.Sender\.circle_timer_ps of queue pair \d: Circle\.on_circle_timer"
    with pytest.raises(LivelockError, match=allowed) as caught:
        rdmacc.simulate(_NET, _WORK, Scheme(control=Circle()), engine=engine, check=False)
    assert len(caught.value.result.flows) == 2


@dataclass(frozen=True, kw_only=True)
class Beside(Dcqcn):
    """A class from outside the package whose handlers are all from the package."""


def test_only_components_from_outside_the_package_are_checked_by_default() -> None:
    for control in (Fine(), Beside()):
        scheme = Scheme(control=control, switch=Red())
        assert rdmacc.Simulation(_NET, _WORK, scheme, engine="simpy").plan.is_checked
        assert not rdmacc.Simulation(_NET, _WORK, scheme, engine="simpy", check=False).plan.is_checked
    assert not rdmacc.Simulation(_NET, _WORK, "dcqcn", engine="simpy").plan.is_checked
    assert rdmacc.Simulation(_NET, _WORK, "dcqcn", engine="simpy", check=True).plan.is_checked


STEP = 1


@dataclass(frozen=True, kw_only=True)
class Counts(Component):
    """Counts packets in steps of a number that may change."""

    class Sender(Record):
        rate_bps = Float()
        count = Int()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_send(sender):
        sender.count += STEP


def same(name: str, engine: str) -> bool:
    runs = (rdmacc.simulate(_NET, _WORK, name, engine=engine, until="2ms", check=check) for check in (False, True))
    plain, checked = runs
    return plain.flows.equals(checked.flows) and plain.counters.equals(checked.counters)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_scheme_passes_its_checks(name: str) -> None:
    assert same(name, "simpy")


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(["dcqcn", "dart", "ren", "expresspass-aeolus"], every=4))
def test_every_scheme_passes_its_checks_compiled(name: str) -> None:
    assert same(name, "compiled")


@contextmanager
def interrupted(after_s: float) -> Iterator[Callable[[], float]]:
    """Press Ctrl-C after a time; return how long it took to take effect."""
    pressed = [0.0]

    def press(*_: object) -> None:
        pressed[0] = time.perf_counter()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, press)
    signal.setitimer(signal.ITIMER_REAL, after_s)
    begin = time.perf_counter()
    try:
        yield lambda: time.perf_counter() - begin - after_s
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_ctrl_c_ends_a_run_within_a_second(engine: str) -> None:
    work: Any = rdmacc.incast(["h1", "h2"], "h0", "100GB")
    run = rdmacc.Simulation(_NET, work, "dcqcn", engine=engine)
    with interrupted(1.5) as late_s, pytest.raises(KeyboardInterrupt) as caught:
        run.run(progress=False)
    assert late_s() < 1.0
    assert caught.value.result.counters.data_packet_hops > 0  # type: ignore[attr-defined]


def test_compiler_errors_name_the_handlers_line() -> None:
    scheme = Scheme(control=Slip())
    (call,) = [call for call in calls_of(scheme.components)["on_ack"] if call.function is Slip.on_ack]
    line = Slip.on_ack.__code__.co_firstlineno + 1
    numbas = f'Failed in nopython mode pipeline\nno matching operation\n\nFile "{__file__}", line {line}:\n<source>'
    error = compile_error(scheme, "on_ack", {"on_ack_0": call}, TypeError(numbas))
    assert str(error) == f"Slip.on_ack (line {line}) cannot be compiled: if packet.psn > 5:: no matching operation"
    assert compile_error(scheme, "on_ack", {"on_ack_0": call}, TypeError("no")).handler == f"{scheme.name}: on_ack"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str, dict[str, Any]]:
    """Return a user's file, its text, and its module's content."""
    monkeypatch.setattr("rdmacc.handlers.source._TREES", {})  # equal bytecode is cached by another test
    source = inspect.getsource(Counts).replace("STEP", "5")
    names = {"dataclass": dataclass, "Component": Component, "Record": Record, "Float": Float, "Int": Int}
    return tmp_path / "own.py", source, {**names, "__name__": "own"}


def imported(file: Path, source: str, names: dict[str, Any]) -> Any:
    file.write_text(source)
    linecache.checkcache(str(file))
    exec(compile(source, str(file), "exec"), names)
    return names["Counts"]


@pytest.mark.parametrize("other", ["-= 5", "+= 7", "+= 5.0", "+= 5 if sender.count else 5"])
def test_a_file_changed_since_its_import_is_not_read(own: Any, other: str) -> None:
    """Checked mode runs the source it reads, which must be the imported one."""
    file, source, names = own
    counts = imported(file, source, names)
    file.write_text(source.replace("+= 5", other))
    linecache.checkcache(str(file))
    with pytest.raises(ConfigError, match=r"Counts\.on_send = .*must be a plain function.*whose source can be read"):
        Scheme(control=counts())
    file.write_text(source)
    linecache.checkcache(str(file))
    assert Scheme(control=counts())
