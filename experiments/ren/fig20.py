"""REN, figure 20: senders that do not respond to all receivers, under Homa's overcommitment and under REN."""

from ..api import *
from .setup import *

DEGREES = (1, 2, 4, 8)
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)
KEPT, NOT_KEPT = "REN", "REN, no packet kept"
OTHER_MARKS = STAND_INS["outstanding"][KEPT]
_SENDERS = 40
_UNSCHEDULED = 38
_EVERY_PS, _FROM_PS, _UNTIL = us(15), us(2000), ms(4)
_RECEIVERS = (f"h{_SENDERS}", f"h{2 * _SENDERS + 1}")
_PORTS = (("leaf0", _RECEIVERS[0]), ("leaf1", _RECEIVERS[1]))
_ORDER = 5020
_COLOURS = ("yellow", "orange", "vermilion", "green")
"""Colours of Homa's degrees."""
_FULL = {"utilisation": AtLeast(0.9, "%")}
_SHORT_QUEUE = {"queue": AtMost(5, "packets"), "queue less Homa's": AtMost(0, "packets")}


def share_in_use(degree: int, share: Any) -> Any:
    """Return the probability that at least one granted message is of a responsive sender."""
    return 1 - (1 - share) ** degree


def _flows(share: float, is_homa: bool, seed: int) -> pd.DataFrame:
    chance = np.random.default_rng([seed, _ORDER])
    senders = [f"h{i}" for i in range(2 * (_SENDERS + 1)) if f"h{i}" not in _RECEIVERS]
    answering = set(chance.permutation(senders)[: round(share * len(senders))])
    rows, starts = [], []
    for receiver in _RECEIVERS:
        for place, sender in enumerate(chance.permutation(senders)):
            size = int(chance.integers(MB(20), MB(40)))
            if not is_homa and sender not in answering:
                size = _UNSCHEDULED * PAYLOAD_BYTES
            rows.append((sender, receiver, size))
            starts.append(place * _EVERY_PS + int(chance.integers(0, _EVERY_PS)))
    return workload.messages(rows).assign(start_ps=starts)


def _homa(table: pd.DataFrame) -> list[str]:
    found = wide(table)
    degrees = sorted(found.loc[found["degree"] > 0, "degree"].unique())
    return [f"Homa, K = {degree:.0f}" for degree in degrees]


def _draw_share_in_use(ax: Axes, table: pd.DataFrame) -> None:
    shares = np.linspace(min(SHARES), 1, 50)
    for name, colour in zip(_homa(table), _COLOURS):
        use = 100 * share_in_use(int(name.rpartition(" ")[2]), shares)
        ax.plot(shares, use, ":", color=COLOURS[colour], linewidth=1)


def _never_falls(slack: float, unit: str = "") -> Band:
    """Return the band of `_steps`: no step falls, and the ends differ by more than the slack."""
    return All({"least step": AtLeast(0, unit), "end to end": MoreThan(slack, unit)})


def _steps(means: pd.DataFrame) -> dict[str, float]:
    """Return the smallest step to a larger share or degree, and the difference between the ends."""
    values = means.to_numpy(np.float64)
    least = min(np.diff(values, axis=axis).min() for axis in (0, 1))
    return {"least step": least, "end to end": values[-1, -1] - values[0, 0]}


def _homa_rises(table: pd.DataFrame) -> Measured:
    use, queue = (means_over(table, name, "share")[_homa(table)] for name in ("utilisation", "mean queue"))
    words = "; ".join(
        f"{name} {use[name].iloc[0]:.0%} to {use[name].iloc[-1]:.0%},"
        f" {queue[name].iloc[0]:.0f} to {queue[name].iloc[-1]:.0f}"
        for name in use
    )
    return Measured(
        {"utilisation": _steps(use), "queue": _steps(queue)}, f"use and packets, least to largest share: {words}"
    )


def _ren(table: pd.DataFrame, name: str = KEPT) -> dict[str, dict[str, float]]:
    use, queue = means_over(table, "utilisation", "share")[name], means_over(table, "mean queue", "share")
    less = queue[name] - queue[_homa(table)[-1]]
    return {
        f"share {share:g}": {"utilisation": use[share], "queue": queue[name][share], "queue less Homa's": less[share]}
        for share in use.index
    }


class Figure20(ReadingFigure):
    name = "ren.fig20"
    seeding = Seeding.POOLED
    claims = (
        claim("ren-f20-1", measure=_homa_rises,
              band=All({"utilisation": _never_falls(0.05, "points"), "queue": _never_falls(5.0, "packets")}),
              direction=Each(At("end to end", MoreThan(0)))),
        claim("ren-f20-2", measure=_ren, band=Each(All(_FULL, _SHORT_QUEUE), of="share"), direction=Each(All(_FULL))),
        claim("ren-f20-a", measure=partial(_ren, name=NOT_KEPT), band=Each(All(_FULL, _SHORT_QUEUE), of="share"),
              direction=Each(All(_FULL))),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        shares = (0.2, 1.0) if is_quick else SHARES
        for degree in (0, 1, 8) if is_quick else (0, *DEGREES):
            names = (f"Homa, K = {degree}",) if degree else (KEPT, NOT_KEPT, OTHER_MARKS)
            runs = 1 if is_quick else 12 if degree else 3
            for name, share, one in product(names, shares, range(seed, seed + runs)):
                yield self._point(name, degree, share, one)

    @staticmethod
    def _point(name: str, degree: int, share: float, seed: int) -> Point:
        if degree:
            scheme = SIMULATED["homa"].replace(overcommit=degree, responsive_fraction=share)
        else:
            scheme = SIMULATED["ren-outstanding" if name == OTHER_MARKS else "ren"].replace(keeps_one=name != NOT_KEPT)
        return Point.of(
            f"{name}, {share:g} responsive, seed {seed}",
            {"scheme": name, "degree": degree, "share": share, "seed": seed},
            network=partial(topology.ren_leaf_spine, hosts_per_leaf=_SENDERS + 1, leaves=2),
            workload=partial(_flows, share, degree > 0, seed), scheme=scheme, until=_UNTIL, seed=seed,
            probes=[
                probe
                for port in _PORTS
                for probe in (probes.queue(*port, every=us(5)), probes.throughput(*port, every=us(50)))
            ],
        )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        use, queue = [], []
        for node, peer in _PORTS:
            use.append(result.samples(f"throughput {node}->{peer}").loc[_FROM_PS:].mean() / SIMULATED_LINE_BPS)
            queue.append(result.samples(f"queue {node}->{peer}").loc[_FROM_PS:].mean() / PACKET_BYTES)
        numbers = {
            "utilisation": (float(np.mean(use)), ""),
            "mean queue": (float(np.mean(queue)), "packets"),
            "drops": (int(result.counters["dropped_packets"]), "packets"),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {name: (name, colour, "s-") for name, colour in zip(_homa(table), _COLOURS)}
        looks |= {KEPT: (KEPT, "blue", "o-"), NOT_KEPT: (NOT_KEPT, "sky", "o--")}
        over = partial(Lines, looks=looks, over="share", xlabel="share of responsive senders", is_error=True)
        panels = (
            over("utilisation", unit="%", title="(a) dotted: 1 - (1 - r)^K", label="link utilisation",
                 legend={"fontsize": 8, "loc": "lower right"}, axes={"ylim": (0, 104)}, also=_draw_share_in_use),
            over("mean queue", unit="packets", title="(b)", label="average queue", legend=None),
        )  # fmt: skip
        return self.drawn(panels, table, " (mean, standard error)", size=(5.5, 4.2))
