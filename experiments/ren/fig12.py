"""REN, figure 12: short flows meet a link filled by two long ones, on the testbed's dumbbell."""

from rdmacc.experiments.ren.bursts import LARGE_BUFFER
from ..api import *
from .setup import *

_SCHEMES = ("phost", "homa-2-levels", "ndp", "traditional", "ren")
_PUBLISHED = {"phost": 0.58, "homa-2-levels": 0.42, "ndp": 0.43}
"""Reductions of the AFCT by REN, at 60 KB."""
_BY_MARKS = (LOOKS["ren"][0], LOOKS["traditional"][0])
_START, _END = ms(1), ms(11)
_SENDERS = 3
_STARTS = 5012


def _flows(total_bytes: int, seed: int) -> pd.DataFrame:
    ends = [("h0", "h5"), ("h1", "h6"), *((f"h{2 + i}", "h7") for i in range(_SENDERS))]
    sizes = ["1GB", "1GB", *[total_bytes // _SENDERS] * _SENDERS]
    late = np.random.default_rng([seed, _STARTS]).integers(0, RTT_PS, _SENDERS + 1)
    frame = workload.messages([(*pair, size) for pair, size in zip(ends, sizes, strict=True)])
    return frame.assign(start_ps=[0, late[0], *(_START + late[1:])])


def _times(table: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Return AFCT or p99 FCT in ps, by total size and scheme."""
    rows = table[table["quantity"] == "FCT"]
    found = rows.groupby(["size_bytes", "scheme"])["value"]
    return (found.mean() if statistic == "mean" else found.quantile(0.99)).unstack()


def _by_size(table: pd.DataFrame) -> pd.DataFrame:
    found = pd.DataFrame({name: _times(table, name).stack() for name in ("mean", "p99")}).reset_index()
    return found.assign(size=found["size_bytes"] // 1000)


def _largest(table: pd.DataFrame) -> Measured:
    means = _times(table, "mean").loc[kB(60)]
    ratio = means["ren"] / means
    words = f"REN {means['ren'] / 1e6:.0f} us; {LOOKS['traditional'][0]} {1 - ratio['traditional']:.0%}"
    return Measured(labelled({name: 1 - ratio[name] for name in _PUBLISHED}), words)


def _over_best(table: pd.DataFrame) -> Measured:
    ratios, words = {}, []
    for statistic, name in (("mean", "AFCT"), ("p99", "p99 FCT")):
        times = _times(table, statistic)
        others = times[list(_PUBLISHED)]
        ratios[name] = (times["ren"] / others.min(axis=1)).rename(lambda size: f"{size / 1000:g} KB")
        words.append(f"{name} {', '.join(LOOKS[one][0] for one in others.idxmin(axis=1))}")
    return Measured(ratios, f"the best others: {'; '.join(words)}")


def _timeouts(table: pd.DataFrame) -> Measured:
    rows = table[table["quantity"] == "timeouts"]
    hit = labelled(rows.assign(hit=rows["value"] > 0).groupby("scheme")["hit"].mean()[list(_SCHEMES)].to_dict())
    others = ", ".join(f"{name} {share:.0%}" for name, share in hit.items() if name not in _BY_MARKS)
    return Measured({name: hit[name] for name in _BY_MARKS}, others)


class Figure12(ReadingFigure):
    name = "ren.fig12"
    repetition = "run"
    claims = (
        claim("ren-f12-1", measure=_largest,
              band=All({name: Part(value) for name, value in labelled(_PUBLISHED).items()}),
              direction=Each(MoreThan(0))),
        claim("ren-f12-2", measure=_over_best, band=Each(Each(LessThan(1), of="size"))),
        claim("ren-f12-a", measure=_timeouts, band=Lowest("REN")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        sizes, runs = ((30, 60), 5) if is_quick else ((30, 40, 50, 60), 40)
        others = [] if is_quick else stand_ins(_SCHEMES, "outstanding", "switch buffer")
        for name in (*_SCHEMES, *others):
            own, _, reading = name.partition(", ")
            buffer = BUFFER_BYTES if reading else LARGE_BUFFER
            for size in sizes:
                yield Point.of(
                    f"{name}, {size} KB", {"scheme": name, "size_bytes": kB(size), "runs": runs},
                    network=partial(topology.ren_testbed, senders=_SENDERS + 2, receivers=3, buffer=buffer),
                    workload=partial(_flows, kB(size), 1000 * seed), scheme=TESTBED[own], until=_END, seed=1000 * seed,
                )  # fmt: skip

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        first = point.scenario
        assert first is not None
        frames = []
        for number in range(point.labels["runs"]):
            seed = first.seed + number
            flows = partial(_flows, point.labels["size_bytes"], seed)
            found = self.measure(point, run(replace(first, workload=flows, seed=seed)))
            frames.append(found.assign(run=number))
        return pd.concat(frames, ignore_index=True)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        short = result.flows.iloc[2:]
        fct_ps = short["fct_ps"].fillna(_END - short["start_ps"]).astype(np.float64)
        frames = []
        flows = zip(fct_ps, short["timeouts"], short["status"], strict=True)
        for number, (time_ps, timeouts, status) in enumerate(flows):
            numbers = {
                "FCT": (float(time_ps), "ps"),
                "timeouts": (int(timeouts), ""),
                "unfinished": (int(status != "finished"), ""),
            }
            frames.append(tidy(point.name, numbers).assign(flow=number))
        return pd.concat(frames, ignore_index=True)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {name: LOOKS[name] for name in _SCHEMES}
        ren = _times(table, "mean")["ren"].get(kB(60), np.nan)
        published = {name: {60: ren / (1 - cut)} for name, cut in _PUBLISHED.items()}
        bars = partial(Bars, looks=looks, over="size", unit="us", log="y", label="FCT")
        axes = {"ylim": (20, 300_000), "xlabel": "total size of three flows (KB)"}
        panels = (
            bars(quantity="mean", of=_by_size, title="(a) AFCT", axes=axes, published=published),
            bars(quantity="p99", of=_by_size, title="(b) 99th FCT", axes=axes),
        )
        return self.drawn(panels, table, " (published: from REN's)", size=(5.5, 4.2), legend="outside lower center")
