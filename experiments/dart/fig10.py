"""Dart, figure 10: incasts on the testbed, under InfiniBand's congestion control and under DASR."""

from ..api import *
from .setup import *

AGGREGATOR, BACKGROUND = "h0", "h1"
_LOOKS = {"infiniband-cc": ("InfiniBand (modelled)", "vermilion"), "dasr-no-look-ahead": ("DASR", "blue")}

_SENDERS = "{} senders"


def _messages(degree: int, rounds: int, period_ps: int, seed: int) -> pd.DataFrame:
    """Return the incasts, and the long flow as the last message."""
    senders = [f"h{number}" for number in range(2, 2 + degree)]
    incasts = workload.incast(
        senders, AGGREGATOR, "256KiB", start="1ms", jitter="100us", rounds=rounds, period=period_ps, seed=seed
    )
    return workload.combine(incasts, workload.long_flows([(BACKGROUND, AGGREGATOR)], size="1TB"))


def incasts(degree: int, scheme: str, scale: str, seed: int, **changes: Any) -> Scenario:
    """Return the scenario of incasts and the long flow, under a scheme of the preset with changes."""
    rounds, period_ps = (3, ms(3)) if scale == "quick" else (30, ms(100))
    return Scenario(
        network=topology.dart_testbed,
        workload=partial(_messages, degree, rounds, period_ps, seed),
        scheme=PRESET[scheme].replace(payload_bytes=TESTBED_PAYLOAD_BYTES, **changes),
        until=ms(1) + rounds * period_ps,
        seed=seed,
    )


def latencies(result: Result) -> dict[str, tuple[float, str]]:
    """Return the incasts' completion times and the long flow's throughput."""
    flows = result.flows.iloc[:-1]
    medians = flows["fct_ps"].astype(np.float64).groupby(flows["group"].astype(int)).median()
    few = max(len(medians) // 20, 1)
    fct_ps = _sorted_fct_ps(result)
    return {
        "messages": (len(fct_ps), ""),
        "unfinished": (int(np.isnan(fct_ps).sum()), ""),
        "median FCT": (float(np.percentile(fct_ps, 50)), "ps"),
        "median FCT, first rounds": (float(medians.iloc[:few].median()), "ps"),
        "median FCT, last rounds": (float(medians.iloc[-few:].median()), "ps"),
        "p99 FCT": (float(np.percentile(fct_ps, 99)), "ps"),
        "p95 - p5": (float(np.diff(np.percentile(fct_ps, [5, 95]))[0]), "ps"),
        "long flow": (float(result.flows["goodput_bps"].iloc[-1]), "bps"),
        "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
        "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
    }


def _sorted_fct_ps(result: Result) -> npt.NDArray[np.float64]:
    return np.sort(result.flows["fct_ps"].iloc[:-1].to_numpy(np.float64, na_value=np.nan))


def _pairs(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return wide(table).pivot(index="degree", columns="scheme", values=quantity)


def _ratios(table: pd.DataFrame, quantity: str) -> pd.Series:
    both = _pairs(table, quantity)
    return both["infiniband-cc"] / both["dasr-no-look-ahead"]


def _faster(table: pd.DataFrame) -> Measured:
    numbers = {
        name: ratio
        for kind in ("median", "p99")
        for name, ratio in named(_ratios(table, f"{kind} FCT"), f"{kind}, {{}} senders").items()
    }
    grown = _pairs(table, "median FCT, last rounds") / _pairs(table, "median FCT, first rounds")
    of_dasr = grown["dasr-no-look-ahead"]
    words = f"from the first to the last twentieth of the rounds DASR's medians grow by x{of_dasr.min():.2f}"
    return Measured(numbers, f"{words} to x{of_dasr.max():.2f}")


def _long_flow(table: pd.DataFrame) -> Measured:
    both = _pairs(table, "long flow") / 1e9
    words = [f"{title} {both[name].min():.2f} to {both[name].max():.2f} Gb/s" for name, (title, _) in _LOOKS.items()]
    return Measured(named(1 / _ratios(table, "long flow") - 1, _SENDERS), ", ".join(words))


def _rising(table: pd.DataFrame) -> dict[str, dict[str, dict[str, float]]]:
    median, tail = (one / one.iloc[0] for one in (_pairs(table, "median FCT"), _pairs(table, "p99 FCT")))
    return {
        "medians": {title: named(median[name], _SENDERS) for name, (title, _) in _LOOKS.items()},
        "growth": {
            title: {"median": median[name].iloc[-1], "p99": tail[name].iloc[-1]} for name, (title, _) in _LOOKS.items()
        },
    }


def _from_release(table: pd.DataFrame) -> dict[str, float]:
    """Return InfiniBand's median FCT relative to the time of a message alone on the link."""
    dasr = PRESET["dasr-no-look-ahead"].replace(payload_bytes=TESTBED_PAYLOAD_BYTES)
    packets = size_bytes("256KiB") / TESTBED_PAYLOAD_BYTES
    alone_ps = packets * dasr.wire_bytes * 8e12 / rate_bps(TESTBED_HOST_RATE) + 2 * us(3)
    return named(_pairs(table, "median FCT")["infiniband-cc"] / alone_ps, _SENDERS)


def _with_fair_share(table: pd.DataFrame) -> pd.DataFrame:
    degrees = np.unique(table["degree"])
    share_ps = (degrees + 1) * size_bytes("256KiB") * 8e12 / rate_bps(TESTBED_HOST_RATE)
    fair = pd.DataFrame({"scheme": "", "quantity": "fair share", "degree": degrees, "value": share_ps})
    return pd.concat([table, fair], ignore_index=True)


_MEDIANS = At("medians", Each(Rises(), "scheme"))


class Figure10(Experiment):
    name = "dart.fig10"
    claims = (
        claim("dart-f10-1", measure=_faster, band=Each(Size(2.5, 3.3)), direction=Each(MoreThan(1))),
        claim("dart-f10-3",
              measure=lambda table: named(
                  (_pairs(table, "p99 FCT") / _pairs(table, "median FCT"))["infiniband-cc"], _SENDERS
              ), band=Each(Between(1.05, 1.6), "degree")),
        claim("dart-f10-4", measure=_long_flow, band=Each(Within(0, by=0.005), "degree"),
              direction=Each(Within(0, by=0.05), "degree")),
        claim("dart-f10-5", measure=_rising, band=All(_MEDIANS, At("growth", Each(Ordered("<"), "scheme"))),
              direction=_MEDIANS),
        claim("dart-f10-6",
              measure=lambda table: {one: _ratios(table, one).loc[16] for one in ("p95 - p5", "median FCT", "p99 FCT")},
              band=Each(MoreThan(1)), direction=At("p95 - p5", MoreThan(1))),
        claim("dart-f10-7a", measure=_from_release, band=Each(Size(2.5, 3.3), "degree"), direction=Each(MoreThan(1))),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        degrees = (4, 16) if check_scale(scale) == "quick" else (2, 4, 8, 12, 16)
        for degree, name in product(degrees, _LOOKS):
            labels, scenario = {"degree": degree, "scheme": name}, incasts(degree, name, scale, seed)
            yield Point(name=f"{degree} senders, {name}", scenario=scenario, labels=labels)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        levels = pd.Index(range(0, 1001), name="time_ps")  # quantiles, in thousandths
        fct_ps = pd.Series(np.quantile(_sorted_fct_ps(result), levels / 1000), levels)
        return tidy(point.name, latencies(result), {"FCT by level": (fct_ps, "ps")})

    def plot(self, table: pd.DataFrame) -> Figure:
        degrees = [int(one) for one in table["degree"].unique()]
        looks: dict[Any, tuple[str, ...]] = {("", "fair share"): ("fair share of 43 Gb/s", "0.5", ":")}
        for (name, (label, colour)), (kind, line) in product(_LOOKS.items(), (("median", "o-"), ("p99", "s--"))):
            looks[name, f"{kind} FCT"] = (f"{label}, {kind}", colour, line)
        panels = (
            Lines("", looks, by=("scheme", "quantity"), of=_with_fair_share, over="degree", xlabel="incast degree",
                  unit="ms", label="FCT", title="(a) by degree", axes={"xticks": degrees, "ylim": (0, None)}),
            Distributions("FCT by level", _LOOKS, where={"degree": 16}, unit="ms", label="FCT", title="(b) degree 16"),
        )  # fmt: skip
        return self.drawn(panels, table)
