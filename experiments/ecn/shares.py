"""ECN or Delay: the final shares of two flows, and the effect of jitter on marks and delays."""

from rdmacc.models import PatchedTimelyFluid, TimelyFluid
from rdmacc.schemes import scheme
from ..api import *

LOOKS = {"timely": ("TIMELY", "vermilion"), "timely-patched": ("patched TIMELY", "blue"), "dcqcn": ("DCQCN", "green")}
PAIRS = [("h1", "h0"), ("h2", "h0")]
LATER_MS, SPLITS = (0, 1, 5, 20), (0.5, 0.7, 0.9)
MODELS = {"timely": TimelyFluid, "timely-patched": PatchedTimelyFluid}
END_PS = {"quick": ms(40), "paper": ms(200)}
JITTER, LINE_BPS = "jitter", 10e9


def with_jitter(end_ps: int, seed: int) -> pd.DataFrame:
    """Return two long flows, and messages that disturb their feedback in the second half."""
    rng, mean_ps = np.random.default_rng(seed), 8e12 * 64e3 / (0.3 * LINE_BPS)
    starts = end_ps // 2 + np.cumsum(rng.exponential(mean_ps, int(end_ps / 2 / mean_ps))).astype(np.int64)
    noise = [(f"h{6 + i % 2}", f"h{2 + i % 2}", "64kB", ps(int(start))) for i, start in enumerate(starts)]
    return workload.messages([("h0", "h4", "10GB"), ("h1", "h5", "10GB"), *noise])


def moments(trace: pd.Series, from_ps: int, to_ps: int) -> tuple[float, float]:
    """Return the time average and standard deviation of a trace."""
    spans = shown(trace, from_ps, to_ps)
    values, times = spans.to_numpy()[:-1], np.diff(spans.index)
    mean = float(np.average(values, weights=times))
    return mean, float(np.average((values - mean) ** 2, weights=times)) ** 0.5


def shares(rows: pd.DataFrame, scheme: str, side: str) -> dict[str, float]:
    """Return the first flow's share relative to the fair share, by start."""
    found = rows[having(rows, scheme=scheme, side=side, quantity="share")]
    return {str(case): float(one) for case, one in found.groupby("start")["value"].mean().items()}


def spread(rows: pd.DataFrame, side: str) -> float:
    found = shares(rows, "timely", side).values()
    return max(found) - min(found)


def disturbed(rows: pd.DataFrame, quantity: str) -> dict[str, float]:
    """Return the mean of a quantity with jitter relative to without, by scheme."""
    found = rows[having(rows, quantity=quantity)].groupby("scheme")["value"].mean()
    return {scheme: float(found[scheme]) for scheme in LOOKS}


class Shares(Experiment):
    name = "ecn.shares"
    seeding = Seeding.POOLED
    claims = (
        claim("ecn-t-1", measure=partial(spread, side="packets"), band=AtLeast(0.1)),
        claim("ecn-t-2", measure=partial(spread, side="model"), band=AtLeast(0.1)),
        claim("ecn-t-3", measure=partial(shares, scheme="timely-patched", side="packets"),
              band=Each(Within(1, share=0.1), of="start")),
        claim("ecn-t-4", measure=partial(shares, scheme="timely-patched", side="model"),
              band=Each(Within(1, share=0.1), of="split")),
        claim("ecn-t-5", measure=partial(disturbed, quantity="disturbed"), band=Lowest("dcqcn")),
        claim("ecn-t-6",
              measure=lambda rows: rows[having(rows, scheme="timely-patched", side="packets", quantity="queue")]
                  .groupby("start")["value"].mean() / float(PatchedTimelyFluid().fixed_point()["queue_bytes"]),
              band=Each(Within(1, share=0.35), of="start")),
        claim("ecn-t-7", measure=partial(disturbed, quantity="kept"), band=Highest("dcqcn")),
    )  # fmt: skip
    panels = (
        *(Lines(quantity="share", looks={one: LOOKS[one] for one in MODELS}, over=over, xlabel=xlabel,
                title=f"the first flow's share,\n{side}")
          for side, over, xlabel in (("packets", "later", "the second flow starts later by (ms)"),
                                     ("model", "split", "its share at the start"))),
        Bars(quantity="disturbed", looks=LOOKS, unit="x", log="y",
             title="the queue's deviation,\nwith jitter over without"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        end_ps = END_PS[check_scale(scale)]
        for name, one in product(LOOKS, range(seed, seed + (12 if scale == "paper" else 1))):
            control = preset("timely-2015")[name] if name == "timely" else scheme(name)
            common: dict[str, Any] = {"seed": one, "until": ps(end_ps)}
            nothing = {"start": math.nan, "later": math.nan, "split": math.nan}
            known = {"scheme": name, "end_ps": end_ps, "seed": one, **nothing}
            yield Point.of(
                f"{name}, jitter, seed {one}", {**known, "side": JITTER},
                network=partial(topology.dumbbell, 4, 4, rate="10Gbps"), scheme=control.replace(ack_priority=3),
                workload=partial(with_jitter, end_ps, one), **common,
                probes=[probes.queue("s0", "s1"), probes.throughput("s0", "s1", every=ps(end_ps // 4))],
            )  # fmt: skip
            for later in LATER_MS if name in MODELS else ():
                yield Point.of(
                    f"{name}, {later} ms later, seed {one}",
                    {**known, "side": "packets", "start": later, "later": later},
                    network=partial(topology.star, 3, rate="10Gbps"), scheme=control,
                    workload=partial(workload.long_flows, PAIRS, "10GB", start=[0, ps(ms(later))]),
                    probes=[probes.queue("s0", "h0"), *(probes.goodput(i, every=ps(end_ps // 4)) for i in range(2))],
                    **common,
                )  # fmt: skip
            for split in SPLITS if name in MODELS else ():
                labels = {**known, "side": "model", "start": split, "split": split}
                yield Point(name=f"{name}, model, {split}, seed {one}", labels=labels)

    def compute(self, point: Point) -> pd.DataFrame:
        split, model, end_ps = point.labels["split"], MODELS[point.labels["scheme"]], point.labels["end_ps"]
        fluid = model(start_first=split, start=1 - split, duration_ps=end_ps, step_ps="8us").solve()
        late = fluid.iloc[-len(fluid) // 4 :].mean()
        share = 2 * late["rate_first_bps"] / (late["rate_first_bps"] + late["rate_other_bps"])
        return tidy(point.name, {"share": (share, ""), "queue": (late["queue_bytes"], "bytes")})

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        end_ps = result.now_ps
        if point.labels["side"] == JITTER:
            queue, sent = result.samples("queue s0->s1"), result.samples("throughput s0->s1")
            before, after = (moments(queue, at, at + end_ps // 4)[1] for at in (end_ps // 4, end_ps * 3 // 4))
            return tidy(point.name, {"disturbed": (after / before, ""), "kept": (sent.iloc[-1] / sent.iloc[1], "")})
        got = [result.samples(f"goodput {i}").iloc[-1] for i in range(2)]
        mean, _ = moments(result.samples("queue s0->h0"), end_ps * 3 // 4, end_ps)
        return tidy(point.name, {"share": (2 * got[0] / sum(got), ""), "queue": (mean, "bytes")})
