"""Bursts that join a flow on the dumbbell: the runs of REN's figures 3 and 11."""

from ..api import *
from .setup import *

TIMES = {"quick": (ms(2), ms(6), ms(9)), "tenth": (ms(80), ms(125), ms(150)), "paper": (ms(800), ms(1250), ms(1500))}
"""Start of the bursts, their end, and the end of the run."""
LARGE_BUFFER = "10MB"
_FLOW_BYTES = "10GB"
_SAMPLE_PS = ps(RTT_PS // 8)
_STARTS = 5001
_BY_CHANCE = ("traditional", "homa-2-levels")
_DRAWN = 250
_BEFORE, _AFTER = 2, 16
"""Base RTTs stored in detail before and after an event."""


def _flows(bursts: int, start_ps: int, seed: int) -> pd.DataFrame:
    ends = [("h0", f"h{bursts + 2}"), *((f"h{i}", f"h{bursts + 1}") for i in range(1, bursts + 1))]
    frame = workload.messages([(*pair, _FLOW_BYTES) for pair in ends])
    late = np.random.default_rng([seed, _STARTS]).integers(0, RTT_PS, bursts)
    return frame.assign(start_ps=[0, *(start_ps + late)])


def seeds_of(name: str, scale: str, seed: int) -> range:
    """Return the seeds of a scheme: many if chance decides f0's lasting loss."""
    few, many = (1, 5) if scale == "quick" else (3, 24)
    return range(seed, seed + (many if name in _BY_CHANCE else few))


def burst_point(name: str, bursts: int, times: str, seed: int, buffer: str | None = None) -> Point:
    """Return a scheme's run with a number of bursts."""
    on, off, end = TIMES[times]
    scheme = TESTBED[name]
    if buffer:
        scheme = scheme.replace(**{"DropTail.limit_bytes": buffer})
    labels = {"scheme": name, "bursts": bursts, "buffer": buffer or "64KB", "seed": seed}
    return Point.of(
        f"{name}, {bursts} bursts, seed {seed}" + (f", buffer {buffer}" if buffer else ""),
        labels | {"on_ps": int(on), "off_ps": int(off), "end_ps": int(end)},
        network=partial(topology.ren_testbed, senders=bursts + 1, buffer=LARGE_BUFFER),
        workload=partial(_flows, bursts, on, seed), scheme=scheme, until=end, seed=seed,
        probes=[
            probes.queue("s0", "s1", every=_SAMPLE_PS),
            probes.throughput("s0", "s1", every=RTT_PS),
            probes.throughput("s1", f"h{bursts + 2}", every=RTT_PS),
        ],
        faults=[LinkDown(link=(f"h{i}", "s0"), at_ps=off) for i in range(1, bursts + 1)], cost=bursts + 1,
    )  # fmt: skip


class Bursts(ReadingFigure):
    """Queue and throughput of the bottleneck before, during and after the bursts."""

    seeding = Seeding.POOLED

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        on, off, end = (point.labels[f"{name}_ps"] for name in ("on", "off", "end"))
        bursts = point.labels["bursts"]
        queue = result.samples("queue s0->s1") / PACKET_BYTES
        link, own = result.samples("throughput s0->s1"), result.samples(f"throughput s1->h{bursts + 2}")
        settled = on + 20 * RTT_PS
        during = between(queue, settled, off)
        joined = int(result.flows["start_ps"].iloc[1:].max())
        numbers = {
            "drops": (int(result.counters["dropped_packets"]), "packets"),
            "trimmed": (int(result.counters["trimmed_packets"]), "packets"),
            "peak queue": (float(queue[queue.index > on].max()), "packets"),
            "mean queue": (float(during.mean()), "packets"),
            "p99 queue": (float(during.quantile(0.99)), "packets"),
            "occupancy": (float(during.mean() / BUFFER_PACKETS), ""),
            "drained after": (_drained(queue, joined), "RTT"),
            "throughput before": (mean_between(link, on // 2, on), "bps"),
            "throughput during": (mean_between(link, settled, off), "bps"),
            "throughput after": (mean_between(link, off + 20 * RTT_PS, end), "bps"),
            "f0 before": (mean_between(own, on // 2, on), "bps"),
            "f0 during": (mean_between(own, settled, off), "bps"),
            "f0 after": (mean_between(own, off + 20 * RTT_PS, end), "bps"),
            "f0 recovered after": (_recovered(own, off), "RTT"),
            "timeouts": (int(result.counters["timeouts"]), ""),
        }
        if point.labels["seed"] > 0:
            return tidy(point.name, numbers)
        step = max(end // _DRAWN, RTT_PS)
        curves = {
            "queue": (queue.groupby(queue.index // step * step).first().rename_axis("time_ps"), "packets"),
            "throughput": (_averaged(link, step), "bps"),
            "f0": (_averaged(own, step), "bps"),
            "queue at the start": (_near(queue, on), "packets"),
            "f0 at the end": (_near(own, off), "bps"),
        }
        return tidy(point.name, numbers, curves)


def _drained(queue: pd.Series, joined: int) -> float:
    """Return the base RTTs from the last burst's start until the queue has fallen to two packets after its peak."""
    after = between(queue, joined, joined + 1000 * RTT_PS)
    peak = after.loc[: joined + 20 * RTT_PS].idxmax()
    low = after[(after.index > peak) & (after <= 2)]
    return float((low.index[0] - joined) / RTT_PS) if len(low) else float("inf")


def _recovered(own: pd.Series, off: int) -> float:
    """Return the base RTTs from the bursts' end until f0 first has 95% of the link."""
    full = own[(own.index > off) & (own >= 0.95 * LINE_BPS)]
    return float((full.index[0] - off) / RTT_PS) if len(full) else float("inf")


def _averaged(samples: pd.Series, step: int) -> pd.Series:
    return samples.groupby((samples.index - 1) // step * step).mean().rename_axis("time_ps")


def _near(samples: pd.Series, event: int) -> pd.Series:
    return between(samples, event - _BEFORE * RTT_PS, event + _AFTER * RTT_PS)
