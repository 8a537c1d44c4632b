"""Results loaded from a folder."""

from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import check_types, typed
from rdmacc.probes import Probe
from rdmacc.results.folders import FRAMES, KIND, read_folder
from rdmacc.results.result import Result
from rdmacc.results.summary import Summary
from rdmacc.units import Quantity

__all__ = ["SavedResult", "load"]


class SavedResult(Result):
    """A result loaded from a folder, with the frames of `rdmacc.Result`, its counters, summary, provenance and plots.

    Node names that are neither strings nor whole numbers have become strings.
    """

    def __init__(self, frames: Mapping[str, pd.DataFrame], about: Mapping[str, Any]) -> None:
        kept: dict[str, Any] = {
            name: float("nan") if value is None else value for name, value in about["summary"].items()
        }
        self._summary = Summary(**kept)
        check_types(self._summary)
        vars(self).update(  # what a `Result` computes from its run
            frames, counters=pd.Series(about["counters"], name="counters"), provenance=about["provenance"],
            watched=tuple(_probe(one) for one in about["watched"]), job_of_host=about["job_of_host"],
            scheme_name=self._summary.scheme, now_ps=self._summary.simulated_ps,
            engine=self._summary.engine, wall_s=self._summary.wall_s,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name in ("plan", "outcome"):
            raise ConfigError("result", "saved", "a result that simulate() returned: a saved result has no trace")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def explain(self, flow: Hashable) -> NoReturn:
        """Not available: what explanations need is not saved."""
        allowed = "a result that simulate(..., explain=True) returned: a saved one has no trace. Simulate again, or "
        allowed += "explain before you save"
        raise ConfigError("result", "saved", allowed)

    def summary(self, window: tuple[Quantity, Quantity] | None = None) -> Summary:
        """Return the key numbers of the whole run; a saved result supports no `window`."""
        if window is not None:
            raise ConfigError("window", window, "None: a saved result has the summary of the whole run")
        return self._summary

    def __repr__(self) -> str:
        return f"<SavedResult {self.summary().title}>"


@typed
def load(folder: str | Path) -> SavedResult:
    """Load the result that `rdmacc.Result.save` wrote into a folder."""
    about, frames = read_folder(folder, KIND, FRAMES)
    try:
        _check(about)
        return SavedResult(frames, about)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("folder", str(folder), f"a folder that Result.save wrote ({error})") from None


def _check(about: dict[str, Any]) -> None:
    """Raise an exception unless the parts of a JSON file have the expected types."""
    parts = {"summary": dict, "provenance": dict, "counters": dict, "watched": list, "job_of_host": dict}
    for name, kind in parts.items():
        if not isinstance(about[name], kind):
            raise TypeError(f"{name} is not a {kind.__name__}")
    if not all(type(value) is int for value in about["counters"].values()):
        raise TypeError("a counter is not a whole number")


def _probe(fields: dict[str, Any]) -> Probe:
    known: dict[str, Any] = dict(fields)
    if isinstance(known["at"], list):
        known["at"] = tuple(known["at"])
    return Probe(**known)
