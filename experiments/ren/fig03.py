"""REN, figure 3: queue and throughput as two bursts join a flow and leave. See `rdmacc.experiments.ren.bursts`."""

from rdmacc.experiments.ren.bursts import LARGE_BUFFER, Bursts, burst_point, seeds_of
from ..api import *
from .setup import *

_COMPARED = ("phost", "homa-2-levels", "ndp", "ren")
"""The paper's panels."""
_BESIDE = ("traditional", "homa", "ren-outstanding", "ren-packet", "ren-literal", "ren-literal-unsafe")
_ALONE = ("ren", "ren-literal", "ren-literal-unsafe")
"""Also run with a large buffer: without losses, no timer revives the flows that marks have stopped."""
_LOSING = ("phost", "homa-2-levels")
_NDP_LIMIT = 8
_LOST = Part(0.2, 0.3)
"""Band for the published 20 to 30% of the link."""
_NEAR_ZERO = AtMost(2)
"""Mean queue in packets."""


def of_scheme(table: pd.DataFrame, name: str, quantity: str, **where: object) -> pd.Series:
    """Return a quantity of a scheme's runs, by seed; by default with 64 KB of buffer."""
    labels = {"scheme": name, "quantity": quantity, "buffer": "64KB"} | where
    rows = table[table["time_ps"].isna().to_numpy() & having(table, **labels)]
    need(rows, name)
    return rows.set_index("seed")["value"].sort_index()


def lost(table: pd.DataFrame, name: str, **where: object) -> pd.Series:
    """Return the relative loss of throughput from before to after the bursts, by seed."""
    before, after = (of_scheme(table, name, f"throughput {when}", **where) for when in ("before", "after"))
    return 1 - after / before


def _span(values: pd.Series, form: str = ".0f") -> str:
    return f"{values.mean():{form}} ({values.min():{form}} to {values.max():{form}})"


def _overflow(table: pd.DataFrame) -> Measured:
    drops = {name: of_scheme(table, name, "drops") for name in _LOSING}
    least = {
        name: {"peak queue": of_scheme(table, name, "peak queue").min(), "drops": drops[name].min()} for name in _LOSING
    }
    words = "; ".join(f"{LOOKS[name][0]} {_span(drops[name])}" for name in _LOSING)
    return Measured(labelled(least), f"drops: {words}; buffer {BUFFER_PACKETS:.1f} packets")


def _trimmed(table: pd.DataFrame) -> dict[str, float]:
    peak, trimmed = of_scheme(table, "ndp", "peak queue"), of_scheme(table, "ndp", "trimmed")
    return {"most packets": peak.max(), "fewest payloads cut": trimmed.min()}


def _persists(table: pd.DataFrame) -> dict[str, float]:
    means = {name: of_scheme(table, name, "mean queue") for name in (*_LOSING, "ndp")}
    shares = {name: means[name] / of_scheme(table, name, "peak queue") for name in _LOSING}
    return labelled({name: share.min() for name, share in (shares | {"ndp": means["ndp"] / _NDP_LIMIT}).items()})


def _drains(table: pd.DataFrame) -> Measured:
    times, means = of_scheme(table, "ren", "drained after"), of_scheme(table, "ren", "mean queue")
    return Measured(
        {"RTTs until it has drained": times.max(), "packets later": means.max()},
        f"drained after {_span(times, '.1f')} RTT",
    )


def _loses(table: pd.DataFrame) -> Measured:
    losses = {name: lost(table, name) for name in _LOSING}
    words = "; ".join(f"{LOOKS[name][0]} {_span(100 * value)}%" for name, value in losses.items())
    return Measured(labelled({name: value.mean() for name, value in losses.items()}), words)


def _loses_by_grants(table: pd.DataFrame) -> Measured:
    value, drops = lost(table, "traditional"), of_scheme(table, "traditional", "drops")
    words = f"{_span(100 * value)}% after {_span(drops)} drops; pHost {_span(100 * lost(table, 'phost'))}%"
    return Measured({"mean": value.mean(), "most less least": value.max() - value.min()}, words)


def _latest(table: pd.DataFrame) -> dict[str, float]:
    return labelled({name: of_scheme(table, name, "f0 recovered after").max() for name in ("ndp", "ren")})


def _before(table: pd.DataFrame) -> dict[str, float]:
    payload = PAYLOAD_BYTES / PACKET_BYTES
    return labelled({name: of_scheme(table, name, "f0 before").min() * payload for name in (*_COMPARED, "traditional")})


def _readings(table: pd.DataFrame) -> Measured:
    use = {
        name: of_scheme(table, name, "throughput during", buffer=LARGE_BUFFER).mean() / LINE_BPS
        for name in ("ren", "ren-literal", "ren-literal-unsafe")
    }
    after = of_scheme(table, "ren-literal-unsafe", "throughput after", buffer=LARGE_BUFFER).max() / LINE_BPS
    numbers = {
        "REN": use["ren"],
        "REN less literal, one packet kept": use["ren"] - use["ren-literal"],
        "literal": use["ren-literal-unsafe"],
        "literal, after the bursts": after,
    }
    return Measured(numbers, f"literal, one packet kept {use['ren-literal']:.0%}")


def _by_packet(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    marks = {"by packet": "ren-packet", "by period": "ren"}
    times = {label: of_scheme(table, name, "drained after").mean() for label, name in marks.items()}
    return {"RTTs until it has drained": times, "packets later": of_scheme(table, "ren-packet", "mean queue").max()}


def _panels(rows: pd.DataFrame, name: str) -> list[Panel]:
    """Return the panels of a scheme's first run: queue, queue at the start, and rates."""
    point, (label, colour, _) = f"{name}, 2 bursts, seed {rows['seed'].min()}", LOOKS[name]
    on, off = (float(row_of(rows, point)[name]) for name in ("on_ps", "off_ps"))
    over = partial(Traces, time_unit="ms", phases={"bursts": (on, off)}, legend=None)
    look: dict[str, Any] = {"unit": "packets", "levels": {"_": BUFFER_PACKETS}, "axes": {"ylim": (-2, 50)}}
    queue, rates = {point: ("queue", colour)}, {(point, "throughput"): ("link", "0.6"), (point, "f0"): ("f0", colour)}
    start = replace(
        over("queue at the start", queue, label="queue", **look), phases={}, clock=lambda *_: (on, RTT_PS),
        time_unit="RTTs since the first burst may start",
    )  # fmt: skip
    lost = _mark_lost if name in (*_LOSING, "traditional") else None
    rate = over("", rates, by=("point", "quantity"), unit="Gb/s", axes={"ylim": (0, 11)}, also=lost)
    return [over("queue", queue, label=f"{label}\nqueue", **look), start, rate]


def _mark_lost(ax: Axes, _: pd.DataFrame) -> None:
    ax.axhspan(7, 8, color=COLOURS["yellow"], alpha=0.5, zorder=0)


class Figure3(Bursts):
    name = "ren.fig3"
    grid = MappingProxyType({"columns": 3, "size": (3.6, 1.8), "sharex": "col"})
    more = ", 10 Gb/s, one of several runs (dotted: 64 KB; yellow: 20-30% lost; grey: the link)"
    claims = (
        claim("ren-f3a-1", measure=_overflow,
              band=Each(All({"peak queue": AtLeast(int(BUFFER_PACKETS)), "drops": MoreThan(0)}))),
        claim("ren-f3a-2", measure=_trimmed,
              band=All({"most packets": AtMost(_NDP_LIMIT + 1), "fewest payloads cut": MoreThan(0)})),
        claim("ren-f3a-3", measure=_persists, band=Each(AtLeast(0.9))),
        claim("ren-f3a-4", measure=_drains,
              band=All({"RTTs until it has drained": AtMost(2), "packets later": _NEAR_ZERO}),
              direction=All({"RTTs until it has drained": AtMost(20)})),
        claim("ren-f3b-1", measure=_loses, band=Each(_LOST), direction=Each(MoreThan(0.02))),
        claim("ren-f3b-2", measure=_latest, band=Each(AtMost(10))),
        claim("ren-f3b-3", measure=_before, band=Each(AtLeast(9.4e9))),
        claim("ren-f3-a", measure=_loses_by_grants, band=All({"mean": _LOST, "most less least": MoreThan(0)})),
        claim("ren-f3-b", measure=_readings,
              band=All({
                  "REN": AtLeast(0.95), "REN less literal, one packet kept": AtLeast(0.05), "literal": AtMost(0.01),
                  "literal, after the bursts": Exactly(0),
              })),
        claim("ren-f3-c", measure=_by_packet,
              band=All({"RTTs until it has drained": Ordered("<="), "packets later": _NEAR_ZERO})),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        runs = [(name, None) for name in (*_COMPARED, *_BESIDE)] + [(name, LARGE_BUFFER) for name in _ALONE]
        is_quick = check_scale(scale) == "quick"
        for name, buffer in runs:
            for one in seeds_of(name, scale, seed):
                yield burst_point(name, 2, "quick" if is_quick else "paper" if one == seed else "tenth", one, buffer)

    def plot(self, table: pd.DataFrame) -> Figure:
        rows, shown = wide(table), ("phost", "homa-2-levels", "ndp", "traditional", "ren")
        return self.drawn([panel for name in shown for panel in _panels(rows, name)], table)
