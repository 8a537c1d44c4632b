"""REN's equations (1) to (9), vectorised over trials.

Source: Li et al., "REN: Receiver-driven Congestion Control using Explicit Notification for Data Center",
IEEE TCC 2021, section 4. Round i is the i-th base RTT; in it m_i flows arrive at line rate and f_i leave.
Queues are in packets of one MSS, T trials of n rounds are arrays of shape (T, n).

Choices where the equations are silent:

- A queue is never negative, and no more flows leave than are active.
- Equation (1) is for round 1, where m_1 = 0 would make it negative. Here it applies whenever flows arrive and none is
  active: the first BDP of one of them passes, the others queue.
- The paper gives neither the number of rounds and trials nor the kind of average: these are parameters
  (`rdmacc.models.ren_figures`).
"""

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError
from rdmacc.models.base import Floats

Ints = npt.NDArray[np.int64]


def bdp_packets(capacity_bps: float, rtt_ps: float, mss_bytes: int) -> float:
    """Return the bandwidth-delay product in packets, C RTT / MSS.

    Examples
    --------
    >>> round(bdp_packets(40e9, 10_000_000, 1500), 2)
    33.33
    """
    return capacity_bps * rtt_ps / 8e12 / mss_bytes


def _flows(name: str, counts: npt.ArrayLike) -> Ints:
    array = np.asarray(counts)
    if array.ndim < 1 or array.shape[-1] < 1 or not np.all(array == np.floor(array)) or np.any(array < 0):
        raise ConfigError(name, counts, "whole numbers, at least 0, shape (..., rounds)")
    return array.astype(np.int64)


def departures_at_most(wanted: npt.ArrayLike, arrivals: npt.ArrayLike) -> Ints:
    """Return the departures in each round, at most the flows that arrived in earlier rounds and have not left.

    >>> departures_at_most([2, 2, 2, 2], [1, 0, 3, 0]).tolist()
    [0, 1, 0, 2]
    """
    wish, come = _flows("wanted", wanted), _flows("arrivals", arrivals)
    leave = np.zeros_like(wish)
    active = np.zeros(wish.shape[:-1], np.int64)
    for i in range(wish.shape[-1]):
        leave[..., i] = np.minimum(wish[..., i], active)
        active = active + come[..., i] - leave[..., i]
    return leave


def queue_lengths(arrivals: npt.ArrayLike, departures: npt.ArrayLike, bdp: float, *, is_ren: bool) -> Floats:
    """Return the queue at the end of each round, equations (1) to (4).

    Two flows at once, then none (the paper's Fig 1 and 5): the backlog stays, or REN drains it.

    >>> queue_lengths([2, 0, 0], [0, 0, 0], 2.0, is_ren=False).tolist()
    [2.0, 2.0, 2.0]
    >>> queue_lengths([2, 0, 0], [0, 0, 0], 2.0, is_ren=True).tolist()
    [2.0, 0.0, 0.0]
    """
    come = _flows("arrivals", arrivals)
    leave = departures_at_most(departures, come)
    active = np.cumsum(come, axis=-1) - come - (np.cumsum(leave, axis=-1) - leave)
    released = np.where(active > 0, leave / np.maximum(active, 1), 0.0) * bdp
    change = come * bdp - (bdp if is_ren else 0.0) - released
    change = np.where((active == 0) & (come > 0), (come - 1) * bdp, change)
    queue = np.zeros(come.shape)
    level = np.zeros(come.shape[:-1])
    for i in range(come.shape[-1]):
        level = np.maximum(level + change[..., i], 0.0)
        queue[..., i] = level
    return queue


def next_rate(rate: npt.ArrayLike, capacity: float) -> Floats:
    """Return the rate one round later under REN, equation (5): doubled below C / 2, otherwise C."""
    now = np.asarray(rate, dtype=np.float64)
    return np.where(now < capacity / 2, 2 * now, capacity)


def rounds_to_full(rate: npt.ArrayLike, capacity: float) -> Ints:
    """Return the rounds until the rate reaches the capacity, equation (6).

    By equation (6) it takes one round even if the rate is the capacity already.

    Examples
    --------
    >>> rounds_to_full([0.5, 0.49, 0.25, 0.3, 0.125, 0.0625], 1.0).tolist()
    [1, 2, 2, 2, 3, 4]
    """
    now = np.asarray(rate, dtype=np.float64)
    if np.any(now <= 0.0) or np.any(now > capacity):
        raise ConfigError("rate", rate, f"more than 0 and at most the capacity, {capacity}")
    doublings = np.ceil(np.log2(capacity / (2 * now)) - 1e-12)
    return np.where(now < capacity / 2, doublings + 1, 1).astype(np.int64)


def rate_per_round(rate: float, capacity: float, rounds: int) -> Floats:
    """Return the rate in rounds 0 to `rounds` under REN, equation (5); shape (rounds + 1,).

    Examples
    --------
    >>> rate_per_round(0.15, 1.0, 4).tolist()
    [0.15, 0.3, 0.6, 1.0, 1.0]
    """
    rates = [float(rate)]
    for _ in range(rounds):
        rates.append(float(next_rate(rates[-1], capacity)))
    return np.array(rates)


def throughputs(flows: int, departures: npt.ArrayLike) -> tuple[Floats, Floats, Ints]:
    """Return throughput over capacity, and the number of remaining flows, as `flows` flows leave.

    Equations (7) and (8) for REN, (9) for the traditional protocol; all flows share the link fairly and
    there is no queue at first.

    Examples
    --------
    >>> ren, traditional, left = throughputs(4, [1, 1, 1, 1])
    >>> ren.round(3).tolist(), traditional.tolist(), left.tolist()
    ([0.75, 0.667, 0.5, 0.0], [0.75, 0.5, 0.25, 0.0], [3, 2, 1, 0])
    """
    if flows < 1:
        raise ConfigError("flows", flows, "at least 1")
    wanted = np.minimum(np.cumsum(_flows("departures", departures), axis=-1), flows)
    gone = np.concatenate([np.zeros((*wanted.shape[:-1], 1), np.int64), wanted], axis=-1)
    leave, before = np.diff(gone, axis=-1), flows - gone[..., :-1]
    stays = np.where(before > 0, 1.0 - leave / np.maximum(before, 1), 0.0)
    ren = np.zeros(wanted.shape)
    ren[..., 0] = stays[..., 0]
    for i in range(1, wanted.shape[-1]):
        ren[..., i] = next_rate(ren[..., i - 1], 1.0) * stays[..., i]
    return ren, 1.0 - wanted / flows, flows - wanted


def drain_rounds(burst_flows: int, *, buffer_bdp: float = np.inf, feedback_rounds: int = 0) -> int:
    """Return the rounds from a burst's first packet until REN has drained it, by equation (3).

    The link is full before the burst, which adds one BDP for each of its flows; REN drains one BDP per round. As
    printed, REN starts in the round of the burst. With `feedback_rounds` = 1 a mark first travels to the sender and
    affects the arrivals of the next round.

    In the paper's micro-benchmark, two flows into a 64 KB buffer at 48 us and 10 Gb/s, the queue is drained "in the
    next RTT" (5.2).

    Examples
    --------
    >>> drain_rounds(2), drain_rounds(2, feedback_rounds=1)
    (2, 3)
    """
    if burst_flows < 0 or feedback_rounds < 0:
        raise ConfigError("burst_flows and feedback_rounds", (burst_flows, feedback_rounds), "at least 0")
    backlog = min(float(burst_flows), buffer_bdp)
    return feedback_rounds + int(np.ceil(backlog - 1e-12)) if backlog > 0 else 0
