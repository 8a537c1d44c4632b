"""RCC's PID alone, in packets: flows to different receivers through one link, as in section IV."""

from ..api import *
from .setup import *

FORMS = {"accumulating": "equation (4) as printed", "pd": "without u(t - 1)"}
OSCILLATES = 0.2


def loop_scenario(
    lasts_ps: int,
    *,
    flows: int = 2,
    starts: tuple[int, ...] = (),
    base_rtt_ps: int = BASE_RTT_PS,
    **changes: Any,
) -> Scenario:
    """Return a scenario of flows under RCC-PID with changed parameters; `starts` in ps, if not all at 0."""
    pairs = [(f"h{i}", f"h{flows + i}") for i in range(flows)]
    return Scenario(
        network=partial(topology.dumbbell, flows, flows, rate=RATE, delay=ps(base_rtt_ps // 6), buffer=BUFFER),
        workload=workload.long_flows(pairs, size="100GB", start=list(starts) or "0us"),
        scheme=PRESET["rcc-pid"].replace(**changes),
        until=ps(lasts_ps),
        probes=[probes.queue("s0", "s1", "1us"), *(received(flow, us(20)) for flow in range(flows))],
    )


def swing(queue: pd.Series, from_ps: float, target_bytes: float) -> float:
    """Return the swing of a queue after a time."""
    late = queue[queue.index > from_ps].astype(np.float64)
    time = (late.index.to_numpy(np.float64) - late.index[0]) / max(late.index[-1] - late.index[0], 1e-300)
    line = np.polyval(np.polyfit(time, late.to_numpy(), 1), time)
    return float((late.to_numpy() - line).std() / target_bytes)


def target_bytes(result: Result) -> float:
    """Return the queue that corresponds to the target delay."""
    return LINE_BPS * int(result.plan.qp_base_rtt_ps[0]) * DELTA / 2 / 8e12


def measure_queue(result: Result) -> dict[str, tuple[float, str]]:
    """Return the queue's swing and mean relative to its target, and the link's use, in the second half of a run."""
    half_ps, target = result.now_ps / 2, target_bytes(result)
    queue = result.samples("queue s0->s1")
    flows = [result.samples(f"received_packets {i}") for i in range(len(result.flows))]
    got = sum(float(one.iloc[-1] - one.iloc[len(one) // 2]) for one in flows)
    lasted = flows[0].index[-1] - flows[0].index[len(flows[0]) // 2]
    return {
        "swing": (swing(queue, half_ps, target), "target"),
        "mean queue": (float(queue[queue.index > half_ps].mean()) / target, "target"),
        "use": (got * WIRE_BYTES * 8e12 / lasted / LINE_BPS, ""),
    }


def recursion(
    kp: float,
    kd: float,
    *,
    is_accumulating: bool,
    increases_late: bool,
    noise_s: float = 0.0,
    rtt_s: float = BASE_RTT_PS * 1e-12,
) -> float:
    """Return the queue's swing from equations (2) to (5) alone, with one update per round trip."""
    rng = np.random.default_rng(0)
    target = rtt_s * (1 + DELTA / 2)
    window = before = 1.12
    u, last, delays = 0.0, None, []
    for _ in range(2000):
        seen = min(window, before) if increases_late else window
        delay = max(rtt_s, rtt_s * seen + noise_s * rng.uniform(-1, 1))
        error = delay - target
        step = kp * error + kd * (error - (error if last is None else last))
        u, last = (u + step if is_accumulating else step), error
        before, window = window, min(max(window * (1 - np.tanh(u)), 0.015), 2.1)
        delays.append(delay)
    found = swing(pd.Series(delays[-500:]) - rtt_s, -1, rtt_s * DELTA / 2)
    return round(found, 12)  # at a fixed point only rounding errors remain, which depend on the version of NumPy
