"""REN, figures 15 to 18: the load that the core carries, and REN's gains at 0.7 under a lasting load."""

from rdmacc.experiments.ren.gains import gain
from ..api import *
from .leaf_spine import *
from .loads import *
from .setup import *

_LOAD = 0.7
PARTS = {1: "as in figures 15 to 18", 3: "three times as long, the middle third"}
"""Measured messages, by the number of parts of a run."""
_MARKERS = dict(zip(PANELS, ("o", "s", "^", "D"), strict=True))


@dataclass(frozen=True)
class Length:
    """A run of a scheme, with its number of parts of 5,000 messages."""

    scheme: str
    workload: str
    parts: int
    load: float = _LOAD

    @property
    def identity(self) -> dict[str, Any]:
        return {"scheme": self.scheme, "workload": self.workload, "load": self.load, "changes": PARTS[self.parts]}

    def point(self, scale: str, seed: int) -> Point:
        network = network_of(scale)
        traffic = partial(messages, network, self.workload, scale, self.load, "core", seed, self.parts)
        return Point.of(
            f"{self.scheme}, {self.workload} {self.load:.0%}, {PARTS[self.parts]}, seed {seed}",
            self.identity | {"seed": seed},
            network=network, workload=traffic, scheme=scheme_of(self.scheme), seed=seed, until=UNTIL,
            cost=self.parts * sizes_of(self.workload, scale).mean,
        )  # fmt: skip


def _loads(parts: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the loads that the core carries under REN: rows by offered load, columns by workload."""
    chosen = rows[(rows["scheme"] == "ren") & (rows["changes"] == PARTS[parts])]
    return chosen.pivot_table("load carried", "load", "workload")


def _carried(parts: int, rows: pd.DataFrame) -> dict[str, float]:
    found: Any = _loads(parts, rows).loc[_LOAD]
    return {title: found[name] for name, title in WORKLOADS.items() if name in found}


def gains(rows: pd.DataFrame) -> pd.DataFrame:
    """Return REN's gains: rows by quantity, baseline and workload, columns by number of parts."""
    keys = [
        (quantity, one, name)
        for quantity in PANELS
        for one in BASELINES
        for name in WORKLOADS
        if ((rows["scheme"] == one) & (rows["workload"] == name)).any()
    ]
    rows = rows[rows["load"] == _LOAD]
    of_part = {parts: rows[rows["changes"] == words].assign(changes="") for parts, words in PARTS.items()}
    found = {parts: [gain(part, *key)[_LOAD] for key in keys] for parts, part in of_part.items()}
    return pd.DataFrame(found, index=pd.MultiIndex.from_tuples(keys, names=["quantity", "baseline", "workload"]))


def _same_sign(rows: pd.DataFrame) -> Measured:
    found = gains(rows)
    is_same = np.sign(found[1]) == np.sign(found[3])
    others = [f"{quantity} {LOOKS[one][0]} {name}" for quantity, one, name in is_same.index[~is_same]]
    by_quantity = is_same.groupby("quantity").mean()
    words = "; ".join(f"{quantity} {by_quantity[quantity]:.0%}" for quantity in PANELS)
    return Measured({"all": float(is_same.mean())}, f"{words}. Other sign: {', '.join(others) or 'none'}")


def _draw_loads(ax: Axes, rows: pd.DataFrame) -> None:
    short, long = _loads(1, rows), _loads(3, rows)
    for (name, title), colour, marker in zip(WORKLOADS.items(), COLOURS.values(), "osD^", strict=False):
        if name in short:
            ax.plot(short.index, short[name], marker=marker, color=colour, label=title)
            ax.plot(long.index, long[name], marker, color=colour, mfc="none", markersize=9)
    ax.plot([], [], "o", color="0.3", mfc="none", markersize=9, label=PARTS[3])
    ends = [0, float(short.index.max())]
    ax.plot(ends, ends, color="0.3", linestyle="--", label="offered")
    ax.set(title="under REN, while messages arrive", xlabel="load offered", ylabel="load of the ToR-core links")
    ax.set(xlim=(0, None), ylim=(0, None))
    ax.legend(loc="upper left", fontsize="small")


def _draw_gains(ax: Axes, rows: pd.DataFrame) -> None:
    found = 100 * gains(rows)
    for (quantity, one), values in found.groupby(["quantity", "baseline"], sort=False):
        ax.plot(values[1], values[3], _MARKERS[str(quantity)], color=LOOKS[one][1], markersize=5)
    for one in BASELINES:
        if one in found.index.get_level_values("baseline"):
            ax.plot([], [], "o", color=LOOKS[one][1], label=f"over {LOOKS[one][0]}")
    for quantity, marker in _MARKERS.items():
        ax.plot([], [], marker, mfc="none", mec="0.3", linestyle="none", label=PANELS[quantity][0])
    ends = [float(found.min().min()), float(found.max().max())]
    ax.plot(ends, ends, color="0.7", linewidth=0.8, zorder=0)
    ax.axhline(0, color="0.3", linewidth=0.8)
    ax.axvline(0, color="0.3", linewidth=0.8)
    ax.set(title="REN's gain by workload, baseline and quantity", xlabel=f"{PARTS[1]} (%)", ylabel=f"{PARTS[3]} (%)")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


_LASTS = Each(Within(_LOAD, by=0.1 * _LOAD), of="workload")
_ALL = tuple(Length(scheme, name, parts) for name in WORKLOADS for parts in PARTS for scheme in SCHEMES)
_LOWER = tuple(Length("ren", name, 1, load) for name in WORKLOADS for load in LOADS["paper"] if load != _LOAD)


class Carried(CaseFigure):
    name = "ren.carried"
    seeds = 1
    claims = (
        claim("ren-x-5a", measure=partial(_carried, 1), band=_LASTS, needs=_ALL),
        claim("ren-x-5b", measure=partial(_carried, 3), band=_LASTS, needs=_ALL),
        claim("ren-x-5c", measure=_same_sign, band=At("all", AtLeast(0.9)), direction=At("all", AtLeast(0.75)),
              needs=_ALL),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Length]:
        if scale == "paper":
            return [*_ALL, *_LOWER]
        return [one for one in _ALL if one.scheme in ("ren", "dctcp", "ndp") and one.workload in [*WORKLOADS][:2]]

    def canaries(self) -> list[Point]:
        """Return none: figures 15 to 18 cover the first part of these runs."""
        return []

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        scenario = point.scenario
        assert scenario is not None
        parts = next(parts for parts, words in PARTS.items() if words == point.labels["changes"])
        every_ps = int(scenario.messages()["start_ps"].max()) // parts
        links = [sorted(link) for link in scenario.make_network().edges]
        watched = [
            probes.utilisation(leaf, spine, every=f"{every_ps}ps")
            for leaf, spine in links
            if (leaf[0], spine[0]) == ("l", "s")
        ]
        result = run(replace(scenario, probes=watched))
        flows, samples = result.flows, result.probes
        middle = parts // 2
        is_counted = (flows["start_ps"] // every_ps == middle).to_numpy() | (parts == 1)
        numbers = {
            "load carried": (samples[samples["time_ps"] == (middle + 1) * every_ps]["value"].mean(), ""),
            **completion(flows["size_bytes"].to_numpy()[is_counted], fct_so_far_ps(result)[is_counted]),
            "flows": (len(flows), ""),
            "flows, counted": (is_counted.sum(), ""),
            "unfinished": (unfinished(flows), ""),
        }
        return tidy(point.name, numbers)

    def draw(self, rows: pd.DataFrame) -> Figure:
        figure, (left, right) = subplots(1, 2, figsize=(11.5, 4.6), layout="constrained")
        _draw_loads(left, rows)
        _draw_gains(right, rows)
        what = f"the load that the core carries, and what REN gains once {_LOAD} lasts"
        figure.suptitle(f"REN: {what}, {hosts(rows)}")
        return figure
