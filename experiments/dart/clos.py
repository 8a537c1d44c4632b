"""Dart at 1,024 hosts, for figures 11 to 14, the tables and the sensitivity study."""

from __future__ import annotations

from rdmacc.protocols.packet_meter import MarkMeter, PacketMeter
from ..api import *
from .setup import *

LOADS = {"typical": (0.2, 0.4, 0.6), "light": (0.2, 0.4, 0.6, 0.8), "heavy": (0.2, 0.4)}
"""Loads by mix (tables I and II)."""
NOTICEABLE = 0.05
"""Smaller gains are within the variation between seeds and count as no gain."""
SEEDS = 6
"""Runs of a point at paper scale."""
WARM_UP_PS = ms(2)
UNTIL_PS = ms(100)
PERSISTENT_UNTIL_PS = ms(16)
ARRIVALS = {"quick": "3ms", "paper": "10ms"}
ENDLESS_BYTES = 10**9
REPORTED_BYTES = 8_000
"""Size of the flows whose latency the paper reports (VI-B)."""


@dataclass(frozen=True)
class Traffic:
    """How a reading assigns queue pairs and incasts."""

    is_kept: bool
    """One queue pair per pair of hosts. Otherwise one per message, except under DASR (III-B)."""
    groups: int | None
    """Number of fixed groups of a receiver and its senders; None: each incast draws new ones."""


def kept(groups: int) -> str:
    """Return the label of runs with this number of groups, in which rates outlive messages."""
    return f"kept, {groups} groups"


def groups_by_load(load: float) -> int:
    """Return the number of groups that keeps each group equally busy at every load: 128 at 40%."""
    return round(320 * load)


FRESH, FRESH_GROUPS, BY_LOAD = "fresh", "fresh, 128 groups", "kept, groups by load"
TRAFFIC = {
    FRESH: Traffic(is_kept=False, groups=None),
    FRESH_GROUPS: Traffic(is_kept=False, groups=128),
    **{kept(groups): Traffic(is_kept=True, groups=groups) for groups in (64, 79, 128, 192, 256, 341)},
}
"""Traffic by the label of the runs."""
DEFAULT_READING = BY_LOAD
"""The runs by which claims are judged: those with `groups_by_load` groups."""
BOTH = (DEFAULT_READING, FRESH)
"""Labels of the readings that pictures show."""
LONG_WINDOW, TIMELY_20 = "long window", "TIMELY's 20 us"
LAST_HOP, SPREAD_STARTS = "deflection at the last hop", "starts within 100 us"
ENDLESS = "long flows of 1 GB"
LONG_FLOWS = "throughput of long flows"
"""The reading in which figure 13 shows long flows alone."""
LABELS = {DEFAULT: DEFAULT_READING} | {f"{groups} groups": kept(groups) for groups in (64, 128, 256)}
"""Labels by reading, where they differ."""


@dataclass(frozen=True)
class ClosCase:
    """The parameters that distinguish a run."""

    scheme: str
    mix: str
    load: float
    reading: str = DEFAULT_READING
    degree: int = 16
    short_bytes: int = 0
    """Size of all short flows; 0 for 2, 4 and 8 KB with equal probability."""
    jitter: str = ""
    """Time within which the flows of an incast start; empty: all start together."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Parameters of the scheme."""
    is_persistent: bool = False
    """Each host has one long flow of 1 GB from the start; the load then only covers short flows."""

    def __post_init__(self) -> None:
        if self.reading == BY_LOAD:  # readings may share a run
            object.__setattr__(self, "reading", kept(groups_by_load(self.load)))

    @property
    def differences(self) -> str:
        """All parameters except scheme, mix and load, in words."""
        parts = [f"degree {self.degree}"] if self.degree != 16 else []
        parts += [f"{self.short_bytes} B"] if self.short_bytes else []
        parts += [f"starts within {self.jitter}"] if self.jitter else []
        parts += [ENDLESS] if self.is_persistent else []
        return ", ".join(parts + [f"{name} {value}" for name, value in self.changes])

    @property
    def identity(self) -> dict[str, Any]:
        return {"scheme": self.scheme, "mix": self.mix, "load": self.load, "changes": self.differences}

    def point(self, scale: str, seed: int) -> Point:
        what = f"{self.scheme}, {self.mix} {self.load:.0%}"
        name = ", ".join(filter(None, [what, self.reading, self.differences, f"seed {seed}"]))
        traffic = partial(
            mix_on_clos, self.load, self.mix, duration=ARRIVALS[scale], degree=self.degree,
            short=self.short_bytes or workload.DART_SHORT, long="1GB" if self.is_persistent else "1MB",
            is_persistent=self.is_persistent, groups=TRAFFIC[self.reading].groups, jitter=self.jitter or "0us",
            seed=seed,
        )  # fmt: skip
        connection = "pair" if TRAFFIC[self.reading].is_kept else "auto"
        until_ps = PERSISTENT_UNTIL_PS if self.is_persistent else UNTIL_PS
        return Point.of(
            name,
            {**self.identity, "reading": self.reading, "degree": self.degree, "short_bytes": self.short_bytes,
             "seed": seed},
            network=topology.dart_clos, workload=traffic, seed=seed, until=until_ps,
            scheme=metered(self.scheme, connection=connection, **dict(self.changes)), cost=self.load,
        )  # fmt: skip


def mix_on_clos(load: float, mix: str, **options: Any) -> pd.DataFrame:
    return workload.dart_mix(topology.dart_clos(), load, mix, **options)


@cache
def metered(name: str, **changes: Any) -> Scheme:
    """Return a scheme of Dart's preset with packet meters."""
    scheme = PRESET[name].replace(**changes)
    return replace(scheme, control=(PacketMeter(), *scheme.control, MarkMeter()))


WINDOW = (("Dasr.window_ps", "0s"), ("Dasr.full_packets", 10))
MIN_RTT = (("min_rtt_ps", "20us"),)
TO_LAST_HOP = (("deflect_last_hop", True),)
STARTS_WITHIN = "100us"
WITH_LONG = ClosCase("dart", "typical", 0.2, changes=WINDOW).differences
"""DASR's longer window, as a parameter and as the label `changes`."""
CHANGED = {
    LONG_WINDOW: WITH_LONG,
    TIMELY_20: ClosCase("timely", "typical", 0.2, changes=MIN_RTT).differences,
    LAST_HOP: ClosCase("dart", "typical", 0.2, changes=TO_LAST_HOP).differences,
    SPREAD_STARTS: ClosCase("dart", "typical", 0.2, jitter=STARTS_WITHIN).differences,
    ENDLESS: ENDLESS,
}
"""The label `changes` of runs that change one parameter, by reading."""


class ClosFigure(CaseFigure):
    """A figure or table of these runs; all share their stored points."""

    name = "dart.clos"

    seeds = SEEDS

    def seeds_of(self, case: Any) -> int:
        return 1 if case.jitter or case.changes in (MIN_RTT, TO_LAST_HOP) else self.seeds

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the rows of a reading; None if they are all the default's."""
        if reading in CHANGED:
            return changed(of_reading(table), CHANGED[reading])
        rows = of_reading(table, LABELS.get(reading, reading))
        if reading == DEFAULT:
            return rows
        return rows if len(rows) and not rows["point"].isin(of_reading(table)["point"]).all() else None

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, ports = result.flows.reset_index(drop=True), result.ports
        met = result.transfers
        is_short, counts = flows["group"].notna(), flows["start_ps"] >= WARM_UP_PS
        latency_ps = pd.Series(fct_so_far_ps(result))
        reported = flows["size_bytes"] == (point.labels["short_bytes"] or REPORTED_BYTES)
        short_ps = latency_ps[is_short & counts & reported].to_numpy()
        payload = result.plan.scheme.payload_bytes
        got = np.minimum(flows["size_bytes"], met["arrived_packets"].to_numpy() * payload)
        is_long = ~is_short & (counts | (flows["start_ps"] == 0))
        goodput_bps = got * 8e12 / latency_ps
        is_counted = is_long | (is_short & counts)
        is_late = (flows["status"] != "finished") & (flows["size_bytes"] < ENDLESS_BYTES)
        short = met[is_short.to_numpy()]
        arrived = short["arrived_packets"].sum()
        nic = 1 - result.plan.scheme.marks_at_nic  # the meter misses the sender's link
        in_order = flows["retransmissions"].to_numpy() == 0
        marks = ports["marked_packets"]
        numbers = {
            "p50": (np.percentile(short_ps, 50), "ps"),
            "p99": (np.percentile(short_ps, 99), "ps"),
            "goodput": (goodput_bps[is_long].mean(), "bps"),
            "goodput of all": (goodput_bps[is_counted].mean(), "bps"),
            "reported flows": (len(short_ps), ""),
            "long flows": (is_long.sum(), ""),
            "unfinished": (is_late.sum(), ""),
            "marked": (short["marks_left"].sum() / arrived, ""),
            "marked on arrival": (short["marked_arrivals"].sum() / arrived, ""),
            "path": (short["hops_passed"].sum() / arrived + nic, "links"),
            "data hops": (ports["tx_data_packets"].sum(), ""),
            "marks at last hop": (marks[ports["link_class"] == "last_hop"].sum() / max(1, marks.sum()), ""),
            "deflections": (ports["deflected_packets"].sum(), ""),
            "longest path": (short["most_hops"].max() + nic, "links"),
            "longest path of long flows": (met["most_hops"][~is_short.to_numpy()].max() + nic, "links"),
            "refused": (met["refused_packets"][in_order].sum(), ""),
            "pauses": (ports["pauses"].sum(), ""),
            "dropped": (ports["dropped_packets"].sum() + ports["violations"].sum(), ""),
            "packet hops": (ports["tx_data_packets"].sum() + ports["tx_control_packets"].sum(), ""),
        }
        return tidy(point.name, numbers)


ClosFigure.points_of = ClosFigure


def cases(
    schemes: Sequence[str],
    loads: Iterable[tuple[str, float]],
    readings: Sequence[str] = (DEFAULT_READING,),
    **options: Any,
) -> list[ClosCase]:
    """Return a case for every scheme at every (mix, load) in every reading, without duplicates."""
    found = [
        ClosCase(scheme, mix, load, reading, **options)
        for mix, load in loads
        for scheme in schemes
        for reading in readings
    ]
    return list(dict.fromkeys(found))


def of_reading(rows: pd.DataFrame, reading: str = DEFAULT_READING) -> pd.DataFrame:
    """Return the rows with a label of `TRAFFIC`, or those of `BY_LOAD`."""
    if reading != BY_LOAD:
        return rows[having(rows, reading=reading)]
    labels = {load: kept(groups_by_load(load)) for load in rows["load"].unique()}
    return rows[having(rows, reading=rows["load"].map(labels).to_numpy(object))]


def changed(rows: pd.DataFrame, name: str) -> pd.DataFrame | None:
    """Return the rows with changed runs in place of the unchanged ones; None if there are no changed runs.

    Mixes and loads without changed runs are left out.
    """
    is_changed = having(rows, changes=name)
    others, rows = rows[is_changed].assign(changes=""), rows[~is_changed]
    rows = rows[among(rows, others, "mix", "load", "seed")]  # the same flows
    rows = rows[~among(rows, others, "scheme", "mix", "load", "changes")]
    return pd.concat([rows, others]) if len(others) else None


def drawn_readings(rows: pd.DataFrame) -> list[str]:
    """Return the labels of the readings to draw: those of `BOTH` that the rows have, or all that they have."""
    return [one for one in BOTH if len(of_reading(rows, one))] or [*rows["reading"].unique()]


def means(rows: pd.DataFrame, quantity: str, scheme: str, mix: str, changes: str = "") -> pd.Series[float]:
    """Return the mean of a quantity over seeds, by load."""
    return by_load(rows, quantity, scheme=scheme, mix=mix, changes=changes).mean()
