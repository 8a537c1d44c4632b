"""Results read back from a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from rdmacc.errors import ConfigError
from rdmacc.probes import Probe
from rdmacc.results.result import Recorded
from rdmacc.results.saving import ABOUT, FORMAT, FRAMES
from rdmacc.results.summary import Summary

__all__ = ["SavedResult", "load"]


class SavedResult(Recorded):
    """A result from a folder: the frames of `rdmacc.Result`, its counters, summary, provenance and plots.

    Names of nodes that are neither text nor whole numbers have become text.

    Parameters
    ----------
    frames : dict of DataFrame
        The frames, by name.
    about : dict
        What the JSON file holds.

    Attributes
    ----------
    transfers, ports, buffers : DataFrame
        As `rdmacc.Result` has them.
    counters : Series
        Totals by name.
    provenance : dict
        Scheme, seed, engine, versions, wall time.
    """

    def __init__(self, frames: dict[str, pd.DataFrame], about: dict[str, Any]) -> None:
        self._flows, self._probes = frames["flows"], frames["probes"]
        self.transfers, self.ports, self.buffers = frames["transfers"], frames["ports"], frames["buffers"]
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
    def probes(self) -> pd.DataFrame:
        """Samples, as `rdmacc.Result.probes`."""
        return self._probes

    @property
    def watched(self) -> tuple[Probe, ...]:
        """The probes, in their order."""
        return self._watched

    @property
    def scheme_name(self) -> str:
        """Name of the scheme that ran."""
        return str(self._summary["scheme"])

    @property
    def now_ps(self) -> int:
        """Simulated time at which the run stopped."""
        return int(self._summary["simulated_ps"])

    @property
    def packet_trace(self) -> pd.DataFrame:
        """There is none.

        Raises
        ------
        ConfigError
            Always: a trace is not saved.
        """
        raise ConfigError("result", "saved", "as simulate() returns it: a trace is not saved")

    def summary(self) -> Summary:
        """Return the numbers that say how the run went; `print` them."""
        return Summary(**self._summary)

    def __repr__(self) -> str:
        return f"<SavedResult {self.summary().title}>"


def load(folder: str | Path) -> SavedResult:
    """Return a result that `rdmacc.Result.save` wrote.

    Parameters
    ----------
    folder : path
        Where it is.

    Returns
    -------
    SavedResult
        Its frames, counters, summary and plots.

    Raises
    ------
    ConfigError
        If there is none, or it is damaged.
    """
    source = Path(folder)
    wanted = "a folder that Result.save wrote"
    try:
        about = json.loads((source / ABOUT).read_text())
        if about["format"] != FORMAT:
            raise ConfigError("folder", str(source), f"{wanted}, in format {FORMAT}, not {about['format']}")
        frames = {name: pd.read_parquet(source / f"{name}.parquet") for name in FRAMES}
        return SavedResult(frames, about)
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError("folder", str(source), f"{wanted} ({type(error).__name__}: {error})") from None


def _probe(fields: dict[str, Any]) -> Probe:
    known: dict[str, Any] = dict(fields)
    if isinstance(known["at"], list):
        known["at"] = tuple(known["at"])
    return Probe(**known)
