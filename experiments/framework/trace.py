"""Reading a trace of changes, indexed by `time_ps`: each value holds until the next one."""

from itertools import pairwise

import numpy as np
import pandas as pd


def value_at(trace: pd.Series, time_ps: float) -> float:
    """Return the value at a time; 0 before the first sample."""
    row = int(np.searchsorted(trace.index.to_numpy(), time_ps, side="right")) - 1
    return float(trace.iloc[row]) if row >= 0 else 0.0


def first_within(trace: pd.Series, from_ps: float, target: float, tolerance: float) -> float:
    """Return the first time, from `from_ps` on, at which the value is near a target; NaN if it never is.

    Near is within `tolerance`, as a fraction of the target.
    """
    near = abs(trace - target) <= tolerance * abs(target)
    if abs(value_at(trace, from_ps) - target) <= tolerance * abs(target):
        return float(from_ps)
    times = trace.index[near & (trace.index > from_ps)]
    return float(times[0]) if len(times) else float("nan")


def settled(trace: pd.Series, from_ps: float, target: float, tolerance: float) -> float:
    """Return the first time, from `from_ps` on, after which the value stays near a target; NaN if never."""
    is_far = (abs(trace - target) > tolerance * abs(target)).to_numpy()
    if not len(trace) or is_far[-1]:
        return float("nan")
    far = np.flatnonzero(is_far)
    return max(float(from_ps), float(trace.index[far[-1] + 1]) if len(far) else float(from_ps))


def worst_between(trace: pd.Series, from_ps: float, to_ps: float, target: float) -> float:
    """Return the value between two times that is farthest from a target; NaN if there is no sample."""
    if not from_ps < to_ps:
        return float("nan")
    inside = trace[(trace.index > from_ps) & (trace.index < to_ps)].tolist()
    return max([value_at(trace, from_ps), *inside], key=lambda value: abs(value - target))


def between(samples: pd.Series, from_ps: float, to_ps: float) -> pd.Series:
    """Return the samples whose period ends between two times."""
    return samples[(samples.index > from_ps) & (samples.index <= to_ps)]


def mean_between(samples: pd.Series, from_ps: float, to_ps: float) -> float:
    """Return the mean of the samples whose period ends between two times; NaN if there is none."""
    return float(between(samples, from_ps, to_ps).mean())


def time_in(trace: pd.Series, value: float, from_ps: float, to_ps: float) -> float:
    """Return the time, between two times, during which the trace has a given value."""
    edges = np.unique(np.clip([from_ps, *trace.index.to_list(), to_ps], from_ps, to_ps))
    return float(sum(end - begin for begin, end in pairwise(edges) if value_at(trace, begin) == value))


def shown(trace: pd.Series, from_ps: int, to_ps: int) -> pd.Series:
    """Return the trace between two times, with a sample at both ends, for drawing."""
    inside = trace[(trace.index > from_ps) & (trace.index < to_ps)]
    times = [from_ps, *inside.index.to_list(), to_ps]
    values = [value_at(trace, from_ps), *inside.to_list(), value_at(trace, to_ps)]
    return pd.Series(values, index=pd.Index(times, dtype=np.int64, name="time_ps"), name=trace.name)
