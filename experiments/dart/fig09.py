"""Dart, figure 9: throughput and convergence time on the testbed. Setup: `rdmacc.experiments.dart.testbed`."""

from itertools import groupby

from ..api import *
from .testbed import *

_HARDWARE = Each(Between(us(12), us(16)))


def _levels(table: pd.DataFrame) -> tuple[float, float]:
    rate, active = curve(table, "throughput", "throughput"), curve(table, "throughput", "SFS active")
    return float(rate[active == 0].mean()), float(rate[active == 1].mean())


def _half(table: pd.DataFrame) -> Measured:
    peak, shared = _levels(table)
    return Measured(shared / peak, f"{shared / 1e9:.2f} Gb/s")


def _edges(table: pd.DataFrame) -> dict[str, float]:
    peak, shared = _levels(table)
    rate = curve(table, "throughput", "throughput").to_numpy()
    is_between = (rate > 1.1 * shared) & (rate < 0.95 * peak)
    return {
        "edges": int(np.count_nonzero(np.diff(rate > (peak + shared) / 2))),
        "groups of messages in between": max((sum(run) for _, run in groupby(is_between)), default=0),
    }


def _as_published(parts: pd.DataFrame) -> pd.Series:
    """Return the time that the paper measured on R's clock (figure 8): t_cpu + t_b + t_f', in ps."""
    return parts["t_cpu"] + parts["t_b"] + parts["t_f'"]


def _quantile(table: pd.DataFrame, level: float) -> Measured:
    parts = parts_of_epochs(table, "epochs")
    found, in_truth = _as_published(parts), parts["t_f"] + parts["t_cpu"] + parts["t_b"]
    words = f"{len(found)} epochs; in truth, t_f + t_cpu + t_b, {show(float(in_truth.quantile(level)), 'us')}"
    return Measured(found.quantile(level), words)


def _in_rtts(table: pd.DataFrame, level: float) -> Measured:
    found, note = _quantile(table, level)
    return Measured(found / RTT_PS, note)


def _hardware(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    parts = parts_of_epochs(table, "epochs")
    times = {"at R": parts["t_b"] + parts["t_f'"], "in truth": parts["t_f"] + parts["t_b"]}
    return {name: {"least": of.min(), "greatest": of.max()} for name, of in times.items()}


def _times(table: pd.DataFrame) -> pd.DataFrame:
    parts = parts_of_epochs(table, "epochs")
    kinds = {
        "published": _as_published(parts),
        "at R": parts["t_b"] + parts["t_f'"],
        "in truth": parts["t_f"] + parts["t_b"],
    }
    return pd.DataFrame(kinds).melt(var_name="kind", value_name="time")


def _draw_published(ax: Axes, _: pd.DataFrame) -> None:
    ax.plot([*PUBLISHED_US.values()], [*PUBLISHED_US], "o", color=COLOURS["black"], label="published")
    ax.legend(loc="lower right", fontsize=8)


def _stays(table: pd.DataFrame) -> Measured:
    parts = parts_of_epochs(table, "without a pause")
    at_r = (parts["t_b"] + parts["t_f'"]).to_numpy()
    quarter = max(len(at_r) // 4, 1)
    first, last = at_r[:quarter].mean(), at_r[-quarter:].mean()
    return Measured(last / first, f"{first / 1e6:.1f} us in the first quarter of {len(at_r)} epochs")


def _quoted(table: pd.DataFrame) -> float:
    raise NotJudged("not measured")


class Figure9(Experiment):
    name = "dart.fig9"
    claims = (
        claim("dart-f9a-1", measure=lambda table: _levels(table)[0], band=Within(43e9, share=0.05)),
        claim("dart-f9a-2", measure=_half, band=Between(0.48, 0.53)),
        claim("dart-f9a-3", measure=_edges,
              band=All({"edges": MoreThan(1), "groups of messages in between": AtMost(1)})),
        *(
            claim(f"dart-f9b-{number}", published=f"{value_us:g} us", measure=partial(_quantile, level=level),
                  band=Within(us(value_us), share=0.15))
            for number, (level, value_us) in enumerate(PUBLISHED_US.items(), 1)
        ),
        claim("dart-f9b-4", measure=_hardware, band=All({"at R": _HARDWARE}), direction=All({"in truth": _HARDWARE})),
        claim("dart-f9b-5", measure=partial(_in_rtts, level=0.5), band=AtMost(2)),
        claim("dart-f9b-6", measure=_quoted, band=Exactly(ms(50))),
        claim("dart-f9b-4a", measure=_stays, band=AtMost(1.1)),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        messages, count = (64, 3) if is_quick else (32 * 1024, 5)
        epochs, more = (16, 24) if is_quick else (1024, 100)
        # LFS sends as much as SFS during a burst, and twice as much in a gap of the same length.
        burst_ps = round(2 * messages * MESSAGE * 8e12 / TESTBED_LINE_BPS)
        bursts = [(round((0.5 + 2 * number) * burst_ps), messages) for number in range(count)]
        work = partial(messages_to_r, {LFS: [(0, 3 * count * messages)], SFS: bursts})
        return [
            Point(
                name="throughput", scenario=testbed_scenario(work, seed), cost=count * messages / 10,
                labels={"group": messages // 32 if not is_quick else 8},
            ),
            epoch_point("epochs", epochs, True, seed),
            epoch_point("without a pause", more, False, seed),
        ]  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.name != "throughput":
            return measure_epochs(point, result, result.plan.seed)
        flows, group = result.flows, int(point.labels["group"])
        flows = flows.assign(end_ps=flows["start_ps"] + flows["fct_ps"].astype(np.int64))
        ends = np.sort(flows.loc[flows["src"] == LFS, "end_ps"].to_numpy())[group - 1 :: group]
        rate = group * MESSAGE * 8e12 / np.diff(ends)
        # A group counts only if SFS is active, or inactive, all the time.
        of_sfs = flows[flows["src"] == SFS].groupby("start_ps")["end_ps"].max()
        active = np.zeros(len(rate))
        for start, end in zip(of_sfs.index.tolist(), of_sfs.tolist(), strict=True):
            overlap = np.clip(np.minimum(end, ends[1:]) - np.maximum(start, ends[:-1]), 0, None)
            active += overlap / np.diff(ends)
        index = pd.Index(ends[1:], name="time_ps")
        last_ps = of_sfs.index[-1] + 2 * (of_sfs.iloc[0] - of_sfs.index[0])
        numbers = {
            "burst": (float(of_sfs.iloc[0] - of_sfs.index[0]), "ps"),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
        }
        kept = index <= last_ps
        curves = {
            "throughput": (pd.Series(rate, index=index)[kept], "bps"),
            "SFS active": (pd.Series(active, index=index)[kept], ""),
            "bursts": (pd.Series(1.0, index=pd.Index(of_sfs.index.to_numpy(np.int64), name="time_ps")), ""),
        }
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        epoch_ps = scalar(table, "throughput", "burst")
        bursts = {f"_{at}": at / epoch_ps for at in curve(table, "throughput", "bursts").index}
        clock: dict[str, Any] = {"clock": lambda *_: (0.0, epoch_ps), "time_unit": "epochs", "is_step": True}
        lfs = Traces(
            "throughput", {"throughput": ("LFS", "blue")}, unit="Gb/s", label="LFS's throughput", verticals=bursts,
            title="(a) LFS among bursts of SFS", axes={"ylim": (0, 46)}, legend=None, **clock,
        )  # fmt: skip
        looks = {
            "published": ("software (CPU calibrated)", "blue", "-"), "at R": ("hardware, at R", "vermilion", "--"),
            "in truth": ("hardware, in truth", "green", ":"),
        }  # fmt: skip
        times = Distributions(
            "time", looks, by="kind", of=_times, unit="us", title="(b) convergence", axes={"xlim": (0, 85)},
            also=_draw_published,
        )  # fmt: skip
        return self.drawn([lfs, times], table, size=(5.2, 3.8))
