"""Dart, figures 8 and 9: how long DASR takes to converge on the testbed, emulated."""

from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.interface import DATA
from ..api import *
from .setup import *

R, LFS, SFS = "h0", "h1", "h2"
TESTBED_LINE_BPS = rate_bps(TESTBED_HOST_RATE)
"""Rate of a single host, and the total that DASR apportions."""
MESSAGE = size_bytes("64KiB")
RTT_PS = us(15)
"""Unloaded RTT, including software (V-A)."""
PUBLISHED_US = {0.9: 28.0, 0.99: 41.0, 0.999: 44.0}
"""Quantiles of the convergence time in software (V-A)."""
CPU_US = {0.0: 3.0, **{level: value - 12 for level, value in PUBLISHED_US.items()}, 1.0: 32.0}
"""Quantiles of the CPU's time, interpolated linearly: the published ones minus the hardware RTT."""
_CPU_TIMES = 801  # number of the random stream
_JITTER = 802
_EPOCH_PS, _LEAD_PS = us(400), us(100)
_LFS_MESSAGES, _SFS_MESSAGES = 20, 8


def cpu_times(count: int, seed: int) -> npt.NDArray[np.float64]:
    """Return processing times of R's CPU in ps, drawn from the calibrated quantiles."""
    drawn = workload.stream(seed, _CPU_TIMES).random(count)
    return np.interp(drawn, [*CPU_US], [*CPU_US.values()]) * 1e6


def messages_to_r(of: dict[str, list[tuple[int, int]]]) -> pd.DataFrame:
    """Return 64 KB messages to R, given (start in ps, count) by sender."""
    src, start = [], []
    for sender, bursts in of.items():
        for time_ps, count in bursts:
            src += [sender] * count
            start.append(np.full(count, time_ps, dtype=np.int64))
    frame = pd.DataFrame({"src": src, "dst": R, "size_bytes": MESSAGE, "start_ps": np.concatenate(start)})
    return workload.messages(frame)


def _epochs(count: int, pauses: bool, seed: int) -> pd.DataFrame:
    """Return LFS's messages and SFS's bursts, one per epoch."""
    starts = range(0, count * _EPOCH_PS, _EPOCH_PS)
    jitter = workload.stream(seed, _JITTER).integers(us(10), size=count)
    bursts = [(int(start + _LEAD_PS + late), _SFS_MESSAGES) for start, late in zip(starts, jitter, strict=True)]
    lasting = round(count * _EPOCH_PS * TESTBED_LINE_BPS / 8e12 / MESSAGE)
    steady = [(start, _LFS_MESSAGES) for start in starts] if pauses else [(0, lasting)]
    return messages_to_r({LFS: steady, SFS: bursts})


def testbed_scenario(work: Callable[[], pd.DataFrame], seed: int, **more: object) -> Scenario:
    """Return a scenario of three testbed hosts under DASR without look-ahead (V)."""
    dasr = PRESET["dasr-no-look-ahead"].replace(payload_bytes=TESTBED_PAYLOAD_BYTES)
    return Scenario(network=partial(topology.dart_testbed, 3), workload=work, scheme=dasr, seed=seed, **more)  # type: ignore[arg-type]


def epoch_point(name: str, count: int, pauses: bool, seed: int) -> Point:
    """Return a point of `count` epochs; `pauses` tells whether LFS pauses between them."""
    work = partial(_epochs, count, pauses, seed)
    lfs = 0  # LFS's first message stands for all: they share a queue pair
    return Point(name=name, scenario=testbed_scenario(work, seed, trace=True, probes=(probes.rate(lfs),)), cost=count)


def _parts(result: Result) -> pd.DataFrame:
    """Return the parts of figure 8's convergence time in ps, by the start of each burst.

    `t_f`: from SFS's start until its first packet is at R. `t_b`: until LFS's NIC has slowed down. `t_f'`: until the
    first packet that LFS sends then is at R.
    """
    plan, rows = result.plan, result.trace_rows
    nic, last = plan.fabric.port(LFS, "s0"), plan.fabric.port("s0", R)
    data = rows[rows["kind"] == DATA]
    arrived = data[(data["what"] == ARRIVED) & (data["port"] == last)]
    sent = data[(data["what"] == SENT) & (data["port"] == nic)]
    first_psn = arrived[arrived["psn"] == 0]
    first_ps = pd.Series(first_psn["time_ps"], index=first_psn["message"])
    rate = result.samples("rate 0")
    slow_ps = rate.index[rate <= 0.51 * TESTBED_LINE_BPS].to_numpy()
    flows = result.flows
    bursts = flows[flows["src"] == SFS].groupby("start_ps")["flow"].first()
    found = []
    for start, message in zip(bursts.index.tolist(), bursts.tolist(), strict=True):
        at_receiver = int(first_ps[message])
        slowed = int(slow_ps[np.searchsorted(slow_ps, start)])
        packet = sent[np.searchsorted(sent["time_ps"], slowed)]
        is_it = (arrived["message"] == packet["message"]) & (arrived["psn"] == packet["psn"])
        there = int(arrived["time_ps"][is_it][0])
        found.append((at_receiver - start, slowed - at_receiver, there - int(packet["time_ps"])))
    index = pd.Index(bursts.index.to_numpy(np.int64), name="time_ps")
    return pd.DataFrame(found, index=index, columns=["t_f", "t_b", "t_f'"], dtype=np.float64)


def measure_epochs(point: Point, result: Result, seed: int) -> pd.DataFrame:
    """Return the parts of the convergence time of each epoch, in ps."""
    parts = _parts(result)
    parts["t_cpu"] = cpu_times(len(parts), seed)
    numbers = {"base RTT": (int(result.plan.qp_base_rtt_ps.max()), "ps"), "epochs": (len(parts), "")}
    return tidy(point.name, numbers, {str(name): (parts[name], "ps") for name in parts})


def parts_of_epochs(table: pd.DataFrame, point: str) -> pd.DataFrame:
    return pd.DataFrame({name: curve(table, point, name) for name in ("t_f", "t_b", "t_f'", "t_cpu")})
