"""Workloads in files: CSV, easy to write by hand, and Parquet, small and fast."""

import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Hashable, Sequence
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rdmacc.errors import ConfigError, unknown, written
from rdmacc.errors.typed import typed
from rdmacc.workload.columns import is_list, is_missing, row_error, split_ids
from rdmacc.workload.frame import COLUMNS, COMPUTATION_COLUMNS, messages
from rdmacc.workload.paths import PATH_COLUMNS, node_names
from rdmacc.workload.schedule import COLLECTIVE_COLUMNS

_COMPRESSION_ERRORS = (EOFError, ImportError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error)
_NAMES = (
    *COLUMNS, *COMPUTATION_COLUMNS, "size", "start", "delay", "duration", "priority", "in_turn", *PATH_COLUMNS,
    "queue_pair", *COLLECTIVE_COLUMNS, "job",
)  # fmt: skip


def from_csv(path: str | PathLike[str], others: Sequence[str] = ()) -> pd.DataFrame:
    """Read a workload from a CSV file.

    The header names the columns: ``src``, ``dst``, ``size_bytes`` (or ``size``), and any of ``message``, ``start_ps``
    (or ``start``), ``group``, ``after`` (ids, separated by spaces or semicolons), ``weight``, ``delay_ps`` (or
    ``delay``; a time for each id in ``after``), ``duration_ps`` (or ``duration``), ``priority``, ``in_turn``, ``path``
    and ``ack_path`` (nodes, separated by spaces), and those of collectives and jobs that `to_csv` writes. Sizes and
    times may have units. Your own columns are kept if you name them in `others`; any other column is an error, because
    a misspelt one would otherwise be ignored.

    Parameters
    ----------
    path : path
        The file.
    others : sequence of str
        Names of your own columns.
    """
    texts: Any = dict.fromkeys(("src", "dst", "after", "delay", "delay_ps", *PATH_COLUMNS), str)
    try:
        frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=[""], skipinitialspace=True)
    except (OSError, *_COMPRESSION_ERRORS) as error:  # pandas uncompresses a file by its name
        raise ConfigError("file", str(path), f"a CSV file that can be read ({error})") from None
    except (ValueError, TypeError, OverflowError) as error:  # includes the parser's errors
        raise ConfigError("file", str(path), f"a CSV file with a header ({error})") from None
    if not is_list(others):
        raise ConfigError("others", others, "a list of names of columns")
    known = ("message", *_NAMES, *others)
    for column in frame:
        if column not in known:
            if str(column).rpartition("_")[0] in ("start", "size", "delay", "duration"):
                break  # `messages` reports these in more detail
            raise unknown("column", column, known, "a column of a workload, or one of others=")
    if not isinstance(frame.index, pd.RangeIndex):  # pandas takes extra cells of a row as its index
        raise ConfigError("file", str(path), "a CSV file without rows longer than its header")
    if "message" in frame:
        frame = frame.set_index("message")
    if "after" in frame:
        convert: Callable[[str], Hashable] = int if pd.api.types.is_integer_dtype(frame.index) else str
        frame["after"] = pd.Series([_ids(text, convert) for text in frame["after"]], frame.index, dtype=object)
    for name in ("delay", "delay_ps"):
        if name in frame:
            frame[name] = pd.Series([_times(text) for text in frame[name]], frame.index, dtype=object)
    return messages(frame)


@typed
def to_csv(workload: pd.DataFrame, path: str | PathLike[str]) -> None:
    """Write a workload to a CSV file that :func:`from_csv` reads back: its hosts are strings or whole numbers."""
    frame = messages(workload)
    for end in ("src", "dst"):
        for row, name in enumerate(frame[end]):
            if not isinstance(name, str | Integral):
                raise row_error(frame, row, end, name, "a string or a whole number, in a CSV file")
    for row, ids in enumerate(frame["after"]):
        if any(_ids(str(one), int if isinstance(one, Integral) else str) != (one,) for one in ids):
            raise row_error(
                frame, row, "after", ids, "whole numbers, or strings without spaces and semicolons, in a CSV"
            )
    for name in ("after", "delay_ps"):
        if name in frame:
            frame[name] = [" ".join(map(str, parts)) for parts in frame[name]]
    for name in PATH_COLUMNS:
        if name in frame:
            frame[name] = [path if is_missing(path) else " ".join(map(str, node_names(path))) for path in frame[name]]
    with written(path):
        frame.to_csv(path)


def from_parquet(path: str | PathLike[str]) -> pd.DataFrame:
    """Read a workload from a Parquet file.

    The columns are those that :func:`messages` describes; ``after`` is a list of ids, and may be missing.
    """
    try:
        return messages(_frame_of(pq.read_table(path).replace_schema_metadata()))
    except ConfigError:
        raise
    except OSError as error:
        raise ConfigError("file", str(path), f"a Parquet file that can be read ({error})") from None
    except (pa.ArrowException, ValueError, TypeError, OverflowError) as error:
        raise ConfigError("file", str(path), f"a Parquet file ({error})") from None


def _frame_of(table: pa.Table) -> pd.DataFrame:
    after = None
    if "after" in table.column_names:
        place = table.column_names.index("after")
        after = table.column(place).combine_chunks()
        table = table.remove_column(place)
        if not (pa.types.is_list(after.type) or pa.types.is_large_list(after.type)):
            raise ConfigError("after", str(after.type), "a column of lists of ids")
    frame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    if "message" in frame:
        frame = frame.set_index("message")
    if after is not None:
        lengths = np.diff(after.offsets.to_numpy()) if len(after) else np.zeros(0, np.int64)
        lengths = np.where(after.is_null().to_numpy(zero_copy_only=False), 0, lengths).astype(np.int64)
        rows = np.flatnonzero(lengths)
        frame["after"] = split_ids(after.flatten().to_pylist(), rows, lengths[rows], len(frame))
    if "delay_ps" in frame:
        frame["delay_ps"] = [
            None if is_missing(delays) else tuple(np.asarray(delays).tolist()) for delays in frame["delay_ps"]
        ]
    return frame


@typed
def to_parquet(workload: pd.DataFrame, path: str | PathLike[str]) -> None:
    """Write a workload to a Parquet file that :func:`from_parquet` reads back; a column has values of one type."""
    frame = messages(workload)
    labels = _arrow("message", list(frame.index))
    kinds = {"after": pa.large_list(labels.type)}
    columns = {str(name): _arrow(str(name), frame[name], kinds.get(str(name))) for name in frame}
    with written(path):
        pq.write_table(pa.table({"message": labels, **columns}), path)


def _arrow(name: str, values: Any, kind: Any = None) -> Any:
    try:
        return pa.array(values, kind, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        allowed = f"strings, or numbers of one type, to be written: {error}"
        raise ConfigError(name, "a column", allowed) from None


def _times(text: object) -> tuple[int | str, ...]:
    """Return the delays in a CSV cell, whole numbers as int."""
    return tuple(int(part) if part.isdigit() else part for part in _parts(text))


def _parts(text: object) -> list[str]:
    return [part for part in re.split(r"[;\s]+", text) if part] if isinstance(text, str) else []


def _ids(text: object, convert: Callable[[str], Hashable]) -> tuple[Hashable, ...]:
    ids = _parts(text)
    try:
        return tuple(convert(part) for part in ids)
    except ValueError:
        return tuple(ids)
