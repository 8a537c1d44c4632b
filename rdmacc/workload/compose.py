"""Combine workloads, in parallel or in sequence."""

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.workload.checks import positions, split_after, unique_index
from rdmacc.workload.columns import no_delays
from rdmacc.workload.frame import PERIOD, messages

_MOST_PAIRS = 50_000_000


def combine(*workloads: pd.DataFrame) -> pd.DataFrame:
    """Return the workloads combined into one, running in parallel.

    Messages are renumbered 0 to M - 1 in the given order, and `after` is adjusted. Groups and collectives are
    renumbered so that no two workloads share one.

    Parameters
    ----------
    *workloads : DataFrame
        Frames as :func:`messages` returns them.

    Raises
    ------
    ConfigError
        If there is no workload, or one has duplicate or unknown messages.
    """
    if not workloads:
        raise ConfigError("workloads", workloads, "at least one workload")
    parts: list[pd.DataFrame] = []
    first = groups = collectives = 0
    for workload in workloads:
        part = messages(workload)
        labels = unique_index(part)
        waiting, wanted, counts = positions(part["after"], labels)
        part["after"] = split_after(wanted + first, waiting, counts, len(part))
        codes, names = pd.factorize(part["group"], sort=True)
        part["group"] = pd.array(codes + groups, dtype="Int64")
        part.loc[codes < 0, "group"] = pd.NA
        if "collective" in part and part["collective"].notna().any():
            part["collective"] += collectives
            collectives = int(part["collective"].max()) + 1
        parts.append(part)
        first += len(part)
        groups += len(names)
    if any("delay_ps" in part for part in parts):
        for part in parts:
            if "delay_ps" not in part:
                part["delay_ps"] = no_delays(part["after"])
    whole = pd.concat(parts, ignore_index=True)
    whole.index = whole.index.rename("message")
    if any(part.attrs.get("sizes") for part in parts):
        whole.attrs["sizes"] = {name: source for part in parts for name, source in part.attrs.get("sizes", {}).items()}
    whole.attrs.pop(PERIOD, None)
    if all(PERIOD in part.attrs for part in parts):
        begins, ends = zip(*(part.attrs[PERIOD] for part in parts), strict=True)
        whole.attrs[PERIOD] = (min(begins), max(ends))
    return whole


def sequence(*workloads: pd.DataFrame) -> pd.DataFrame:
    """Return the workloads combined into one, each starting when the previous one is complete.

    Messages that wait for no other then wait for the final messages of the previous workload, those that no other
    message waits for. Start times still apply: a message starts at the later of the two.

    Parameters
    ----------
    *workloads : DataFrame
        Frames as :func:`messages` returns them, in order.

    Raises
    ------
    ConfigError
        As :func:`combine`, or if there would be more than 50 million pairs of waiting messages.

    Examples
    --------
    One step of a mixture of experts: dispatch, combine, and the gradients' all-reduce.

    >>> from rdmacc.workload import all_to_all, ring_all_reduce
    >>> hosts = ["h0", "h1", "h2", "h3"]
    >>> tokens = all_to_all(hosts, "1MB")
    >>> step = sequence(tokens, tokens, ring_all_reduce(hosts, "100MB"))
    >>> len(step), step["after"].iloc[12] == tuple(range(12))
    (48, True)
    """
    workloads = tuple(messages(workload) for workload in workloads)
    whole = combine(*workloads)
    _, wanted, _ = positions(whole["after"], whole.index)
    is_wanted = np.zeros(len(whole), dtype=np.bool_)
    is_wanted[wanted] = True
    after = whole["after"].to_numpy(dtype=object).copy()
    ends = np.cumsum([len(workload) for workload in workloads])
    for low, middle, high in zip(np.r_[0, ends[:-2]], ends[:-1], ends[1:]):
        lasts = tuple((low + np.flatnonzero(~is_wanted[low:middle])).tolist())
        roots = [row for row in range(middle, high) if not after[row]]
        if len(lasts) * len(roots) > _MOST_PAIRS:
            allowed = f"must make at most {_MOST_PAIRS} pairs of messages wait on each other"
            raise ConfigError("workloads", f"{len(lasts)} last, then {len(roots)} first messages", allowed)
        for row in roots:
            after[row] = lasts
    whole["after"] = after
    if "delay_ps" in whole:
        whole["delay_ps"] = [
            delays if len(delays) == len(rows) else (0,) * len(rows)
            for delays, rows in zip(whole["delay_ps"], after, strict=True)
        ]
    return whole
