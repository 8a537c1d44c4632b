"""A dragonfly under uniform and adversarial traffic: minimal, Valiant and adaptive routing."""

from __future__ import annotations

from rdmacc.schemes import scheme
from rdmacc.switch.buffer import DropTail
from rdmacc.workload import dragonfly_paths, poisson
from ..api import *

ROUTERS, HOSTS, GLOBAL_LINKS = 4, 2, 2
"""a, p and h."""
TRAFFICS = ("uniform", "adversarial")
_CLOSED = ("minimal", "Valiant")
_LOOKS = {"minimal": ("minimal", "blue"), "Valiant": ("Valiant", "vermilion"), "adaptive": ("adaptive", "green")}
_network = partial(topology.dragonfly, ROUTERS, HOSTS, GLOBAL_LINKS, rate="100Gbps", delay="100ns")
_GROUPS = ROUTERS * GLOBAL_LINKS + 1
_N = ROUTERS * HOSTS * _GROUPS
_LINE_RATE = scheme("line-rate", payload_bytes=1000, header_bytes=48).replace(buffer=DropTail())
_PACKET_PS = 1048 * 80
_LINK_PS = _PACKET_PS + 100_000
SHARES = {"quick": (0.1, 0.8, 1.2), "paper": (0.1, 0.5, 0.8, 0.9, 0.95, 1.0, 1.1)}
"""Loads, relative to the largest."""
ADAPTIVE = {"uniform": 1.0, "adversarial": 0.25}
"""Reference loads of adaptive routing, which has no closed form: about its saturation."""


def most_load(traffic: str, routing: str) -> float:
    """Return the largest load of the hosts' links, by the closed form; NaN for adaptive routing."""
    group = ROUTERS * HOSTS
    if routing == "adaptive":
        return np.nan
    if traffic == "uniform":
        return min(1.0, (_N - 1) / group**2 / (1 if routing == "minimal" else 2))
    return 1 / group if routing == "minimal" else (ROUTERS * GLOBAL_LINKS - 1) / (2 * group)


def links_on_average(traffic: str, routing: str) -> float:
    """Return the mean number of links on a path, from host to host; NaN for adaptive routing.

    Two independently drawn routers of a group differ with probability 1 - 1/a. In the third group, the links to two
    given groups are at different routers with probability h (a - 1)/(a h - 1), to two neighbouring groups with
    probability (a - 1)/(a h - 1), since a router's links lead to neighbouring groups.
    """
    apart, detours = 1 - 1 / ROUTERS, ROUTERS * GLOBAL_LINKS - 1
    if routing == "adaptive":
        return np.nan
    links = 2 + 2 * apart + 1
    if routing == "Valiant":
        links += 1 + (GLOBAL_LINKS if traffic == "uniform" else 1) * (ROUTERS - 1) / detours
    if traffic == "adversarial":
        return links
    router, group = HOSTS - 1, (ROUTERS - 1) * HOSTS
    return (2 * router + 3 * group + links * (_N - 1 - router - group)) / (_N - 1)


def _work(traffic: str, routing: str, load: float, packets: int, seed: int) -> pd.DataFrame:
    """Return messages of one packet, on average `packets` per host."""
    network = _network()
    work = poisson(network, _LINE_RATE.payload_bytes, load, count=packets * _N, seed=seed)
    if traffic == "adversarial":
        work["dst"] = [f"h{(int(src[1:]) + ROUTERS * HOSTS) % _N}" for src in work["src"]]
    return work if routing == "adaptive" else dragonfly_paths(work, network, routing.lower(), seed=seed)


def _most(rows: pd.DataFrame) -> dict[str, float]:
    most = rows.groupby(["traffic", "routing"])["accepted"].max()
    return {f"{one}, {other}": most[one, other] / most_load(one, other) for one, other in product(TRAFFICS, _CLOSED)}


def _latency(rows: pd.DataFrame) -> pd.Series[float]:
    rows = rows[(rows["routing"] != "adaptive") & (rows["share"] == 0.1)]
    return rows["latency, mean"] / [
        links_on_average(*ends) * _LINK_PS for ends in zip(rows["traffic"], rows["routing"])
    ]


def _draw_bounds(traffic: str, ax: Axes, table: pd.DataFrame) -> None:
    for routing, (_, colour) in _LOOKS.items():
        ax.axvline(most_load(traffic, routing), color=COLOURS[colour], linestyle="--", linewidth=1)


class Dragonfly(Experiment):
    name = "micro.dragonfly"
    is_wide = True
    claims = (
        claim("micro-dragonfly-1a", measure=total("missing"), band=Exactly(0)),
        claim("micro-dragonfly-2a",
              measure=lambda rows: (rows["accepted"] / rows["offered"])[
                  (rows["routing"] != "adaptive") & (rows["share"] < 0.85)
              ], band=Each(Between(0.97, 1.03), of="load")),
        claim("micro-dragonfly-2b", measure=_most, band=Each(Between(0.9, 1.02), of="run")),
        claim("micro-dragonfly-2c",
              measure=lambda rows: chosen(rows, traffic="adversarial").groupby("routing")["accepted"].max()[
                  ["minimal", "adaptive", "Valiant"]
              ], band=Rises()),
        claim("micro-dragonfly-3a", measure=_latency, band=Each(Between(0.98, 1.1), of="run")),
    )  # fmt: skip
    panels = tuple(
        Lines(
            quantity="latency, mean", looks=_LOOKS, by="routing", where={"traffic": traffic}, over="load", log="y",
            title=traffic, xlabel="load of the hosts' links; dashed: closed form", label="mean latency", unit="us",
            also=partial(_draw_bounds, traffic),
        )
        for traffic in TRAFFICS
    )  # fmt: skip
    grid = MappingProxyType({"sharey": True})

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        packets = 100 if check_scale(scale) == "quick" else 1000
        for traffic, routing, share in product(TRAFFICS, _LOOKS, SHARES[scale]):
            is_adaptive = routing == "adaptive"
            load = share * (ADAPTIVE[traffic] if is_adaptive else most_load(traffic, routing))
            yield Point.of(
                f"{traffic}, {routing}, {load:.3f}",
                {"traffic": traffic, "routing": routing, "share": share, "load": load},
                network=_network, workload=partial(_work, traffic, routing, load, packets, seed), seed=seed,
                scheme=_LINE_RATE.replace(routing="adaptive") if is_adaptive else _LINE_RATE,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows = result.flows
        starts, fcts = flows["start_ps"].to_numpy(np.int64), flows["fct_ps"].to_numpy(np.float64)
        last = int(starts.max())

        def share(times: np.ndarray) -> float:
            """Return the number of packets in the second half of arrivals, relative to the links' capacity."""
            return int(((times > last // 2) & (times <= last)).sum()) * _PACKET_PS / (last - last // 2) / _N

        numbers = {
            "offered": (share(starts), ""),
            "accepted": (share(starts + fcts), ""),
            "latency, mean": (np.mean(fcts[starts > last // 2]), "ps"),
            "latency, p99": (np.percentile(fcts[starts > last // 2], 99), "ps"),
            "missing": (int((flows["status"] != "finished").sum()) + result.counters.dropped_packets, ""),
        }
        return tidy(point.name, numbers)
