"""The DataFrame of a workload: columns, defaults, and helpers for generators."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from numbers import Integral
from typing import Any, TypeAlias

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.interface.described import named_with
from rdmacc.topology.base import Graph, hosts
from rdmacc.topology.fabric import Fabric
from rdmacc.units import Quantity, size_bytes
from rdmacc.workload.columns import Int64s, converted, durations, is_list, is_name, nothing_after, row_error

COLUMNS = ("src", "dst", "size_bytes", "start_ps", "group", "after", "weight")
COMPUTATION_COLUMNS = ("delay_ps", "duration_ps")
"""Columns that exist only if a row computes or a dependency has a delay."""

Host: TypeAlias = Any
Objects: TypeAlias = npt.NDArray[np.object_]

PERIOD = "period_ps"
"""Key in a workload's `attrs`: begin and end of the period that its load refers to."""

OPEN = "open_classes"
"""Key in a workload's `attrs`: the priority classes of messages that may be sent while it runs (:func:`open_work`)."""

_ALIASES = {"size": "size_bytes", "start": "start_ps", "delay": "delay_ps", "duration": "duration_ps"}


def stream(seed: int, purpose: int) -> np.random.Generator:
    """Return the random stream of a seed (at least 0) for one purpose, which is a number."""
    return np.random.default_rng(np.random.SeedSequence([checked_whole("seed", seed, 0), purpose]))


def messages(rows: pd.DataFrame | Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
    """Return a workload from rows, with defaults filled in: a new frame, as :mod:`rdmacc.workload` describes it.

    Parameters
    ----------
    rows : DataFrame, or iterable of dict or tuple
        A tuple is ``(src, dst, size, start, group, after, weight)``, the last four optional. Sizes may have units; a
        `start` other than 0 must. A DataFrame's index names the messages; other rows are numbered from 0. A dict with a
        `duration` is a computation on host `src`; `delay` is one time for each row in `after`, or one for all.

    Raises
    ------
    ConfigError
        For a missing column or an invalid value. :func:`validate` checks what depends on the network, and the messages
        in `after`.

    Examples
    --------
    >>> rows = messages([("h0", "h1", "64KiB"), ("h1", "h0", 1000, "1us", None, (0,))])
    >>> rows["size_bytes"].tolist(), rows["start_ps"].tolist(), rows["after"].tolist()
    ([65536, 1000], [0, 1000000], [(), (0,)])

    A host computes for 4 us on the data it received, and sends 1 us later.

    >>> step = messages(
    ...     [
    ...         {"src": "h0", "dst": "h1", "size": "64KiB"},
    ...         {"src": "h1", "duration": "4us", "after": 0},
    ...         {"src": "h1", "dst": "h0", "size": "64KiB", "after": 1, "delay": "1us"},
    ...     ]
    ... )
    >>> step["duration_ps"].tolist(), step["delay_ps"].tolist()
    ([<NA>, 4000000, <NA>], [(), (0,), (1000000,)])
    """
    if not isinstance(rows, pd.DataFrame):
        if not is_list(rows):
            raise ConfigError("rows", rows, "a DataFrame, or a list of dicts or tuples")
        rows = _as_frame(rows)
    if rows.columns.nlevels > 1 or not rows.columns.is_unique:
        twice = rows.columns[rows.columns.duplicated()]
        value = twice[0] if len(twice) else rows.columns[0]
        raise ConfigError("column", value, "the name of one column")
    if rows.index.nlevels > 1:
        raise ConfigError("index", tuple(rows.index.names), "one level of labels: use reset_index()")
    if not rows.index.is_unique:
        raise ConfigError("message", rows.index[rows.index.duplicated()][0], "unique; it labels several rows")
    given = list(rows.columns)
    renamed = {old: new for old, new in _ALIASES.items() if old in given and new not in given}
    names = [renamed.get(name, name) for name in given]
    for both in (old for old in _ALIASES if old in names):
        raise ConfigError(both, "a column", f"must not be given together with {_ALIASES[both]}, which means the same")
    for name in names:
        stem = str(name).rpartition("_")[0]
        if stem in _ALIASES and name not in (
            *COLUMNS,
            *COMPUTATION_COLUMNS,
        ):  # such as start_us: without this error, everything would start at 0
            raise ConfigError("column", name, f"named {_ALIASES[stem]}, or {stem}, whose values have units")
    columns: dict[Any, Any] = dict(zip(names, (column for _, column in rows.items()), strict=True))
    computes = _filled_computation(columns, rows.index, "duration" in given) if "duration_ps" in columns else None
    for name in ("src", "dst", "size_bytes"):
        if name not in columns:
            raise ConfigError(name, None, f"a column of the workload, which has {given}")
    columns |= converted(columns, given, computes, len(rows))
    ordered = dict.fromkeys(COLUMNS) | columns
    frame = pd.DataFrame(ordered, index=rows.index)  # of all columns at once, which is several times as fast
    frame.columns.name, frame.attrs = rows.columns.name, rows.attrs
    if frame.index.name != "message":
        frame.index = frame.index.rename("message")
    return frame


def open_work(workload: pd.DataFrame | None = None, priorities: Iterable[int] = ()) -> pd.DataFrame:
    """Return a workload, or an empty one, to which messages will be added while it runs.

    Buffers reserve room for these priority classes; hosts and ports assume the network's largest base RTT for the
    messages to come.

    Parameters
    ----------
    workload : DataFrame, optional
        Messages that are known from the start.
    priorities : iterable of int
        Classes of the messages to come; without any, the scheme's.
    """
    if not is_list(priorities):
        raise ConfigError("priorities", priorities, "a list of classes")
    frame = from_columns([], [], 1, 0) if workload is None else messages(workload)
    frame.attrs = {**frame.attrs, OPEN: tuple(priorities)}
    return frame


def computation(rows: pd.DataFrame) -> npt.NDArray[np.bool_]:
    if "duration_ps" not in rows:
        return np.zeros(len(rows), dtype=np.bool_)
    return rows["duration_ps"].notna().to_numpy(dtype=np.bool_)


def from_columns(
    src: Sequence[Host] | Objects,
    dst: Sequence[Host] | Objects,
    size: Quantity | Int64s,
    starts: Int64s | int,
    groups: Int64s | int | None = None,
    after: Iterable[tuple[int, ...]] | None = None,
) -> pd.DataFrame:
    count = len(src)
    lengths: Any = size
    if isinstance(size, np.ndarray):
        if size.dtype.kind not in "iu" or size.shape not in ((), (1,), (count,)):
            raise ConfigError("size", size, f"one size, or whole numbers of bytes, one for each of {count} messages")
    else:
        lengths = size_bytes(size, field="size", least=1)
    numbers = np.broadcast_to(np.asarray(-1 if groups is None else groups, dtype=np.int64), count)
    index = pd.RangeIndex(count, name="message")
    return pd.DataFrame(
        {
            "src": pd.Series(_own(src), index, dtype=object),
            "dst": pd.Series(_own(dst), index, dtype=object),
            "size_bytes": np.broadcast_to(np.asarray(lengths, dtype=np.int64), count).copy(),
            "start_ps": np.broadcast_to(np.asarray(starts, dtype=np.int64), count).copy(),
            "group": pd.arrays.IntegerArray(numbers.copy(), numbers < 0),
            "after": nothing_after(count) if after is None else np.fromiter(after, dtype=object, count=count),
            "weight": np.ones(count),
        },
        index,
        copy=False,  # all are new, and a copy doubles the time
    )


def _own(names: Sequence[Host] | Objects) -> Objects:
    return names.astype(object) if isinstance(names, np.ndarray) else as_objects(names)


def as_objects(names: Iterable[Host]) -> Objects:
    """Return names of any type, including tuples, as an array of objects; shape N."""
    values = list(names)
    return np.fromiter(values, dtype=object, count=len(values))


MOST_OF_ANYTHING = 10_000_000
_MOST = {"seed": 2**4096, "seeds": 100_000, "group": 2**62, "most_events": 2**62}
"""Upper bounds by field: more rounds, counts or degrees would not fit into memory."""


def checked_whole(field: str, value: int, least: int | None = None) -> int:
    """Return a whole number; raise a ConfigError if it is not whole, or below `least`."""
    allowed = "a whole number" + ("" if least is None else f", at least {least}")
    if isinstance(value, bool) or not isinstance(value, Integral) or (least is not None and value < least):
        raise ConfigError(field, value, allowed)
    most = _MOST.get(field, MOST_OF_ANYTHING)
    if value > most or value < -most:
        raise ConfigError(field, value, f"{allowed}, and at most {most}")
    return int(value)


def hosts_in(network: Any) -> list[Host] | None:
    """Return the hosts of a network in its order; None for anything else."""
    if isinstance(network, Fabric):
        return [network.names[node] for node in network.hosts]
    return hosts(network) if isinstance(network, nx.Graph) else None


def host_names(field: str, names: Graph | Fabric | Iterable[Host]) -> list[Host]:
    """Return names of hosts as a list; raise a ConfigError if one cannot be a name."""
    everyone = hosts_in(names)
    if everyone is not None:
        return everyone
    try:
        listed = None if isinstance(names, str | Fabric) else list(names)
    except TypeError:
        listed = None
    if listed is None:
        raise ConfigError(field, names, "a list of hosts, or a network")
    for name in listed:
        if not is_name(name):
            raise ConfigError(field, name, "names of hosts")
    return listed


def checked_hosts(hosts: Graph | Fabric | Iterable[Host]) -> list[Host]:
    """Return hosts as a list; raise a ConfigError unless there are at least two, all different."""
    names = host_names("hosts", hosts)
    if len(names) < 2 or len(set(names)) < len(names):
        raise ConfigError("hosts", names, "at least two different hosts")
    return names


def _filled_computation(columns: dict[Any, Any], index: pd.Index[Any], has_units: bool) -> npt.NDArray[np.bool_] | None:
    """Give computation rows a destination and a temporary size; return which rows these are, if any."""
    columns["duration_ps"] = durations(columns["duration_ps"], has_units)
    computes: npt.NDArray[np.bool_] = ~columns["duration_ps"].isna()
    if not computes.any():
        del columns["duration_ps"]
        return None
    if "src" not in columns:
        return computes  # the next check reports it
    sizes, ends = (columns.get(name, pd.Series(None, index, dtype=object)) for name in ("size_bytes", "dst"))
    for row in np.flatnonzero(computes & sizes.notna().to_numpy() & ~sizes.isin([0, "0", "0B"]).to_numpy()).tolist():
        raise row_error(sizes, row, "size", sizes.iloc[row], "0 or missing: a row with a duration sends nothing")
    columns["size_bytes"] = sizes.mask(computes, 1)  # temporary, until the check
    columns["dst"] = ends.astype(object).mask(computes & ends.isna().to_numpy(), columns["src"])
    return computes


def _as_frame(rows: Iterable[Mapping[str, Any] | Sequence[Any]]) -> pd.DataFrame:
    names = ("src", "dst", "size", "start", "group", "after", "weight")
    dicts: list[Mapping[str, Any]] = []
    for number, row in enumerate(rows):
        if isinstance(row, Mapping):
            dicts.append(row)
        elif isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or not 3 <= len(row) <= len(names):
            raise ConfigError("rows", row, f"a dict or a tuple ({', '.join(names)})", where=f"row {number}")
        else:
            dicts.append(dict(zip(names, row, strict=False)))
    given = list(dict.fromkeys(chain.from_iterable(dicts))) or list(names[:3])
    columns = {name: as_objects(row.get(name) for row in dicts) for name in given}
    for name in {"start", "start_ps"} & columns.keys():
        columns[name][columns[name] == None] = "0"  # noqa: E711 - elementwise
    return pd.DataFrame(columns, columns=given, dtype=object)


Hosts: TypeAlias = Graph | Fabric | Sequence[Any]
"""A network, which stands for all its hosts in their order, or a list of hosts."""
SomeHosts: TypeAlias = int | Graph | Fabric | Sequence[Any]
"""Like `Hosts`, or how many hosts to draw from ``hosts=``."""
generator = named_with(
    network="networkx.Graph or Fabric: The network.",
    size="number or str: Size of each message.",
    of="str, sequence of (from, to), or LoadDefinition: What `load` is a fraction of.",
    start="number or str: Start of the first messages; for random arrivals, start of the period.",
    jitter="number or str: Largest random delay of a message's start, which is uniform.",
    rounds="int: Number of rounds.",
    hosts="network or sequence, optional: Hosts to draw from, for arguments that are a number of hosts.",
    group="int: Group of the first messages; each further incast, round or step gets the next number.",
    seed="int: Seed of all random choices.",
)
"""Decorates functions that make a workload."""


def chosen(
    field: str, given: SomeHosts, hosts: Hosts | None, without: Collection[Host], seed: int, purpose: int
) -> list[Host]:
    """Return different hosts, at least one: those given, or that many drawn from `hosts`, in the order of `hosts`."""
    if isinstance(given, str | bool):
        raise ConfigError(field, given, "a list of hosts, a network, or how many to draw from hosts=")
    if not isinstance(given, int | Integral):
        everyone = hosts_in(given)
        names = host_names(field, given) if everyone is None else [name for name in everyone if name not in without]
        if not names or len(set(names)) < len(names):
            raise ConfigError(field, names, "different hosts, at least one")
        return names
    if hosts is None:
        raise ConfigError(field, given, "a list of hosts; to draw this many at random, also pass hosts=")
    pool = [host for host in host_names("hosts", hosts) if host not in without]
    count = checked_whole(field, int(given), 1)
    if count > len(pool):
        raise ConfigError(field, given, f"at most {len(pool)}, the number of other hosts in hosts=")
    drawn = stream(seed, purpose).choice(len(pool), size=count, replace=False)
    return [pool[i] for i in sorted(drawn.tolist())]
