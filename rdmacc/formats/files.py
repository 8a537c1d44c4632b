"""Helpers of the readers: text of a file, errors with file and line, hosts for ranks, protocol buffers' wire format."""

import gzip
import io
import struct
import zlib
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.interface.described import describes
from rdmacc.workload.columns import is_missing
from rdmacc.workload.frame import Host, Hosts, checked_hosts
from rdmacc.workload.paths import PATH_COLUMNS

File: TypeAlias = str | PathLike[str]

_MOST_UNZIPPED, _ANY_UNZIPPED, _MOST_RATIO = 2**31, 2**26, 100
"""Limits on uncompressed size: absolute; always allowed; as a multiple of the compressed size."""

_UNSAID = "missing: the file has none"

described = describes(
    path="path: The file.",
    hosts="network or sequence, optional: The host of each rank; default: h0, h1, ...",
    nccl="Nccl, optional: How collectives run; default: rings and chains of one channel.",
)

Line: TypeAlias = Callable[[str, object, str], ConfigError]
"""Makes the error for a line from a field, its value and the allowed values."""


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
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError("file", str(path), f"a text file ({error})") from None


def line_of(path: File, number: int) -> Line:
    return lambda field, value, allowed: ConfigError(field, value, allowed, where=f"{path}, line {number}")


def whole(error: Line, field: str, text: str, least: int, most: int) -> int:
    is_number = text.isdecimal() and text.isascii() and not text[:-20].strip("0")
    if not is_number or not least <= int(text[-20:]) <= most:
        raise error(field, text[:60], f"a whole number from {least} to {most}")
    return int(text[-20:])


def hosts_of(path: File, ranks: int, hosts: Hosts | None) -> list[Host]:
    if hosts is None:
        return [f"h{rank}" for rank in range(ranks)]
    listed = checked_hosts(hosts)
    if len(listed) < ranks:
        raise ConfigError("hosts", f"{len(listed)} hosts", f"at least {ranks}, one for each rank of {path}")
    return listed[:ranks]


def check_rows(frame: pd.DataFrame, *checks: tuple[str, Any, str]) -> None:
    """Raise a ConfigError for the first row that fails a check (column, which rows are wrong, what is allowed)."""
    if frame.empty:
        raise ConfigError("workload", "0 messages", "must have at least one message")
    for name, is_wrong, allowed in checks:
        if np.any(is_wrong):
            row = int(np.argmax(is_wrong))
            raise ConfigError(name, frame[name].iloc[row], allowed, f"row {frame.index[row]}")


def check_apart(flows: File, topology: File | None) -> None:
    if topology is not None and Path(flows).resolve() == Path(topology).resolve():
        raise ConfigError("topology", str(topology), "another file than that of the flows")


def unsaid(frame: pd.DataFrame, **defaults: object) -> list[tuple[str, Any, str]]:
    """Return checks that paths, queue pairs, weights and these columns, which a file does not have, are at defaults."""
    return [
        (name, [not is_missing(value) and (default is None or value != default) for value in frame[name]], _UNSAID)
        for name, default in {**dict.fromkeys((*PATH_COLUMNS, "queue_pair")), "weight": 1, **defaults}.items()
        if name in frame
    ]


Value = int | bytes
"""Value of a field: a varint or a fixed number as unsigned int, anything else as bytes."""


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a varint and the position after it."""
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("an unterminated number")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << 64) - 1, at
        shift += 7


def fields(data: bytes) -> Iterator[tuple[int, int, Value]]:
    """Yield number, wire type and value of each field of a message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
            yield number, kind, value
            continue
        if kind == 2:
            size, at = varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise ValueError(f"an unsupported wire type, {kind}")
        if at + size > len(data):
            raise ValueError("a truncated field")
        part, at = data[at : at + size], at + size
        yield number, kind, part if kind == 2 else int.from_bytes(part, "little")


def packed(kind: int, value: Value) -> list[int]:
    if kind == 0 or isinstance(value, int):
        return [value] if isinstance(value, int) else []
    numbers, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        numbers.append(number)
    return numbers


def signed(kind: str, value: Value) -> int | float | str:
    if kind == "string":
        if not isinstance(value, bytes):
            raise ValueError("a number where text is expected")
        return value.decode()
    if not isinstance(value, int):
        raise ValueError("text where a number is expected")
    if kind == "float":
        return float(struct.unpack("<f", value.to_bytes(4, "little"))[0])
    if kind == "double":
        return float(struct.unpack("<d", value.to_bytes(8, "little"))[0])
    if kind == "sint":
        return (value >> 1) ^ -(value & 1)
    bits = 32 if kind == "sfixed32" else 64
    if kind in ("int", "sfixed32", "sfixed64") and value >> (bits - 1):
        return value - (1 << bits)
    return value
