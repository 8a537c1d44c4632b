"""REN, figure 8: a flow takes free bandwidth, by equations (5) and (6) and in packets."""

from rdmacc.models.ren import rate_per_round, rounds_to_full
from rdmacc.models.ren_figures import RenRate
from ..api import *
from .setup import *

VECTORS = {1 / 2: 1, 0.49: 2, 1 / 4: 2, 0.3: 2, 1 / 8: 3, 1 / 16: 4}
"""Rounds from equation (6) by R / C, computed by hand."""
_BDP = 51.696e6 / 1.2e6
"""Packets in flight that fill the link, including a full packet's times on the links."""
_STARTS = (22, 11, 6, 3)
"""Initial packets in flight; R / C is 0.51, 0.26, 0.14 and 0.07."""
_DRAWN = 3
_MESSAGE = kB(1000)
_SCHEMES = ("ren", "traditional")
_ROUND_PS = ps(51_696_000)
_MODEL = "equations"
_flow = partial(workload.messages, [("h0", "h4", _MESSAGE)])


def _name(scheme: str, packets: int) -> str:
    return f"{scheme}, {packets} packets"


def _rounds_to_full(table: pd.DataFrame) -> pd.DataFrame:
    taken = [scalar(table, _name("ren", packets), "rounds to 95% of the link") for packets in _STARTS]
    shares = np.linspace(0.05, 1, 400)
    by = {"equation (6)": (shares, rounds_to_full(shares, 1.0)), "packets": (np.divide(_STARTS, _BDP), taken)}
    frames = (pd.DataFrame({"kind": kind, "share": at, "rounds": values}) for kind, (at, values) in by.items())
    return pd.concat(frames)


def _from(packets: int) -> str:
    return f"from {packets / _BDP:.2f} C"


def _times(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    model = {label: scalar(table, _MODEL, f"FCT, {label}") for label in ("REN", "traditional")}
    found = {
        _from(packets): {label: scalar(table, _name(name, packets), "FCT") for label, name in zip(model, _SCHEMES)}
        for packets in _STARTS
    }
    return {"equations": model, **found}


def _rounds(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    own, other = (
        {n: scalar(table, _name(scheme, n), "rounds to 95% of the link") for n in _STARTS} for scheme in _SCHEMES
    )
    behind = {_from(n): rounds - int(rounds_to_full(n / _BDP, 1.0)) for n, rounds in own.items()}
    return {
        "rounds behind": behind,
        "different numbers of rounds": len(set(behind.values())),
        "full links without marks": sum(map(np.isfinite, other.values())),
    }


class Figure8(Experiment):
    name = "ren.fig8"
    claims = (
        claim("ren-f8-1",
              measure=lambda table: {f"{one:g} C": scalar(table, _MODEL, f"rounds from {one:g} C") for one in VECTORS},
              band=All({f"{share:g} C": Exactly(rounds) for share, rounds in VECTORS.items()})),
        claim("ren-f8-2", measure=_times, band=Each(Lowest("REN"), of="share")),
        claim("ren-f8-a", measure=_rounds,
              band=All({
                  "rounds behind": Each(Between(0, 3), of="share"), "different numbers of rounds": Exactly(1),
                  "full links without marks": Exactly(0),
              })),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        yield Point(name=_MODEL, labels={"scheme": _MODEL})
        watched = [probes.throughput("s0", "s1", every=_ROUND_PS)]
        for name, packets in product(_SCHEMES, _STARTS):
            scheme = TESTBED[name].replace(unscheduled_packets=packets)
            yield Point.of(
                _name(name, packets), {"scheme": name},
                network=topology.ren_testbed, workload=_flow, scheme=scheme, probes=watched, seed=seed,
            )  # fmt: skip

    def compute(self, point: Point) -> pd.DataFrame:
        share = _DRAWN / _BDP
        times = RenRate(start_fraction=share, message_bytes=_MESSAGE, capacity_bps=LINE_BPS, rtt_ps=RTT_PS).evaluate()
        fct = {f"FCT, {row.protocol}": (row.fct_ps, "ps") for row in times.itertuples()}
        vectors = {f"rounds from {one:g} C": (int(rounds_to_full(one, 1.0)), "RTT") for one in VECTORS}
        rate = rate_per_round(share, 1.0, 12)
        series = pd.Series(rate, pd.Index(np.arange(len(rate)) * int(_ROUND_PS), name="time_ps"))
        return tidy(point.name, fct | vectors, {"rate": (series, "of C")})

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        rate = result.samples("throughput s0->s1") / LINE_BPS
        first = int(result.flows["start_ps"].iloc[0]) + int(_ROUND_PS)
        full = np.flatnonzero(rate.to_numpy() >= 0.95)
        numbers = {
            "FCT": (float(result.flows["fct_ps"].iloc[0]), "ps"),
            # The first sample, round 0, has the packets that the flow starts with.
            "rounds to 95% of the link": (float(full[0]) if len(full) else np.inf, "RTT"),
        }
        return tidy(point.name, numbers, {"rate": (rate.loc[first:].set_axis(rate.loc[first:].index - first), "of C")})

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {_MODEL: ("REN, equation (5)", "0.3", "--")}
        for name in _SCHEMES:
            (label, colour, marker), point = LINES[name], _name(name, _DRAWN)
            looks[point] = (f"{label}, packets: done after {scalar(table, point, 'FCT') / 1e6:.0f} us", colour, marker)
        over = partial(Traces, clock=lambda *_: (0, int(_ROUND_PS)), time_unit="RTTs", axes={"xlim": (-0.5, 22)})
        rates = over("rate", looks, label="rate over C", title=f"from {_DRAWN / _BDP:.2f} C")
        looks = {"equation (6)": ("equation (6)", "0.3", "-"), "packets": ("packets", "blue", "o")}
        full = partial(
            Lines, by="kind", of=_rounds_to_full, over="share", xlabel="R / C at first", axes={"ylim": (0, 8)}
        )
        return self.drawn([rates, full("rounds", looks, title="rounds until the link is full")], table)
