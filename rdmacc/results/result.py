"""Results: what a simulation measured, as tidy data frames, with the scenario that produced them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.outcome import RunOutcome
from rdmacc.engine.plan import Plan
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface import LINK_CLASSES
from rdmacc.results.activity import to_perfetto
from rdmacc.results.animation import Animation
from rdmacc.results.citations import Citations, papers_of, provenance_of
from rdmacc.results.explain import Explanation
from rdmacc.results.explain.recording import Recording
from rdmacc.results.folders import save
from rdmacc.results.frames import Frames
from rdmacc.results.summary import Summary, percentile, starting_in
from rdmacc.rules.progress import NO_ROUTE, NO_ROUTE_BACK
from rdmacc.units import Quantity, format_time, time_ps

if TYPE_CHECKING:
    from rdmacc.results.plots import ResultPlots

__all__ = ["Result"]


class Result(Frames):
    """The outcome of a simulation.

    ``result.plot`` draws it: `rates`, `queues`, `fct_cdf`, `slowdown_by_size`, `probe`, `ladder`, `step`, `explain`,
    `time_spent`, `network`; ``result.animate()`` shows the network in motion. Its frames are `flows`, `computation`,
    `collectives`, `jobs`, `transfers`, `probes`, `ports` and `buffers`; `counters` has totals, `provenance` what ran.

    Attributes
    ----------
    plan : Plan
        The scenario, resolved to arrays.
    outcome : RunOutcome
        What the engine recorded, as arrays.
    engine : str
        "simpy" or "compiled".
    wall_s, setup_s : float
        Wall time of the run and of its preparation, in seconds.
    """

    def __init__(self, plan: Plan, outcome: RunOutcome, engine: str, wall_s: float, setup_s: float) -> None:
        self.plan = plan
        self.outcome = outcome
        self.engine = engine
        self.wall_s = wall_s
        self.setup_s = setup_s
        self.repeat: Callable[[Plan, int], RunOutcome] | None = None
        self._again: Recording | None = None

    @property
    def plot(self) -> ResultPlots:
        """Plots of the result; each takes `ax` and returns the Axes."""
        from rdmacc.results.plots import ResultPlots  # imported late, because it imports results

        return ResultPlots(self)

    @cached_property
    def _recorded(self) -> Recording:
        assert self.outcome.trace is not None
        return Recording(self.plan, self.outcome.trace, self.outcome.now_ps)

    def recording(self, messages: npt.NDArray[np.bool_] | None = None) -> Recording:
        """Return the trace that explains some or all messages; repeat the run if it did not record one."""
        plan, acked_ps = self.plan, self.outcome.messages["acked_ps"]
        chosen = np.ones(plan.n_messages, np.bool_) if messages is None else messages
        if plan.explains and plan.explained[chosen].all():
            return self._recorded
        if self._again is None or not self._again.plan.explained[chosen].all():
            stays = messages is None or (acked_ps[chosen] < 0).any()
            until_ps = self.now_ps + 1 if stays else int(acked_ps[chosen].max()) + 1
            repeated, before_ps = plan.recorded(chosen), min(until_ps, self.now_ps)
            again = self.repeat(repeated, until_ps) if self.repeat else None
            if again is None or not np.array_equal(_ends(self.outcome, before_ps), _ends(again, before_ps)):
                allowed = (
                    "True: its messages end at other times when it runs again, or it is a fork with other parameters"
                )
                raise ConfigError("explain", False, allowed)
            assert again.trace is not None
            self._again = Recording(repeated, again.trace, again.now_ps)
        return self._again

    @typed
    def explanations(self, flows: Sequence[Hashable]) -> list[Explanation]:
        """Explain several messages; see `explain`."""
        numbers, plan = [self._number(flow) for flow in flows], self.plan
        for flow, number in zip(flows, numbers, strict=True):
            if not self._has_started()[number]:
                raise ConfigError("flow", flow, "a message that has started: this one waits, or its time has not come")
        if not numbers:
            return []
        chosen = np.isin(plan.qp, plan.qp[numbers])
        if len(plan.explained) and not (chosen & ~plan.explained).any():
            chosen = plan.explained
        recording = self.recording(chosen)
        return [Explanation(recording, self.outcome, number) for number in numbers]

    @typed
    def explain(self, flow: Hashable) -> Explanation:
        """Say why a message took as long as it did.

        A run with ``explain=True`` has recorded what this needs. Any other run is simulated again up to the message's
        end: once for all messages of a list, as in ``explain=[3, 17]``, otherwise for each message.

        Parameters
        ----------
        flow : hashable
            The message, by its label in the workload.

        Returns
        -------
        Explanation
            ``print`` it; its frames are `parts`, `events` and `causes`. For an undelivered message, it
            covers the time up to now.

        Raises
        ------
        ConfigError
            If there is no such message, it has not started, or the run cannot be repeated.

        Examples
        --------
        >>> import rdmacc
        >>> work = rdmacc.incast(["h1", "h2"], "h0", "64kB")
        >>> why = rdmacc.simulate(rdmacc.star(3), work, "line-rate").explain(1)
        >>> why.parts[why.parts.time_ps > 0].kind.tolist()
        ['queue at a port', 'transmission', 'propagation']
        """
        return self.explanations([flow])[0]

    @typed
    def animate(self, bin: Quantity | None = None) -> Animation:
        """Show the network in motion: links, queues, pauses and the heaviest flows, in a page with a slider.

        A run without ``explain=True`` is simulated again.

        Parameters
        ----------
        bin : number or str, optional
            Length of a period, such as ``"10us"``; default: a hundredth of the run.

        Returns
        -------
        Animation
            A notebook shows it; ``.save("x.html")`` writes a self-contained page, ``.save("x.gif")`` an animation.

        Raises
        ------
        ConfigError
            If the page would be larger than 3 MB, or the run cannot be repeated.
        """
        bin_ps = max(self.now_ps // 100, 1) if bin is None else time_ps(bin, field="bin", least=1)
        return Animation(self, np.arange(-(-max(self.now_ps, 1) // bin_ps) + 1) * bin_ps)

    def cite(self) -> Citations:
        """Return the papers behind the scheme's components, its preset and the message sizes.

        Examples
        --------
        >>> import rdmacc
        >>> work = rdmacc.incast(["h1", "h2"], "h0", "64kB")
        >>> str(rdmacc.simulate(rdmacc.star(3), work, "timely").cite()).partition(", doi")[0]
        'Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015'
        """
        return papers_of(self.plan.scheme, self.plan.workload)

    def digest(self) -> str:
        """Return a digest of the run, 16 hexadecimal digits: equal digests mean equal runs.

        It covers all integers in `flows` and `ports`: when each message ended, to the picosecond, and the traffic of
        each port. The ideal completion time is left out, because no simulation depends on it.
        """
        found = hashlib.sha256()
        for frame in (self.flows.drop(columns="ideal_fct_ps"), self.ports):
            for name in sorted(frame.columns):
                if frame[name].dtype.kind in "iub" or str(frame[name].dtype).startswith(("Int", "UInt")):
                    found.update(f"{name} {frame[name].tolist()}".encode())
        return found.hexdigest()[:16]

    @cached_property
    def provenance(self) -> dict[str, Any]:
        """What ran (scheme, network, workload, faults, seed), on which code and machine, and the wall time."""
        times = {"simulated_ps": self.now_ps, "wall_s": self.wall_s, "setup_s": self.setup_s}
        return provenance_of(self.plan, self.engine, self.outcome) | times

    save = save
    to_perfetto = to_perfetto

    @typed
    def goodput(self, flow: Hashable) -> float:
        """Return the goodput of a message in bit/s: payload received, divided by the time since its start.

        Parameters
        ----------
        flow : hashable
            The message, by its label in the workload.

        Returns
        -------
        float
            Averaged until the last byte is delivered (or until now); NaN if the message has not started.
        """
        return float(self.flows["goodput_bps"].to_numpy()[self._number(flow)])

    def _number(self, flow: Hashable) -> int:
        labels = self.plan.workload.index
        if flow not in labels:
            known = f"{labels[0]!r} to {labels[-1]!r}" if len(labels) else "which has none"
            raise ConfigError("flow", flow, f"a message of the workload, {known}")
        number: Any = labels.get_loc(flow)
        return int(number)

    @typed
    def summary(self, window: tuple[Quantity, Quantity] | None = None) -> Summary:
        """Return the key numbers of the run; `print` them.

        Parameters
        ----------
        window : (start, end), optional
            Times such as ``("1ms", "5ms")``: count only messages that start at or after the first and before the
            second, to exclude the warm-up and the end, when the load falls. Queues, marks, drops and other totals cover
            the whole run.

        Raises
        ------
        ConfigError
            If the window is not a pair of times, or no message starts in it.
        """
        counters, messages = self.counters, self.outcome.messages
        chosen = starting_in(window, messages["start_ps"])
        flows = self.flows[chosen]
        transport = self.transport()
        delivered = flows[flows["fct_ps"].notna()]
        fct_ps, slowdown = delivered["fct_ps"].to_numpy(np.float64), delivered["slowdown"]
        return Summary(
            scheme=self.plan.scheme.name,
            network=self.plan.fabric.name,
            engine=self.engine,
            seed=self.plan.seed,
            simulated_ps=self.now_ps,
            wall_s=self.wall_s,
            flows=len(flows),
            finished=int((flows["status"] == "finished").sum()),
            failed=int((flows["status"] == "failed").sum()),
            fct_median_ps=percentile(fct_ps, 50),
            fct_p99_ps=percentile(fct_ps, 99),
            slowdown_median=percentile(slowdown, 50),
            slowdown_p99=percentile(slowdown, 99),
            goodput_bps=transport.goodput_bps(chosen),
            offered_bps=transport.offered_bps(chosen),
            carried_bps=transport.carried_bps(chosen),
            peak_queue_bytes=int(counters["peak_queue_bytes"]),
            pfc_pauses=int(counters["pfc_pauses"]),
            cnps=int(counters["cnps"]),
            marked_packets=int(sum(counters[f"marks_{name}"] for name in LINK_CLASSES)),
            drops=int(counters["dropped_packets"] + counters["pfc_violations"] + counters["lost_packets"]),
            retransmissions=int(counters["retransmissions"]),
            timeouts=int(counters["timeouts"]),
            no_route=int(np.isin(messages["failed"][chosen], (NO_ROUTE, NO_ROUTE_BACK)).sum()),
        )

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __repr__(self) -> str:
        finished = int((self.flows["status"] == "finished").sum())
        return (
            f"<Result {self.plan.scheme.name} on {self.plan.fabric.name or 'a network'}: {finished} of "
            f"{len(self.flows)} flows finished, {format_time(self.now_ps)} simulated>"
        )


def _ends(outcome: RunOutcome, until_ps: int) -> npt.NDArray[np.int64]:
    """Return when messages were delivered before a time; -1 for the others."""
    delivered_ps = outcome.messages["delivered_ps"]
    return np.where(delivered_ps < until_ps, delivered_ps, -1)
