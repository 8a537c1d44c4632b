"""Common to Improved Go-Back-N's experiments: variants, table I's timeout, and messages under random loss."""

from rdmacc.protocols.go_back_n import TIMEOUT_REASONS
from rdmacc.topology.base_times import base_fct_ps
from ..api import *

MESSAGE_BYTES = size_bytes("4MiB")
VARIANTS = {"go-back-n": "GBN", "send-twice": "ST", "check-epsn": "CE", "improved-go-back-n": "IGBN"}
"""Schemes of the preset, and their names in the model."""
GBN, ST, CE, IGBN = VARIANTS
TITLES = {
    "go-back-n": "Go-Back-N",
    "send-twice": "Go-Back-N with ST",
    "check-epsn": "Go-Back-N with CE",
    "improved-go-back-n": "Improved Go-Back-N",
}
ACK_TIMEOUT_PS = ms(100)
"""Timeout of table I."""
TIMEOUTS: dict[int, str] = {ms(100): "100 ms", ms(10): "10 ms", us(500): "500 us"}
LONG, MIDDLE, SHORT = TIMEOUTS
LOSSES = (1e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2)
GOODPUT = "relative throughput"

TIMERS = {"last packet": True, "first packet": False}
"""Packet that starts the sender's timer, with its parameter `timer_after_last`."""
DEFAULT_TIMER = "last packet"
"""Reading of the preset."""
PER_PACKET, FOR_ALL = "for each packet", "for all packets"
"""Scope of the NAK interval."""

_QUICK_LOSSES = (1e-5, 1e-4, 1e-3, 2e-3, 5e-3, 1e-2)


def chain_of_messages(count: int, size: int = MESSAGE_BYTES) -> pd.DataFrame:
    """Return messages between two hosts, one after the other."""
    return workload.messages([("h0", "h1", size, 0, None, (i - 1,) if i else ()) for i in range(count)])


def losing(loss: float) -> tuple[Loss, ...]:
    """Return random loss of packets and replies, on the links by which they leave their hosts."""
    return (Loss(data=loss, control=loss, links=(("h0", "s0"), ("h1", "s0"))),)


@dataclass(frozen=True)
class Setting:
    """The varied parameters, which label the table."""

    variant: str
    timeout_ps: int
    loss: float
    timer: str = DEFAULT_TIMER
    nak_interval: str = PER_PACKET

    @property
    def name(self) -> str:
        """The setting in words."""
        parts = [self.variant, TIMEOUTS[self.timeout_ps], f"{self.loss:g}", f"timer from the {self.timer}"]
        return ", ".join(parts + ["one NAK interval for all"] * (self.nak_interval == FOR_ALL))


_QUICK_RUNS = {
    **{Setting(variant, LONG, 1e-2): runs for variant, runs in {GBN: 4, ST: 4, CE: 2, IGBN: 1}.items()},
    **{Setting(variant, MIDDLE, loss): runs for variant in (CE, IGBN) for loss, runs in {2e-3: 4, 5e-3: 2}.items()},
    **{Setting(variant, MIDDLE, 1e-2): 1 for variant in VARIANTS},
    **{Setting(variant, SHORT, 5e-3): 1 for variant in VARIANTS},
    **{Setting(variant, SHORT, 1e-2): 3 for variant in VARIANTS},
}
"""Number of runs at quick scale for claims that need many timeouts; these are as long as at paper scale."""


class LossSweep(Experiment):
    """Messages under random loss, for every variant, timeout and loss rate: the data of figures 2, 3, 6 and 7.

    A point is a setting, with rows of several runs, numbered in the column `run`.
    """

    name = "igbn.sweep"
    repetition = "run"
    messages: Mapping[str, int] = MappingProxyType({"quick": 20, "paper": 100})
    """Messages per run, by scale."""

    def settings(self, scale: str) -> list[Setting]:
        """Return the settings to simulate, which figures may restrict."""
        losses = LOSSES if scale == "paper" else _QUICK_LOSSES
        timers = TIMERS if scale == "paper" else (DEFAULT_TIMER,)
        return [
            Setting(variant, timeout_ps, loss, timer)
            for timer in timers
            for timeout_ps in TIMEOUTS
            for variant in VARIANTS
            for loss in losses
        ]

    def runs(self, setting: Setting, scale: str) -> int:
        """Return the number of runs of a setting: more if timeouts are long and rare."""
        if scale == "quick":
            return _QUICK_RUNS.get(setting, 1)
        if setting.nak_interval == FOR_ALL:
            return 3
        is_noisy = {LONG: setting.loss >= 1e-4, MIDDLE: setting.loss >= 1e-3, SHORT: setting.loss >= 1e-2}
        if not is_noisy[setting.timeout_ps]:
            return 3
        few = 20 if setting.timeout_ps == LONG else 8
        return 10 * few if setting.timer == DEFAULT_TIMER else few

    def scheme(self, setting: Setting) -> Scheme:
        return preset("igbn-2019")[setting.variant].replace(
            timeout_ps=setting.timeout_ps,
            timer_after_last=TIMERS[setting.timer],
            nak_per_packet=setting.nak_interval == PER_PACKET,
        )

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for setting in self.settings(scale):
            runs = self.runs(setting, scale)
            messages = self.messages["paper" if setting in _QUICK_RUNS else scale]
            yield Point.of(
                setting.name, asdict(setting) | {"runs": runs},
                network=topology.igbn_pair, workload=partial(chain_of_messages, messages), scheme=self.scheme(setting),
                seed=1000 * seed, faults=losing(setting.loss), cost=runs * (1 + 60 * setting.loss),
            )  # fmt: skip

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        scenario = point.scenario
        assert scenario is not None
        seeds = range(scenario.seed, scenario.seed + point.labels["runs"])
        frames = [self.measure(point, result) for result in run.each(scenario, seeds)]
        return pd.concat([frame.assign(run=number) for number, frame in enumerate(frames)], ignore_index=True)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, transfers = result.flows, result.transfers
        if not (flows["status"] == "finished").all():
            raise RuntimeError(f"{point.name}: {(flows['status'] != 'finished').sum()} messages did not finish")
        spent_ps = int((flows["start_ps"] + flows["fct_acked_ps"]).max())
        numbers = {
            GOODPUT: (len(flows) * alone_ps(result) / spent_ps, ""),
            "messages": (len(flows), ""),
            "timeouts": (int(flows["timeouts"].sum()), ""),
            "retransmissions": (int(flows["retransmissions"].sum()), ""),
        }
        reasons = {name: (int(transfers[name].sum()), "") for name in TIMEOUT_REASONS if name in transfers}
        return tidy(point.name, numbers | reasons)

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        timer = reading if reading in TIMERS else DEFAULT_TIMER
        rows = of_reading(table, timer, FOR_ALL if reading == FOR_ALL else PER_PACKET)
        return rows if len(rows) or reading == DEFAULT else None


def alone_ps(result: Result) -> int:
    """Return the time of a message without loss, until the sender has the last ACK."""
    plan, scheme = result.plan, result.plan.scheme
    full = scheme.payload_bytes
    there_ps = int(base_fct_ps(plan.fabric, plan.src[0], plan.dst[0], full, full, scheme.header_bytes))
    return int(plan.ideal_fct_ps[0] + plan.qp_base_rtt_ps[0] - there_ps)


# Reading the table


def of_reading(table: pd.DataFrame, timer: str = DEFAULT_TIMER, nak_interval: str = PER_PACKET) -> pd.DataFrame:
    """Return the rows of one reading of the timer and one of the NAK interval."""
    return table[having(table, timer=timer, nak_interval=nak_interval)]


def timers_in(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of each reading of the timer in the table, the preset's first."""
    return {timer: of_reading(table, timer) for timer in TIMERS if (table["timer"] == timer).any()}


def first_reading(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the first of `timers_in`, for figures that draw one reading."""
    return next(iter(timers_in(table).values()))


def runs_of(table: pd.DataFrame, variant: str, timeout_ps: int, loss: float) -> pd.DataFrame:
    """Return the runs of a setting, one per row with a column per quantity; empty if there are none.

    The table must be of one reading.
    """
    chosen = having(table, variant=variant, timeout_ps=timeout_ps) & np.isclose(table["loss"], loss)
    return pivoted(table, "run", chosen)


def go_back_n_runs(table: pd.DataFrame, loss: float) -> pd.DataFrame:
    """Return the runs of go-back-N with the timeout of table I at a loss rate."""
    return runs_of(table, "go-back-n", ACK_TIMEOUT_PS, loss)


def mean(runs: pd.DataFrame) -> float:
    """Return the relative throughput of all runs together, from the mean of times, as all carry the same data."""
    return float(1.0 / (1.0 / runs[GOODPUT]).mean()) if len(runs) else float("nan")


def mean_at(table: pd.DataFrame, variant: str, timeout_ps: int, loss: float) -> float:
    """Return `mean` of the runs of a setting."""
    return mean(runs_of(table, variant, timeout_ps, loss))


def throughput(variant: str, timeout_ps: int, loss: float) -> Callable[[pd.DataFrame], float]:
    """Return a function that measures `mean_at` of a setting, for claims."""
    return partial(mean_at, variant=variant, timeout_ps=timeout_ps, loss=loss)


def by_variant(table: pd.DataFrame, timeout_ps: int, loss: float) -> dict[str, float]:
    return {name: mean_at(table, variant, timeout_ps, loss) for variant, name in VARIANTS.items()}


def by_loss(
    table: pd.DataFrame, measure: Callable[[float], float], low: float = 0.0, high: float = 1.0
) -> dict[str, float]:
    """Return a function's values for the table's loss rates from `low` to `high`, in ascending order."""
    losses = np.sort(table["loss"].unique())
    return {f"p = {loss:g}": measure(loss) for loss in losses if low <= loss <= high}


def spread(values: Iterable[float]) -> float:
    known = list(values)
    return max(known) - min(known)


def median(runs: pd.DataFrame) -> str:
    """Return the median run's relative throughput, in words."""
    return f"median run {show(float(runs[GOODPUT].median()), '%')} of {len(runs)} runs"


def rate_of_timeouts(runs: pd.DataFrame) -> float:
    return float(runs["timeouts"].sum() / runs["messages"].sum())


def without_timeouts(runs: pd.DataFrame) -> pd.DataFrame:
    return runs[runs["timeouts"] == 0]
