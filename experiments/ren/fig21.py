"""REN, figure 21: incasts in closed loops, by the number of servers."""

from ..api import *
from .leaf_spine import *
from .setup import *

SLOW_TIMER = "ren, timer 100 us"
_OTHERS = ("phost", "homa", "ndp")
_SCHEMES = (*_OTHERS, "ren")
_BESIDE = ("traditional", SLOW_TIMER)
_NO_LOWER = Each(AtLeast(-0.01), of="number of servers")
"""Utilisation minus that of the best other scheme."""
_FASTEST = {"longer than the best other": Each(LessThan(0), of="number of servers")}
_REQUEST = "100B"
_CLIENTS = 2
_CHANGES: dict[str, dict[str, Any]] = {
    "timer 100 us": {"GrantClock.least_timeout_ps": "100us"},
    "ECMP": {"routing": "ecmp"},
    "two messages": {"overcommit": 2},
}
"""Changes of a scheme by reading."""


def _rounds(servers: int, total_bytes: int, rounds: int) -> pd.DataFrame:
    loops = [
        workload.partition_aggregate(
            f"h{2 * servers + client}", [f"h{client * servers + i}" for i in range(servers)], _REQUEST,
            total_bytes // servers, rounds=rounds, group=client * rounds,
        )
        for client in range(_CLIENTS)
    ]  # fmt: skip
    return workload.combine(*loops)


def _label(name: str) -> str:
    return "REN, timer of 100 us" if name == SLOW_TIMER else LOOKS[name][0]


def _beside(table: pd.DataFrame, name: str, others: tuple[str, ...]) -> Measured:
    use = means_over(table, "utilisation", "servers")
    words = "; ".join(f"{_label(one)} {', '.join(f'{v:.0%}' for v in use[one])}" for one in (name, *others))
    return Measured(named(use[name] - use[list(others)].max(axis=1), "{} servers"), words)


def _fastest(table: pd.DataFrame) -> Measured:
    time, use = (means_over(table, name, "servers") for name in ("RCT", "utilisation"))
    words = "; ".join(f"{_label(name)} {', '.join(f'{v / 1e9:.2f}' for v in time[name])} ms" for name in _SCHEMES)
    longer = time["ren"] / time[list(_OTHERS)].min(axis=1) - 1
    least = {_label(name): use[name].min() for name in _SCHEMES}
    return Measured({"longer than the best other": named(longer, "{} servers"), "least utilisation": least}, words)


def _bound(table: pd.DataFrame) -> dict[str, float]:
    rows = wide(table)
    least = rows["total_bytes"] * 8e12 / SIMULATED_LINE_BPS
    return {"fastest round": (rows["fastest round"] / least).min(), "unfinished": rows["unfinished"].max()}


class Figure21(ReadingFigure):
    name = "ren.fig21"
    seeding = Seeding.POOLED
    claims = (
        claim("ren-f21-1", measure=partial(_beside, name="ren", others=_OTHERS),
              band=Each(MoreThan(0), of="number of servers")),
        claim("ren-f21-2", measure=_fastest, band=All(_FASTEST, {"least utilisation": Each(AtLeast(0.9))}),
              direction=All(_FASTEST)),
        claim("ren-f21-3", measure=_bound, band=All({"fastest round": AtLeast(1, "x"), "unfinished": Exactly(0)})),
        claim("ren-f21-a", measure=partial(_beside, name=SLOW_TIMER, others=("ndp",)), band=_NO_LOWER),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        servers, total, rounds = ((20,), MB(2), 2) if is_quick else ((50, 100, 150, 200), MB(100), 1)
        others = [] if is_quick else stand_ins(
            (*_SCHEMES, "traditional"), "outstanding", "ECMP", "switch buffer", "two messages"
        )  # fmt: skip
        for name in (*_SCHEMES, *_BESIDE, *others):
            own, _, reading = name.partition(", ")
            scheme = SIMULATED[own].replace(**_CHANGES.get(reading, {}))
            for count, one in product(servers, range(seed, seed + (1 if is_quick else 6))):
                yield Point.of(
                    f"{name}, {count} servers, seed {one}",
                    {"scheme": name, "servers": count, "total_bytes": total, "seed": one},
                    network=partial(leaf_spine, count, 3, 8, is_shared=reading == "switch buffer"),
                    workload=partial(_rounds, count, total, rounds), scheme=scheme, until=ms(200 * rounds), seed=one,
                    cost=count,
                )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        answers = result.flows[result.flows["group"].notna()]
        group = answers["group"].astype(int)
        ends = (answers["start_ps"] + answers["fct_ps"].astype(np.float64)).groupby(group).max()
        # Requests start a round: a client's first one at 0, later ones when the previous round is complete.
        rounds = len(ends) // _CLIENTS
        starts = pd.Series(
            [0.0 if number % rounds == 0 else ends.iloc[number - 1] for number in range(len(ends))], ends.index
        )
        times = ends - starts
        wire_ps = point.labels["total_bytes"] * PACKET_BYTES / PAYLOAD_BYTES * 8e12 / SIMULATED_LINE_BPS
        numbers = {
            "RCT": (float(times.mean()), "ps"),
            "fastest round": (float(times.min()), "ps"),
            "slowest round": (float(times.max()), "ps"),
            "utilisation": (float(wire_ps / times.mean()), ""),
            "unfinished": (int((result.flows["status"] != "finished").sum()), ""),
            "drops": (int(result.counters["dropped_packets"]), "packets"),
            "timeouts": (int(result.counters["timeouts"]), ""),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {}
        for name in (*_SCHEMES, *_BESIDE):
            _, colour, marker = LOOKS["ren" if name == SLOW_TIMER else name]
            line = ":" if name == SLOW_TIMER else "--" if name in _BESIDE else "-"
            looks[name] = (_label(name), colour, marker + line)
        least_ps = {"payload on the link": float(table["total_bytes"].iloc[0]) * 8e12 / SIMULATED_LINE_BPS}
        over = partial(Lines, looks=looks, over="servers", xlabel="servers of a client")
        panels = (
            over(quantity="utilisation", unit="%", title="(a) use of the client's link", axes={"ylim": (0, 104)}),
            over(quantity="RCT", unit="ms", title="(b) average request completion time", levels=least_ps,
                 axes={"ylim": (0, None)}),
        )  # fmt: skip
        return self.drawn(panels, table, legend="outside lower center")
