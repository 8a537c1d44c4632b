"""The store: the rows of each computed point, as a Parquet file named by the hash of everything they depend on.

A file is written atomically and identifies itself. A truncated, damaged or foreign file is reported and ignored.
Nothing in a file is ever executed or unpickled.
"""

import contextlib
import json
import logging
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rdmacc.caching.sources import are_current
from rdmacc.errors import ConfigError
from rdmacc.sweep.tidy import check_table, typed

__all__ = ["Store", "default_folder", "read_table"]

_META = b"rdmacc"
_FORMAT = 1
_NAME = re.compile(r"[^\W.-][\w.+ -]*")
"""Names that are valid file names on every system and stay inside the store's folder."""

_STALE_S = 3600.0
"""Age at which a temporary file is assumed to come from a killed process."""

_log = logging.getLogger(__name__)


def default_folder() -> Path:
    """Return where points are stored: ``RDMACC_STORE_DIR`` if set, otherwise a folder in the user's data folder."""
    if chosen := os.environ.get("RDMACC_STORE_DIR"):
        return Path(chosen)
    try:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    except RuntimeError:
        raise ConfigError("RDMACC_STORE_DIR", None, "set, or store= given: this user has no home folder") from None
    return data / "rdmacc" / "points"


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Have `write` create a temporary file, then rename it, so that a reader sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=".tmp")
    os.close(number)
    draft = Path(name)
    try:
        write(draft)
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        draft.chmod(0o644)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # not every system can synchronise a folder to disk
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_table(path: Path, table: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
    """Write a table with its provenance as Parquet, atomically; equal tables give equal files."""
    arrow = _arrow(table)
    content = _text({"format": _FORMAT, **provenance})
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), _META: content.encode()})
    write_atomically(path, lambda draft: pq.write_table(arrow, draft, compression="zstd", write_page_checksum=True))


def as_stored(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in the form in which the store returns it, so that stored and fresh tables are identical."""
    return typed(_arrow(table).to_pandas())


def _arrow(table: pd.DataFrame) -> Any:
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ConfigError("table", list(table.columns), f"a table whose columns have one type each ({error})") from None


def read_table(path: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table and its provenance; raise a ConfigError for anything but a complete table written by rdmacc."""
    wanted = "a complete Parquet table written by rdmacc"
    if path.exists() and not path.is_file():  # reading a pipe could block forever
        raise ConfigError("file", path.name, f"{wanted}, not a folder, a pipe or a device")
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            arrow = file.read()
        content = json.loads((arrow.schema.metadata or {}).get(_META, b"null"))
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise ConfigError("file", path.name, wanted)
        table = typed(arrow.to_pandas())
    except (ConfigError, FileNotFoundError):
        raise
    except Exception as error:  # a damaged file may make a reader raise anything
        raise ConfigError("file", path.name, f"{wanted} ({error})") from None
    return table, content


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


class Store:
    """A folder of computed points.

    Parameters
    ----------
    folder : path, optional
        Default: see `default_folder`. It is created when the first point is stored.

    Raises
    ------
    ConfigError
        If it is not a path, or the path of something other than a folder.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        folder = default_folder() if folder is None else folder
        try:
            self.folder = Path(folder).absolute()
            is_folder = "\0" not in str(self.folder) and (self.folder.is_dir() or not self.folder.exists())
        except (TypeError, ValueError, OSError):  # such as a name that is too long, or a folder without permission
            is_folder = False
        if not is_folder:
            raise ConfigError("store", folder, "the path of a folder")

    def path(self, experiment: str, key: str) -> Path:
        """Return the path of a point's rows, whether or not it exists; reject names that might lead elsewhere."""
        for field, name in (("experiment", experiment), ("key", key)):
            if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > 200:
                raise ConfigError(field, name, "letters, digits, '.', '_' and '-', not starting with a dot")
        return self.folder / experiment / f"{key}.parquet"

    def load(self, identity: Mapping[str, Any]) -> tuple[pd.DataFrame, dict[str, Any]] | None:
        """Return a point's rows and their provenance; None if there is no file, or not one that can be trusted.

        It must have the `identity` that `rdmacc.sweep.fingerprint.identify` gives the point. An existing file that
        cannot be trusted is reported by a warning in the log.
        """
        path = self.path(identity["experiment"], identity["key"])
        try:
            table, provenance = read_table(path)
            for name, value in identity.items():
                if _text(provenance.get(name)) != _text(value):
                    raise ConfigError("file", path.name, f"the table of {identity['point']}; its {name} differs")
            if not are_current(provenance.get("sources", {})):  # the code has changed since
                return None
            return check_table(table, identity["point"]), provenance
        except FileNotFoundError:
            return None
        except Exception as error:
            _log.warning("rdmacc: recomputing %s, ignoring %s: %s", identity["point"], path, error)
            return None

    def save(self, table: pd.DataFrame, provenance: Mapping[str, Any]) -> None:
        """Store a point's rows, with its identity (`experiment`, `point`, `key`, ...) and how they were computed."""
        write_table(self.path(provenance["experiment"], provenance["key"]), table, provenance)

    def clean(self, experiment: str) -> None:
        """Remove partial files of an experiment that killed processes left."""
        for draft in self.path(experiment, "any").parent.glob(".*.tmp"):
            with contextlib.suppress(OSError):
                if time.time() - draft.stat().st_mtime > _STALE_S:
                    draft.unlink()
