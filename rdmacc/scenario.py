"""A scenario as one object: what `rdmacc.simulate` takes, ready to run, cheap to make and to pickle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.faults import Fault
from rdmacc.probes import Probe
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation import simulate
from rdmacc.topology import Graph
from rdmacc.units import Quantity

__all__ = ["Scenario"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scenario:
    """What `rdmacc.simulate` takes, as one object.

    Attributes
    ----------
    topology : networkx.Graph or callable
        The network, or a call that builds it, such as ``functools.partial(rdmacc.star, 3)``: quick to send to
        another process.
    workload : DataFrame or callable
        The messages, or a call that makes them.
    scheme, engine, seed, until, probes, faults, trace
        As in `rdmacc.simulate`.
    """

    topology: Graph | Callable[[], Graph]
    workload: pd.DataFrame | Callable[[], pd.DataFrame]
    scheme: str | Scheme
    engine: str = "auto"
    seed: int = 0
    until: Quantity | None = None
    probes: Sequence[Probe] = ()
    faults: Sequence[Fault] = ()
    trace: bool = False

    def network(self) -> Graph:
        """Return the network."""
        return self.topology() if callable(self.topology) else self.topology

    def messages(self) -> pd.DataFrame:
        """Return the workload."""
        return self.workload() if callable(self.workload) else self.workload

    def run(self) -> Result:
        """Simulate it.

        Returns
        -------
        Result
            Flows, probes, counters and plots.
        """
        return simulate(
            self.network(), self.messages(), self.scheme, engine=self.engine, seed=self.seed, until=self.until,
            probes=self.probes, faults=self.faults, trace=self.trace, progress=False,
        )  # fmt: skip

    def to_toml(self, path: str | Path) -> Path:
        """Write the scenario to a TOML file, the network and the messages included.

        Parameters
        ----------
        path : path
            The file.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        ConfigError
            If a node's name is neither text nor a whole number.
        """
        from rdmacc.scenario_file import write_scenario  # it makes scenarios, and imports this module

        return write_scenario(self, path)

    @staticmethod
    def from_toml(path: str | Path) -> Scenario:
        """Return the scenario in a TOML file that `to_toml` wrote.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        ConfigError
            If it is no such file, or names a component that is not imported.
        """
        from rdmacc.scenario_file import read_scenario

        return read_scenario(path)

    def with_parameters(self, changes: Mapping[str, Any]) -> Scenario:
        """Return a copy with some of the scheme's parameters changed.

        Parameters
        ----------
        changes : mapping
            New values by parameter name.

        Raises
        ------
        ConfigError
            If the scheme does not have such a parameter, or a value is not allowed.
        """
        return replace(self, scheme=as_scheme(self.scheme).replace(**changes))
