"""REN's leaf-spine figures under other readings of the paper: the runs that replace the default ones.

A reading that changes one scheme still compares it with the default runs of the others. Readings and evidence:
`experiments/ren/readings.toml`.
"""

from ..api import *
from .leaf_spine import *


def _under(*schemes: str, **changes: Any) -> Callable[[LeafSpineCase], LeafSpineCase]:
    """Return a function that changes the runs of these schemes."""
    return lambda case: replace(case, **changes) if case.scheme in schemes else case


_host_links, _one_grant = partial(replace, load_of="host"), _under("phost", "homa", scheme="traditional")
READ_AS: dict[str, Callable[[LeafSpineCase], LeafSpineCase]] = {
    "outstanding": _under("ren", scheme="ren-outstanding"),
    "host links": _host_links,
    "host links, one grant": lambda case: _host_links(_one_grant(case)),
    "one grant": _one_grant,
    "ECMP": _under("phost", "homa", "aeolus", changes=(("routing", "ecmp"),)),
    "switch buffer": partial(replace, is_shared=True),
}
"""By reading, the run that replaces a default one."""


def _fewer(count: int) -> Callable[[LeafSpineCase], LeafSpineCase]:
    return lambda case: replace(_host_links(_one_grant(case)), count=count)


BY_NUMBER = {f"host links, one grant, {count:,} messages": _fewer(count) for count in (1000, 2500)}
"""The same with fewer messages; `rdmacc.experiments.ren.messages` has the runs."""


def in_place_of(table: pd.DataFrame, runs: Mapping[LeafSpineCase, LeafSpineCase]) -> pd.DataFrame | None:
    """Return the rows of runs, labelled as the cases that they replace."""
    if not runs:
        return None
    own, their = (pd.DataFrame([case.identity for case in some]) for some in (runs, runs.values()))
    labels = [str(label) for label in own]
    found = table.merge(their.assign(place=their.index), on=labels).sort_values("place", kind="stable")
    count = found.groupby("seed")["place"].nunique()
    rows = found[found["seed"].isin(count.index[count == len(own)])].reset_index(drop=True)
    if rows.empty:
        return None
    rows[labels] = own.loc[rows["place"]].reset_index(drop=True)
    rows["point"] = rows["scheme"] + ": " + rows["point"]
    return rows.drop(columns="place")


def _as_assumed(table: pd.DataFrame) -> pd.DataFrame:
    return table[(table["changes"] == "") & table["scheme"].isin(SCHEMES)]


class LeafSpineReadings(LeafSpineFigure):
    """A figure whose table also has runs of other readings."""

    read_at: Mapping[str, tuple[float, ...]] = MappingProxyType({})
    """Loads at which each reading has been run."""

    @abstractmethod
    def assumed(self, scale: str) -> list[LeafSpineCase]:
        """Return the default cases."""

    def runs(self, reading: str) -> dict[LeafSpineCase, LeafSpineCase]:
        """Return the run that replaces each default case under a reading, at the loads of that reading."""
        loads = self.read_at.get(reading, ())
        read_as = {**READ_AS, **BY_NUMBER}.get(reading)
        return {case: read_as(case) for case in self.assumed("paper") if read_as and case.load in loads}

    def cases(self, scale: str) -> list[LeafSpineCase]:
        """Return other readings' runs (at paper scale), then the default ones: the last ones are the canaries."""
        own = self.assumed(scale)
        others = [run for reading in self.read_at for run in self.runs(reading).values()] if scale == "paper" else []
        return [*dict.fromkeys(run for run in others if run not in set(own)), *own]

    def rows_of_seeds(self, table: pd.DataFrame) -> dict[int, pd.DataFrame]:
        return {one: table[table["seed"] == one] for one in super().rows_of_seeds(_as_assumed(table))}

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the default rows; for a reading, those that replace them, at the loads of that reading."""
        if reading == DEFAULT:
            return _as_assumed(table)
        return in_place_of(table, self.runs(reading))

    def plot(self, table: pd.DataFrame) -> Figure:
        return super().plot(_as_assumed(table))
