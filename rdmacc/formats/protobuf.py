"""A minimal reader of protocol buffers' wire format, for messages with known fields."""

import struct
from collections.abc import Iterator

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
