"""REN: sensitivity of its headline, "AFCT reduced by up to 68%"."""

from __future__ import annotations

from rdmacc.experiments.ren.gains import HEADLINE, NEAR
from rdmacc.experiments.ren.leaf_spine_readings import in_place_of
from ..api import *
from .leaf_spine import *
from .loads import *
from .setup import *

_OTHERS = ("phost", "homa", "ndp")
_QUANTITIES = ("AFCT", "AFCT, short", "p99 FCT, short")


def _compared(
    ren: str = "ren", others: Sequence[str] = _OTHERS, changes: Mapping[str, Mapping[str, Any]] | None = None,
    **options: Any,
) -> dict[str, LeafSpineCase]:  # fmt: skip
    """Return REN, as "ren", and the others under a variation; `changes` by scheme, or for "all" of them."""
    found, changed = {}, changes or {}
    for label, scheme in {"ren": ren, **{one: one for one in others}}.items():
        own = {**changed.get("all", {}), **changed.get(label, {})}
        found[label] = LeafSpineCase(scheme, "cache_follower", 0.7, changes=tuple(own.items()), **options)
    return found


def _timers(time: str) -> dict[str, dict[str, Any]]:
    return {
        "phost": {"ask_timeout_ps": time},
        "homa": {"resend_interval_ps": time, "ping_interval_ps": time},
        "ndp": {"timeout_ps": time},
    }


_ASSUMED = _compared()
_LITERAL, _LITERAL_KEPT = "marks: literal", "marks: literal, one packet kept"
VARIATIONS: dict[str, dict[str, LeafSpineCase]] = {
    "as assumed": _ASSUMED,
    "marks: less those under way": _compared("ren-outstanding"),
    "marks: by packet": _compared("ren-packet"),
    _LITERAL_KEPT: _compared("ren-literal"),
    _LITERAL: _compared("ren-literal-unsafe"),
    "timers of the others: 0.1 ms": _compared(changes=_timers("100us")),
    "timers of the others: 10 ms": _compared(changes=_timers("10ms")),
    "timer of REN: 1 ms": _compared(changes={"ren": {"least_timeout_ps": "1ms"}}),
    "load: of hosts' links": _compared(others=("phost", "homa"), load_of="host"),
    "paths: ECMP": _compared(others=("phost", "homa"), changes={"all": {"routing": "ecmp"}}),
}
"""The run of each scheme, by variation."""
BUFFERS: dict[str, dict[str, LeafSpineCase]] = {
    "as assumed": _ASSUMED,
    "buffer: 128 KB a switch": _compared(is_shared=True),
    "the same, timers of the others: 0.1 ms": _compared(changes=_timers("100us"), is_shared=True),
    "the same, timers of the others: 10 ms": _compared(changes=_timers("10ms"), is_shared=True),
}
"""The same with the buffer read as per switch."""
_EVERY = VARIATIONS | BUFFERS
READ_AS = {
    "outstanding": "marks: less those under way", "packet": "marks: by packet", "literal": _LITERAL_KEPT,
    "host links": "load: of hosts' links",
    "switch buffer": "buffer: 128 KB a switch", "ECMP": "paths: ECMP", "timers 0.1 ms": "timers of the others: 0.1 ms",
    "timers 10 ms": "timers of the others: 10 ms", "REN timer 1 ms": "timer of REN: 1 ms",
}  # fmt: skip
"""Variations that are readings of the paper (`experiments/ren/readings.toml`)."""
_UNMARKED = replace(_ASSUMED["ren"], scheme="traditional")
_AT_QUICK = ("as assumed", "marks: by packet", _LITERAL_KEPT, _LITERAL, "paths: ECMP")


def runs(names: Iterable[str]) -> list[LeafSpineCase]:
    """Return the runs of variations, without duplicates."""
    return list(dict.fromkeys([*(case for name in names for case in _EVERY[name].values()), _UNMARKED]))


def _values(rows: pd.DataFrame, case: LeafSpineCase, quantity: str) -> pd.Series[float]:
    chosen = having(rows, scheme=case.scheme, changes=case.differences)
    return pd.Series(rows[quantity].to_numpy()[chosen], pd.Index(rows["seed"].to_numpy()[chosen], name="seed"))


def gains(rows: pd.DataFrame, name: str, quantity: str) -> dict[str, pd.Series[float]]:
    """Return REN's reduction relative to the others under a variation, by seed."""
    runs = _EVERY[name] | ({"traditional": _UNMARKED} if name == "as assumed" else {})
    ren, *others = ((label, _values(rows, run, quantity)) for label, run in runs.items())
    return {other: 1 - ren[1] / its for other, its in others}


def _ran(rows: pd.DataFrame) -> list[str]:
    known = labels_of(rows, "scheme", "changes")
    return [name for name, one in _EVERY.items() if all((run.scheme, run.differences) in known for run in one.values())]


def _of_ren(rows: pd.DataFrame, quantity: str, *names: str) -> dict[str, float]:
    return {name: float(_values(rows, VARIATIONS[name]["ren"], quantity).mean()) for name in names}


def _kept(rows: pd.DataFrame) -> float:
    literal, assumed = _of_ren(rows, "AFCT", _LITERAL_KEPT, "as assumed").values()
    return literal / assumed - 1


def _reductions(names: Iterable[str], rows: pd.DataFrame) -> Measured:
    found = {
        f"{name}, over {LOOKS[other][0]}": float(values.mean())
        for name in names
        for other, values in gains(rows, name, "AFCT").items()
        if other in _OTHERS and values.notna().any()
    }
    assumed = max(value for name, value in found.items() if name.startswith("as assumed"))
    return Measured(found, f"as assumed at most {assumed:.0%}")


def _headline(id: str, variations: Mapping[str, Any]) -> Claim:
    return claim(id, measure=partial(_reductions, tuple(variations)), band=Some(AtLeast(HEADLINE - NEAR)),
                 direction=Some(AtLeast(HEADLINE / 2)))  # fmt: skip


_ALL = tuple(runs(VARIATIONS))


class Sensitivity(LeafSpineFigure):
    name = "ren.sensitivity"
    claims: tuple[Claim, ...] = (
        claim("ren-x-1a", measure=lambda rows: _of_ren(rows, "unfinished", "as assumed", _LITERAL),
              band=All({"as assumed": Exactly(0), _LITERAL: MoreThan(0)}), needs=_ALL),
        claim("ren-x-1b", measure=_kept, band=MoreThan(0.05), direction=MoreThan(0), needs=_ALL),
        claim("ren-x-1c",
              measure=lambda rows: {one: gains(rows, "as assumed", one)["traditional"].mean() for one in _QUANTITIES},
              band=Each(MoreThan(0.05)), direction=POSITIVE, needs=_ALL),
        _headline("ren-x-4a", VARIATIONS),
    )  # fmt: skip

    def cases(self, scale: str) -> list[LeafSpineCase]:
        return runs(_AT_QUICK) if scale == "quick" else list(_ALL)

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the whole table; for a reading, the runs of its variation replace the assumed ones."""
        if reading == DEFAULT:
            return table
        runs_of = _EVERY.get(READ_AS.get(reading, ""), {})
        return in_place_of(table, {_ASSUMED[label]: run for label, run in runs_of.items()})

    def draw(self, rows: pd.DataFrame) -> Figure:
        names = _ran(rows)
        size = (12.0, 1.4 + 0.42 * len(names))
        figure, axes = subplots(1, len(_QUANTITIES), figsize=size, sharey=True, layout="constrained")
        for ax, quantity in zip(axes, _QUANTITIES, strict=True):
            for place, name in enumerate(names):
                self._row(ax, rows, name, quantity, place)
            ax.axvline(0, color="0.3", linewidth=0.8)
            ax.axvline(100 * HEADLINE, color="0.3", linewidth=0.8, linestyle="--")
            ax.set(xlim=(-105, 100), title=quantity, xlabel="reduction by REN (%)")
        axes[0].set_yticks(np.arange(len(names)), names)
        axes[0].invert_yaxis()
        for one in (*_OTHERS, "traditional"):
            label, colour, marker = LOOKS[one]
            axes[0].plot([], [], marker, color=colour, linestyle="none", label=f"over {label}")
        axes[0].plot([], [], "--", color="0.3", label="headline: 68%")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        figure.suptitle(f"REN: {self.title.lower()}; cache follower, load 0.7")
        return figure

    def _row(self, ax: Axes, rows: pd.DataFrame, name: str, quantity: str, place: int) -> None:
        undone = float(_values(rows, _EVERY[name]["ren"], "unfinished").mean()) / float(rows["flows"].iloc[0])
        if undone:
            ax.text(-100, place, f"{undone:.0%} of REN's flows are never done", va="center", fontsize="small")
            return
        for step, (other, values) in enumerate(gains(rows, name, quantity).items()):
            (_, colour, marker), mean, height = LOOKS[other], 100 * values.mean(), place + 0.16 * (step - 1)
            if mean < -100:
                ax.text(-103, height, f"◀ {mean:.0f}%", va="center", fontsize="x-small", color=colour)
                continue
            look: dict[str, Any] = {"fmt": marker, "color": colour, "markersize": 5, "capsize": 2}
            draw_spread(ax, height, mean, 100 * values.min(), 100 * values.max(), is_upright=False, **look)


class Buffers(Sensitivity):
    name = "ren.buffers"
    claims = (_headline("ren-x-4b", BUFFERS),)

    def cases(self, scale: str) -> list[LeafSpineCase]:
        return runs(tuple(BUFFERS)[:2]) if scale == "quick" else runs(BUFFERS)
