"""RCC's verdicts if every queue is at the last hop: how many flows still come under the PID."""

from rdmacc.workload import SIZES
from ..api import *
from .setup import *

LOADS = {"quick": (0.7,), "paper": (0.3, 0.5, 0.7)}
ARRIVALS = {"quick": "0.4ms", "paper": "4ms"}
CAPS = {"quick": "3MB", "paper": "30MB"}
SEEDS = {"quick": 1, "paper": 6}
READINGS: dict[str, dict[str, Any]] = {
    "n = 3": {}, "n = 100": {"late_samples": 100}, "n = 3 round trips": {"sampling": "base-rtt"},
}  # fmt: skip
"""Number and kind of late samples for a verdict: as published, about a round trip of packets, round trips."""
AS_PUBLISHED, *OTHERS = READINGS
_LINES = {"n = 3": ("blue", "o-"), "n = 100": ("sky", "o-"), "n = 3 round trips": ("green", "o--")}
"""Colours and styles; the last curve covers another."""
_OVER_LOAD = partial(
    Lines,
    over="load",
    percent=True,
    unit="%",
    xlabel="load (% of the hosts' links)",
    levels={"_": 0.0},
    by=("quantity", "reading"),
)
LONG_BYTES = 1_000_000
one_switch = partial(topology.star, 32, rate="100Gbps", delay="3us", buffer="32MB")


def traffic(scale: str, load: float, seed: int) -> pd.DataFrame:
    sizes = SIZES["web_search"].capped(CAPS[scale])
    return workload.poisson(one_switch(), sizes, load, duration=ARRIVALS[scale], seed=seed)


def _by_load(quantity: str, table: pd.DataFrame, reading: str = AS_PUBLISHED) -> dict[str, float]:
    return named(by_load(wide(table), quantity, reading=reading).mean().dropna(), "load {:g}")


def _patient(table: pd.DataFrame) -> dict[str, float]:
    most = {f"{reading}, at most": max(_by_load("false verdicts", table, reading).values()) for reading in OTHERS}
    return most | {_FEW: min(_by_load("false verdicts", table).values())}


_FEW = f"{AS_PUBLISHED}, at the least"


class Verdicts(Experiment):
    name = "rcc.verdicts"
    seeding = Seeding.POOLED
    claims = (
        claim("rcc-v-1a", measure=partial(_by_load, "false verdicts"), band=Each(AtMost(0.1), "load")),
        claim("rcc-v-2a", measure=partial(_by_load, "cost of the judged"), band=Each(Within(0, by=0.05), "load")),
        claim("rcc-v-3a", measure=partial(_by_load, "cost of the others"), band=Each(AtMost(0.05), "load")),
        claim("rcc-v-4a", measure=_patient, band=All({f"{reading}, at most": AtMost(0.01) for reading in OTHERS}),
              direction=Highest(_FEW)),
    )  # fmt: skip

    panels = (
        _OVER_LOAD(
            looks={("false verdicts", one): (one, *look) for one, look in _LINES.items()}, label="share",
            title="flows above 1 MB judged congested in the network",
        ),
        _OVER_LOAD(
            looks={
                ("cost of the judged", AS_PUBLISHED): (f"under the PID, {AS_PUBLISHED}", "vermilion", "o-"),
                **{("cost of the others", one): (f"others, {one}", *look) for one, look in _LINES.items()},
            },
            label="longer by", title="their mean FCT over that under RCC-EWA",
        ),
    )  # fmt: skip

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        if reading not in OTHERS:
            return super().under(table, reading)
        return in_place(table, {"reading": AS_PUBLISHED}, {"reading": reading})

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + SEEDS[check_scale(scale)])
        for load, reading, each in product(LOADS[scale], READINGS, seeds):
            labels = {"load": load, "reading": reading, "scale": scale, "seed": each}
            yield Point(name=f"web search {load:.0%}, {reading}, seed {each}", labels=labels, cost=load)

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        labels = point.labels
        messages = traffic(labels["scale"], labels["load"], labels["seed"])
        results = {}
        for scheme in ("rcc", "rcc-ewa"):
            scenario = Scenario(
                network=one_switch,
                workload=partial(traffic, labels["scale"], labels["load"], labels["seed"]),
                scheme=preset("rcc-2021")[scheme].replace(**READINGS[labels["reading"]]),
                seed=labels["seed"],
                until="1s",
                probes=[probes.field("flow", flow, "Rcc.is_iterative", every="20us") for flow in range(len(messages))],
            )
            results[scheme] = run(scenario)
        judged = np.array([results["rcc"].samples(f"Rcc.is_iterative {i}").max() > 0 for i in range(len(messages))])
        fct = {scheme: result.flows["fct_ps"].to_numpy(np.float64) for scheme, result in results.items()}
        is_long = messages["size_bytes"].to_numpy() > LONG_BYTES
        numbers = {
            "long flows": (is_long.sum(), ""),
            "judged": ((is_long & judged).sum(), ""),
            "false verdicts": (judged[is_long].mean(), ""),
            "false verdicts of short flows": (judged[~is_long].mean(), ""),
            "unfinished": (sum(int(np.isnan(one).sum()) for one in fct.values()), ""),
        }
        for name, chosen in {"judged": judged, "others": ~judged}.items():
            own, other = (fct[scheme][is_long & chosen] for scheme in ("rcc", "rcc-ewa"))
            numbers[f"cost of the {name}"] = (own.mean() / other.mean() - 1 if len(own) else np.nan, "")
        return tidy(point.name, numbers)
