"""REN, figure 22: short flows over the sampling period, on a dumbbell with section 6's links."""

from ..api import *
from .setup import *

PERIODS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Sampling periods in base RTTs."""
LOADS = (0.2, 0.8)
SIZES = {"10-50 KB": (10_000, 50_000), "5-15 KB": (5_000, 15_000)}
_JUDGED = "10-50 KB"
SLOW_TIMER = "ren, timer 100 us"
_VARIANTS = (
    ("ren", _JUDGED), ("ren-packet", _JUDGED), ("ren-literal", _JUDGED), ("ren-outstanding", _JUDGED),
    ("ren", "5-15 KB"), (SLOW_TIMER, _JUDGED),
)  # fmt: skip
"""Scheme and sizes; the first one is judged."""
_PAIRS, _LONG = 16, 2
_ON = us(500)
_BUFFER = "100MB"
_ARRIVALS = 5022
_INSENSITIVE = LessThan(0.2)


def _flows(load: float, sizes: str, count: int, seed: int) -> pd.DataFrame:
    chance = np.random.default_rng([seed, _ARRIVALS])
    low, high = SIZES[sizes]
    size = chance.integers(low, high + 1, count)
    wire = (low + high) / 2 * PACKET_BYTES / PAYLOAD_BYTES
    starts = _ON + np.cumsum(chance.exponential(wire * 8e12 / (load * SIMULATED_LINE_BPS), count)).astype(np.int64)
    pairs = chance.integers(0, _PAIRS, count)
    hosts = _PAIRS + _LONG
    rows = [(f"h{i}", f"h{hosts + i}", 10**11) for i in range(_LONG)]
    rows += [(f"h{_LONG + p}", f"h{hosts + _LONG + p}", int(b)) for p, b in zip(pairs, size, strict=True)]
    return workload.messages(rows).assign(start_ps=[*[0] * _LONG, *starts])


def _label(name: str, sizes: str) -> str:
    words = "REN, timer of 100 us" if name == SLOW_TIMER else LOOKS[name][0]
    return words + ("" if sizes == _JUDGED else f", {sizes}")


@cache
def _end(load: float, sizes: str, count: int, seed: int) -> int:
    return int(_flows(load, sizes, count, seed)["start_ps"].max() + ms(5))


def _means(table: pd.DataFrame, quantity: str, name: str = "ren", sizes: str = _JUDGED) -> pd.DataFrame:
    """Return the mean over the seeds, by period and load."""
    rows = wide(table)
    chosen = rows[(rows["scheme"] == name) & (rows["sizes"] == sizes)]
    return chosen.pivot_table(index="period", columns="load", values=quantity)


def _spread(table: pd.DataFrame) -> Measured:
    near = {name: _means(table, name)[0.2] / 1e6 for name in ("AFCT", "p99 FCT")}
    words = ", ".join(f"{name} {value.min():.1f} to {value.max():.1f} us" for name, value in near.items())
    return Measured({name: value.max() / value.min() - 1 for name, value in near.items()}, words)


def _tail(table: pd.DataFrame) -> Measured:
    own, light = (_means(table, "p99 FCT")[load] for load in (0.8, 0.2))
    words = [f"{own[1.0] / 1e6:.0f} and {own[8.0] / 1e6:.0f} us", f"at load 0.2 {light[8.0] / light[1.0]:.2f}x"]
    rows = wide(table)
    for name, sizes in _VARIANTS[1:]:
        if ((rows["scheme"] == name) & (rows["sizes"] == sizes)).any():
            other = _means(table, "p99 FCT", name, sizes)[0.8]
            words.append(f"{_label(name, sizes)} {other[8.0] / other[1.0]:.2f}x")
    return Measured(own[8.0] / own[1.0], "; ".join(words))


def _at_quarter(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return a quantity at 1/4 RTT and at 1 RTT, by load."""
    return _means(table, quantity).loc[[0.25, 1.0]].rename(columns="load {:g}".format)


def _too_small(table: pd.DataFrame) -> Measured:
    times = _at_quarter(table, "AFCT")
    words = ", ".join(f"{load} {one[0.25] / 1e6:.1f} and {one[1.0] / 1e6:.1f} us" for load, one in times.items())
    return Measured(times.T[0.25] / times.T[1.0], words)


def _loses_use(table: pd.DataFrame) -> Measured:
    use = _at_quarter(table, "utilisation")
    words = ", ".join(f"{load} {one[0.25]:.0%} and {one[1.0]:.0%}" for load, one in use.items())
    return Measured(use.T[1.0] - use.T[0.25], words)


class Figure22(ReadingFigure):
    name = "ren.fig22"
    seeding = Seeding.POOLED
    grid = MappingProxyType({"size": (3.6, 4.2), "legend": "outside lower center"})
    more = " (the paper has one RTT)"
    claims = (
        claim("ren-f22-1", measure=_spread, band=Each(_INSENSITIVE), direction=At("AFCT", _INSENSITIVE)),
        claim("ren-f22-2", measure=_tail, band=AtLeast(1.2), direction=MoreThan(1.02)),
        claim("ren-f22-3", measure=_too_small, band=Each(Between(1, 1.1)), direction=Some(MoreThan(1), of="the loads")),
        claim("ren-f22-4", measure=_loses_use, band=Each(MoreThan(0.01), of="load")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        count, periods = (300, (0.25, 0.5, 1.0, 2.0, 8.0)) if is_quick else (3000, PERIODS)
        for number, (name, sizes) in enumerate(_VARIANTS[:1] if is_quick else _VARIANTS):
            seeds = range(seed, seed + (1 if number else SEEDS[scale]))
            for load, period, one in product(LOADS, periods, seeds):
                yield self._point(name, sizes, load, period, count, one)

    @staticmethod
    def _point(name: str, sizes: str, load: float, period: float, count: int, seed: int) -> Point:
        end = _end(load, sizes, count, seed)
        hosts = _PAIRS + _LONG
        changes = {"RenMarker.period_ps": int(period * SIMULATED_RTT_PS)}
        if name == SLOW_TIMER:
            changes["GrantClock.least_timeout_ps"] = int(us(100))
        return Point.of(
            f"{name}, {sizes}, load {load:g}, {period:g} RTT, seed {seed}",
            {"scheme": name, "sizes": sizes, "load": load, "period": period, "seed": seed, "end_ps": end},
            network=partial(
                topology.ren_testbed, senders=hosts, receivers=hosts, rate=SIMULATED_LINE_BPS,
                delay=ps(SIMULATED_RTT_PS // 6), buffer=_BUFFER,
            ),
            workload=partial(_flows, load, sizes, count, seed),
            scheme=SIMULATED["ren" if name == SLOW_TIMER else name].replace(**changes), until=ps(end), seed=seed,
            probes=[probes.queue("s0", "s1", every=us(5)), probes.throughput("s0", "s1", every=us(50))],
            cost=count / load,
        )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        short = result.flows.iloc[_LONG:]
        fct_ps = short["fct_ps"].fillna(point.labels["end_ps"] - short["start_ps"]).astype(np.float64)
        begin, last = _ON + int(us(300)), int(short["start_ps"].max())
        queue, use = result.samples("queue s0->s1"), result.samples("throughput s0->s1")
        numbers = {
            "flows": (len(short), ""),
            "unfinished": (int(short["fct_ps"].isna().sum()), ""),
            "AFCT": (float(fct_ps.mean()), "ps"),
            "p99 FCT": (float(fct_ps.quantile(0.99)), "ps"),
            "mean queue": (float(queue.loc[begin:last].mean() / PACKET_BYTES), "packets"),
            "utilisation": (float(use.loc[begin:last].mean() / SIMULATED_LINE_BPS), ""),
            "drops": (int(result.counters["dropped_packets"]), "packets"),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        ran = labels_of(table, "scheme", "sizes")
        times: dict[Any, tuple[str, ...]] = {}
        use: dict[Any, tuple[str, ...]] = {}
        for kind, colour in zip(_VARIANTS, ("blue", "sky", "purple", "yellow", "black", "orange"), strict=True):
            for quantity, load, line in (("AFCT", 0.2, "o-"), ("p99 FCT", 0.8, "o--")) if kind in ran else ():
                times[quantity, *kind] = (_label(*kind) if quantity == "AFCT" else "_", colour, line)
                use[load, *kind] = ("_", colour, line)
        axes = {"xticks": PERIODS, "xticklabels": [f"{period:g}" for period in PERIODS]}
        over = partial(Lines, over="period", xlabel="sampling period (base RTTs)")
        time = partial(over, "", times, by=("quantity", "scheme", "sizes"), unit="us", log="xy")
        words: dict[str, Any] = {"label": "FCT of short flows", "axes": {"ylim": (10, 1000), **axes}}
        panels = [time(where={"load": load}, title=f"load {load}: AFCT, p99 dashed", **words) for load in LOADS]
        used = partial(over, "utilisation", use, by=("load", "scheme", "sizes"), unit="%", log="x")
        panels.append(used(title="use of the bottleneck (dashed: load 0.8)", axes={"ylim": (30, 101), **axes}))
        return self.drawn(panels, table)
