"""RCC, figures 6, 7 and 12: a thousand senders answer one receiver, next to a long flow."""

from ..api import *
from .setup import *

SENDERS = {"quick": 200, "paper": 1000}
SEEDS = {"quick": 1, "paper": 3}
BEGIN_PS = us(200)
SPREAD = "7us"
LINE_RATE, REQUEST = "line-rate", "request"
SHORT, LONG = "200kB", "2MB"
FEW = 50
"""Number of senders in the sweep of figure 12."""
TOGETHER = "request, 99%, no floor, jitter of 3 us"
_TOGETHER: dict[str, Any] = {"start": REQUEST, "eta": 0.99, "has_floor": False}
_AS_PRINTED: dict[str, Any] = {"start": LINE_RATE, "eta": 1.0, "has_floor": True}
READINGS: dict[str, dict[str, Any]] = {
    TOGETHER: _TOGETHER,
    "share in the request": _AS_PRINTED | {"start": REQUEST},
    "99% of the link": _AS_PRINTED | {"eta": 0.99},
}
"""Labels of RCC's cases, by reading."""
_JITTERED = ("rcc-async", "rcc-n1")
_JITTER_US = 3.0
_BINS = 400


@dataclass(frozen=True)
class IncastCase:
    """A run: a scheme of the preset, RCC's start and assigned bandwidth, and the message size."""

    scheme: str
    start: str = LINE_RATE
    eta: float = 1.0
    has_floor: bool = True
    size: str = SHORT
    late_samples: int = 0
    """The paper's n; 0: the preset's."""
    jitter_us: float = -1.0
    """Largest error of a sample; -1: the preset's."""
    senders: int = 0
    """Number of senders; 0: that of the scale."""

    def changes(self) -> dict[str, Any]:
        if not self.scheme.startswith("rcc"):
            return {}
        found: dict[str, Any] = {"start": self.start, "ewa_eta": self.eta, "has_floor": self.has_floor}
        if self.late_samples:
            found["late_samples"] = self.late_samples
        if self.jitter_us >= 0:
            found["jitter_ps"] = us(self.jitter_us)
        return found

    @property
    def name(self) -> str:
        parts = [self.scheme, self.start, f"eta {self.eta:g}", *["no floor"] * (not self.has_floor), self.size]
        parts += [f"n {self.late_samples}"] * bool(self.late_samples)
        parts += [f"jitter {self.jitter_us:g} us"] * (self.jitter_us >= 0)
        parts += [f"{self.senders} senders"] * bool(self.senders)
        return ", ".join(parts)

    @property
    def label(self) -> str:
        words = {REQUEST: "share in the request", LINE_RATE: "line rate"}[self.start] * self.scheme.startswith("rcc")
        parts = [words] * bool(words) + [f"η = {self.eta:g}"] * (self.eta < 1) + ["no floor"] * (not self.has_floor)
        return NAMES[self.scheme] + (f" ({', '.join(parts)})" if parts else "")


def together(case: IncastCase) -> IncastCase:
    """Return one of RCC's cases under the reading `TOGETHER`."""
    return replace(case, **_TOGETHER, jitter_us=_JITTER_US if case.scheme in _JITTERED else case.jitter_us)


def _messages(senders: int, size: str, seed: int) -> pd.DataFrame:
    """Return the incast, and the background flow as the last message."""
    hosts = [f"h{number}" for number in range(1, senders + 1)]
    return workload.combine(
        workload.incast(hosts, RECEIVER, size, start=BEGIN_PS, jitter=SPREAD, seed=seed),
        workload.long_flows([(f"h{senders + 1}", RECEIVER)], size="100GB"),
    )


class IncastFigure(Experiment):
    """Base of the incast's figures, which share their points. Claims see one row per run."""

    name = "rcc.incast"
    seeding = Seeding.POOLED
    is_wide = True

    @abstractmethod
    def cases(self, scale: str) -> list[IncastCase]:
        """Return the runs of the figure."""

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        if reading not in READINGS:
            return super().under(table, reading)
        other, is_rcc = READINGS[reading], table["scheme"].str.startswith("rcc") & (table["senders"] != FEW)
        found = in_place(table[is_rcc], _AS_PRINTED, other)
        if found is None:
            return None
        is_placed = found["scheme"].isin(_JITTERED) & having(found, **_AS_PRINTED)
        found = found.assign(jitter_us=found["jitter_us"].mask(is_placed, -1.0))  # labelled as the default
        return pd.concat([found, table[~is_rcc]], ignore_index=True)

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for case in self.cases(scale):
            senders = case.senders or SENDERS[check_scale(scale)]
            sent_ps = senders * size_bytes(case.size) * 8e12 / GOODPUT_BPS
            for run in range(seed, seed + SEEDS[scale]):
                yield Point.of(
                    f"{case.name}, seed {run}", asdict(case) | {"senders": senders, "bound_ps": sent_ps, "seed": run},
                    network=partial(incast_star, senders), workload=partial(_messages, senders, case.size, run),
                    scheme=PRESET[case.scheme].replace(**case.changes()), until=ps(round(BEGIN_PS + 1.25 * sent_ps)),
                    seed=run, cost=sent_ps,
                    probes=[
                        probes.queue("s0", RECEIVER, "1us"),
                        *(
                            probes.field("host", RECEIVER, f"rx_{name}", every="10us")
                            for name in ("wire_bytes", "packets")
                        ),
                        received(senders, "10us"),
                    ],
                )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        senders = point.labels["senders"]
        fct_ps = np.sort(result.flows["fct_ps"].to_numpy(np.float64, na_value=np.nan)[:senders])
        bound_ps = point.labels["bound_ps"]
        last_ps = float(np.nanmax(fct_ps, initial=0.0))
        queue = result.samples(f"queue s0->{RECEIVER}")
        wire, packets = (result.samples(f"rx_{name} {RECEIVER}") for name in ("wire_bytes", "packets"))
        background = result.samples(f"received_packets {senders}")
        payload = (packets - background).to_numpy(np.float64) * result.plan.scheme.payload_bytes
        times = background.index.to_numpy(np.float64)

        def gained(from_ps: float, to_ps: float) -> float:
            begin, end = np.interp([from_ps, to_ps], times, payload)
            return float((end - begin) * 8e12 / (to_ps - from_ps))

        numbers = {
            "base RTT": (int(result.plan.qp_base_rtt_ps[0]), "ps"),
            "packet on the wire": (wire.iloc[-1] / packets.iloc[-1], "bytes"),
            "unfinished": (int(np.isnan(fct_ps).sum()), ""),
            "median FCT": (_rank(fct_ps, 0.5), "ps"),
            "p99 FCT": (_rank(fct_ps, 0.99), "ps"),
            "last FCT": (last_ps, "ps"),
            "goodput": (gained(BEGIN_PS + 0.1 * bound_ps, BEGIN_PS + 0.9 * bound_ps), "bps"),
            "steady queue": (mean_between(queue, BEGIN_PS + 0.4 * bound_ps, BEGIN_PS + 0.6 * bound_ps), "bytes"),
            "peak queue": (float(queue.max()), "bytes"),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
        }
        edges = BEGIN_PS + np.linspace(0.0, 1.02 * max(last_ps, bound_ps), _BINS + 1)
        rates = np.diff(np.interp(edges, times, payload)) * 8e12 / np.diff(edges)
        means = queue.groupby(np.digitize(queue.index, edges)).mean().reindex(range(1, _BINS + 1)).ffill()
        ends = pd.Index((edges[1:] - BEGIN_PS).astype(np.int64), name="time_ps")
        levels = pd.Index(range(0, 1001, 5), name="time_ps")  # quantiles, in thousandths
        by_level = pd.Series([_rank(fct_ps, level / 1000) for level in levels], levels)
        curves = {
            "goodput over time": (pd.Series(rates, ends), "bps"),
            "queue": (pd.Series(means.to_numpy(), ends), "bytes"),
            "FCT by level": (by_level, "ps"),
        }
        return tidy(point.name, numbers, curves)


IncastFigure.points_of = IncastFigure


def _rank(ordered: np.ndarray[Any, np.dtype[np.float64]], share: float) -> float:
    """Return a quantile of sorted times; NaN, for unfinished flows, comes last."""
    return float(np.interp(share * (len(ordered) - 1), np.arange(len(ordered)), ordered))


# Reading the table


def points_in(table: pd.DataFrame, case: IncastCase) -> list[str]:
    """Return the points of a case, by seed; empty if it was not run."""
    names = table["point"].drop_duplicates()
    return [str(name) for name in names if str(name).rpartition(", seed ")[0] == case.name]


def values(rows: pd.DataFrame, case: IncastCase, quantity: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a quantity of a case, by seed, from one row per run."""
    wanted = {name: value for name, value in asdict(case).items() if name != "senders" or value}
    found = rows[quantity].to_numpy(np.float64)[having(rows, **wanted)]
    if not len(found):
        raise NotJudged(f"not run: {case.name}")
    return found


def mean(rows: pd.DataFrame, case: IncastCase, quantity: str) -> float:
    """Return the mean of a case's quantity over seeds."""
    return float(values(rows, case, quantity).mean())


def case_reduction(rows: pd.DataFrame, case: IncastCase, other: IncastCase, quantity: str) -> float:
    """Return the relative reduction of a quantity from `other` to `case`, using means over seeds."""
    return 1 - mean(rows, case, quantity) / mean(rows, other, quantity)
