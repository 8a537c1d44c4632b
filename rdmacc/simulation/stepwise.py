"""A simulation controlled step by step: run to a time, send messages, fork, write to a file."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import networkx as nx
import pandas as pd

from rdmacc.engine import checkpoints
from rdmacc.engine.plan import make_plan
from rdmacc.engine.sent import Completion
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import checked_flag, named, typed
from rdmacc.faults import Fault
from rdmacc.interface import NEVER
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation.copies import forked, loaded, save
from rdmacc.simulation.running import Running, check_memory, is_checked
from rdmacc.topology.fabric import Fabric
from rdmacc.units import Quantity, time_ps
from rdmacc.workload.schedule import Workload


class Simulation(Running):
    """A scenario that can be run up to a time, inspected, and continued.

    Parameters
    ----------
    network : networkx.Graph
        Network, from a builder in `rdmacc.topology` or your own graph (see `rdmacc.topology.validate`).
    workload : pandas.DataFrame, Schedule or Recipe
        Messages, one row each (see `rdmacc.workload`); a `rdmacc.workload.schedule.Schedule`; or its `Recipe`.
    scheme : str or Scheme
        What runs on hosts and switches.
    engine : {"auto", "compiled", "simpy"}
        "auto" is the compiled engine, or SimPy if the compiled engine is not available.
    seed : int
        Seed of all randomness.
    probes : sequence of Probe
        What to record while running.
    faults : sequence of Fault
        Faults of links, NICs and host clocks; see `rdmacc.faults`.
    trace : bool
        Record every packet's events, for `result.packet_trace`.
    explain : bool or sequence of hashable
        True records what held packets back, for all messages, as `result.explain` needs. Otherwise nothing is recorded,
        and `result.explain` repeats the simulation; given a list of labels, once for all of them.
    check : bool, optional
        Catch errors in handlers: exceptions, division by zero, an index or packet number out of range, a number that a
        field cannot hold, an endless loop, and values that an engine cannot use, such as a rate of NaN. Results are the
        same; a run takes up to a sixth longer. Default: only for a scheme with a component from outside the package,
        such as one defined in a notebook.
    order : {"auto", "time", "windows"}
        The order in which the compiled engine processes events: "time" is strictly by time; "windows" takes one node
        after another, each for as long as the shortest link's delay. "auto" chooses windows for large networks, where
        they are faster. Results are the same.
    threads : int
        Number of threads that share the nodes of a window. More than one pays off from about a thousand hosts, if there
        are as many processors. Results are the same. Without windows a single thread runs, and `result.provenance` says
        why.

    Raises
    ------
    ConfigError
        If any argument is invalid, before anything runs.
    """

    @named
    def __init__(
        self,
        network: nx.Graph[Any],
        workload: Workload,
        scheme: str | Scheme,
        *,
        engine: str = "auto",
        seed: int = 0,
        probes: Sequence[Probe] = (),
        faults: Sequence[Fault] = (),
        trace: bool = False,
        explain: bool | Sequence[Hashable] = False,
        check: bool | None = None,
        order: str = "auto",
        threads: int = 1,
    ) -> None:
        begin = time.perf_counter()
        chosen = as_scheme(scheme)
        trace = checked_flag("trace", trace)
        if not isinstance(explain, list | tuple):
            explain = checked_flag("explain", explain, "True, False, or a list of messages")
        if isinstance(probes, list | tuple):
            names = [one.name for one in probes if isinstance(one, Probe)]
            for one in names:
                if names.count(one) > 1:
                    raise ConfigError("probes", one, "the name of one probe; samples are found by name")
        self._plan_of = partial(
            make_plan, network if isinstance(network, Fabric) else Fabric.from_graph(network), scheme=chosen, seed=seed,
            probes=probes, faults=faults, has_trace=trace, explains=explain, is_checked=is_checked(chosen, check),
        )  # fmt: skip
        plan = self._plan_of(workload)
        check_memory(plan)
        super().__init__(plan, engine, order, threads, begin)

    @property
    def workload(self) -> pd.DataFrame:
        """All messages, including those sent so far: `simulate` with this workload gives the same times."""
        return self._sent.frame()

    def run(self, until: Quantity | None = None, *, progress: bool | None = None) -> Result:
        """Continue the run, and return the result so far.

        Parameters
        ----------
        until : quantity of time, optional
            Stop before the events of this time. Default: run until every message is finished.
        progress : bool, optional
            Show a progress bar with the time left: of simulated time if `until` is given, otherwise of delivered bytes.
            Default: only if the run takes more than a second.

        Returns
        -------
        Result
            Everything up to now.

        Raises
        ------
        DeadlockError
            If ports wait on each other in a cycle that nothing will resolve.
        StalledError
            If messages are unfinished and no events are left, or only futile retries (`rdmacc.engine.stalls`).
        ConfigError
            If `until` is not a time, or is in the past.
        HandlerError
            If a handler raises an exception or writes a value that an engine cannot use.
        LivelockError
            If time does not advance, for example because a handler keeps setting a timer to now.
        KeyboardInterrupt
            On Ctrl-C. Like the errors above, it has the result so far as `result`; calling `run` again continues from
            there.
        """
        return self.to(until, progress)

    # Messages sent while it runs

    @named
    def send(
        self, src: Hashable, dst: Hashable, size: Quantity, *, at: Quantity | None = None, priority: int | None = None
    ) -> int:
        """Send a message in addition to the workload, now or later.

        Times are the same as if the workload had contained the message, with this start time, from the beginning.

        Parameters
        ----------
        src, dst : hashable
            Names of two hosts.
        size : quantity of bytes
            Payload, such as ``"64kB"``.
        at : quantity of time, optional
            When it starts; default: `earliest_ps`.
        priority : int, optional
            Class of its packets; default: the scheme's. With PFC, switches reserve room for the classes of the initial
            messages and for those given to `workload.open_work`.

        Returns
        -------
        int
            The message's label, as in `result.flows`.

        Raises
        ------
        ConfigError
            For an unknown host, a size below 1 byte, a time in the past, a class without room, or a simulation that
            accepts no messages: one that is explained, or whose workload has computation, paths or assigned queue
            pairs.
        """
        earliest_ps = self.engine.earliest_ps
        start_ps = earliest_ps if at is None else time_ps(at, field="at")
        return self.send_at(src, dst, size, start_ps, priority, earliest_ps)

    def run_until(self, message: int) -> Completion:
        """Run until a message is delivered or fails.

        Returns 1 ps later, when everything at that instant has happened. A message sent in response starts then.

        Parameters
        ----------
        message : int
            Its label: what `send` returned, or a row of the workload.

        Returns
        -------
        Completion
            Its times.

        Raises
        ------
        ConfigError
            If there is no such message.
        SimulationError
            As in `run`.
        """
        number = self._sent.number(message)
        if not self._sent.is_over(self.engine, number):
            if number < self._sent.first:  # sent messages are already awaited
                self.engine.await_end(number)
            while number not in self._next_ends(NEVER):
                pass
        return self._sent.completion(self.engine, number)

    def next_completion(self, until: Quantity | None = None) -> Completion | None:
        """Run until the next of the sent messages is delivered or fails.

        Parameters
        ----------
        until : quantity of time, optional
            Stop before the events of this time; default: never.

        Returns
        -------
        Completion or None
            Its times; each message is returned once, in the order of the ends. None if no message is left, or none
            ended before `until`.

        Raises
        ------
        ConfigError
            If `until` is not a time, or is in the past.
        SimulationError
            As in `run`.
        """
        until_ps = self._until_ps(until)
        if not self._sent.fresh and self._sent.has_outstanding:
            self._next_ends(until_ps)
        return self._sent.completion(self.engine, self._sent.fresh.popleft()) if self._sent.fresh else None

    def fork(
        self,
        *,
        faults: Sequence[Fault] = (),
        parameters: Mapping[str, Any] = MappingProxyType({}),
        seed: int | None = None,
    ) -> Self:
        """Return an independent copy that continues from here.

        The compiled engine copies its tables. The SimPy engine runs again to this point, event for event.

        Parameters
        ----------
        faults : sequence of Fault
            Link failures, slow links and pause storms from now on.
        parameters : mapping
            New values of components' parameters from now on, by name as in `Scheme.replace`. What handlers have already
            computed from the old values stays as it is, such as the initial rate of a queue pair of the workload.
        seed : int, optional
            Seed of everything random from now on: marks, losses, jitter, handlers' draws. Paths that hosts and switches
            choose by a hash stay as they are.

        Returns
        -------
        Simulation
            The copy.

        Raises
        ------
        ConfigError
            If a fault begins at time 0 or in the past; if `seed` is invalid; if a parameter affects more than handlers'
            reads, such as records, buffers or base times; on the SimPy engine with a user's processes.
        """
        return forked(self, faults, parameters, seed)

    def __deepcopy__(self, _: Any) -> Self:
        return self.fork()

    def __reduce__(self) -> Any:
        allowed = "written by `save` and read by `Simulation.load`, or copied by `fork`: it cannot be pickled"
        raise ConfigError("simulation", f"at {self.now_ps} ps", allowed)

    @typed
    def save(self, path: str | Path) -> None:
        """Write a checkpoint, from which `Simulation.load` continues, also in another process.

        Parameters
        ----------
        path : str or Path
            The file. It is replaced atomically once everything is written.

        Raises
        ------
        ConfigError
            On the SimPy engine.
        OSError
            If the file cannot be written. An existing file is kept.
        """
        save(self, path)

    @classmethod
    @typed
    def load(cls, path: str | Path) -> Self:
        """Return the simulation stored in a checkpoint. It continues exactly like the one that wrote it.

        The file is unpickled, so load only files that you trust.

        Parameters
        ----------
        path : str or Path
            What `save` or `simulate(..., checkpoint=...)` wrote.

        Raises
        ------
        ConfigError
            If the file is damaged, or was written with different code, versions or components; the error says which.
        """
        return loaded(cls, checkpoints.read(path))
