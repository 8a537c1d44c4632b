"""Results loaded from a folder."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.probes import Probe
from rdmacc.results.folders import read_folder
from rdmacc.results.result import Recorded
from rdmacc.results.saving import FRAMES, KIND
from rdmacc.results.summary import Summary
from rdmacc.typed import typed

__all__ = ["SavedResult", "load"]


class SavedResult(Recorded):
    """A result loaded from a folder, with the frames of `rdmacc.Result`, its counters, summary, provenance and plots.

    Node names that are neither strings nor whole numbers have become strings.

    Parameters
    ----------
    frames : dict of DataFrame
        The frames, by name.
    about : dict
        Content of the JSON file.

    Attributes
    ----------
    collectives, jobs, transfers, ports, buffers : DataFrame
        As in `rdmacc.Result`.
    counters : Series
        Totals by name.
    provenance : dict
        Scheme, seed, engine, versions, wall time.
    """

    def __init__(self, frames: dict[str, pd.DataFrame], about: dict[str, Any]) -> None:
        self._flows, self._probes = frames["flows"], frames["probes"]
        self._computation, self.transfers = frames["computation"], frames["transfers"]
        self._job_of_host: dict[str, str] = about["job_of_host"]
        self.collectives, self.jobs = frames["collectives"], frames["jobs"]
        self.ports, self.buffers = frames["ports"], frames["buffers"]
        self.counters = pd.Series(about["counters"], name="counters")
        self.provenance: dict[str, Any] = about["provenance"]
        self._watched = tuple(_probe(one) for one in about["watched"])
        self._summary: dict[str, Any] = {
            name: float("nan") if value is None else value for name, value in about["summary"].items()
        }

    @property
    def flows(self) -> pd.DataFrame:
        """Messages, as `rdmacc.Result.flows`."""
        return self._flows

    @property
    def computation(self) -> pd.DataFrame:
        """Computations, as `rdmacc.Result.computation`."""
        return self._computation

    @property
    def job_of_host(self) -> dict[str, str]:
        """The job of each host that has one, by the host's name as a string."""
        return self._job_of_host

    @property
    def probes(self) -> pd.DataFrame:
        """Samples, as `rdmacc.Result.probes`."""
        return self._probes

    @property
    def watched(self) -> tuple[Probe, ...]:
        """The probes, in order."""
        return self._watched

    @property
    def scheme_name(self) -> str:
        """Name of the scheme that ran."""
        return str(self._summary["scheme"])

    @property
    def now_ps(self) -> int:
        """Simulated time when the run stopped."""
        return int(self._summary["simulated_ps"])

    @property
    def packet_trace(self) -> pd.DataFrame:
        """Not available.

        Raises
        ------
        ConfigError
            Always, because traces are not saved.
        """
        raise ConfigError("result", "saved", "a result that simulate() returned: a saved result has no trace")

    def explain(self, flow: Hashable) -> NoReturn:
        """Not available.

        Parameters
        ----------
        flow : hashable
            The message, by its label in the workload.

        Returns
        -------
        NoReturn
            Nothing.

        Raises
        ------
        ConfigError
            Always, because what explanations need is not saved.
        """
        allowed = "a result that simulate(..., explain=True) returned: a saved result has no trace to explain it by"
        raise ConfigError("result", "saved", allowed)

    def summary(self) -> Summary:
        """Return the key numbers of the run; `print` them."""
        return Summary(**self._summary)

    def __repr__(self) -> str:
        return f"<SavedResult {self.summary().title}>"


@typed
def load(folder: str | Path) -> SavedResult:
    """Load a result that `rdmacc.Result.save` wrote.

    Parameters
    ----------
    folder : path
        The folder.

    Returns
    -------
    SavedResult
        Its frames, counters, summary and plots.

    Raises
    ------
    ConfigError
        If there is no saved result, or it is damaged.
    """
    about, frames = read_folder(folder, KIND, FRAMES)
    try:
        _check(about)
        return SavedResult(frames, about)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("folder", str(folder), f"a folder that Result.save wrote ({error})") from None


def _check(about: dict[str, Any]) -> None:
    """Raise an exception unless the parts of a JSON file have the types with which they are written."""
    parts = {"summary": dict, "provenance": dict, "counters": dict, "watched": list, "job_of_host": dict}
    for name, kind in parts.items():
        if not isinstance(about[name], kind):
            raise TypeError(f"{name} is not a {kind.__name__}")
    for field in fields(Summary):
        value, kinds = about["summary"][field.name], _KINDS[str(field.type)]
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise TypeError(f"summary has no {field.name}, which is {field.type}")
    if not all(type(value) is int for value in about["counters"].values()):
        raise TypeError("a counter is not a whole number")


_KINDS: dict[str, Any] = {"str": str, "int": int, "float": int | float | None}


def _probe(fields: dict[str, Any]) -> Probe:
    known: dict[str, Any] = dict(fields)
    if isinstance(known["at"], list):
        known["at"] = tuple(known["at"])
    return Probe(**known)
