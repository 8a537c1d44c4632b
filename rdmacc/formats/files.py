"""Helpers of the readers: text of a file, errors with file and line, and hosts for ranks."""

import gzip
import io
import re
import zlib
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from rdmacc.errors import ConfigError
from rdmacc.workload.choice import Hosts
from rdmacc.workload.frame import Host, checked_hosts

File: TypeAlias = str | PathLike[str]

_MOST_UNZIPPED, _ANY_UNZIPPED, _MOST_RATIO = 2**31, 2**26, 100
"""Bounds of what a compressed file may hold: in all, at least, and as a multiple of its size."""

Line: TypeAlias = Callable[[str, object, str], ConfigError]
"""Returns the error for a line from a field, its value and the allowed values."""


def read_bytes(path: File) -> bytes:
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError, TypeError) as error:
        raise ConfigError("file", str(path), f"a file that can be read ({error})") from None


def unzipped(path: File, data: bytes) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    most = min(_MOST_UNZIPPED, max(_ANY_UNZIPPED, _MOST_RATIO * len(data)))
    try:
        with gzip.open(io.BytesIO(data)) as file:
            content = file.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise ConfigError("file", str(path), f"a whole gzip file ({error})") from None
    if len(content) > most:
        raise ConfigError("file", str(path), f"at most {most} B when uncompressed")
    return content


def read_text(path: File) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise ConfigError("file", str(path), f"a text file ({error})") from None


def line_of(path: File, number: int) -> Line:
    return lambda field, value, allowed: ConfigError(field, value, allowed, where=f"{path}, line {number}")


def whole(error: Line, field: str, text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"0*[0-9]{1,20}", text) or not least <= int(text[-20:]) <= most:
        raise error(field, text[:60], f"a whole number from {least} to {most}")
    return int(text[-20:])


def hosts_of(path: File, ranks: int, hosts: Hosts | None) -> list[Host]:
    if hosts is None:
        return [f"h{rank}" for rank in range(ranks)]
    listed = checked_hosts(hosts)
    if len(listed) < ranks:
        raise ConfigError("hosts", f"{len(listed)} hosts", f"at least {ranks}, one for each rank of {path}")
    return listed[:ranks]
