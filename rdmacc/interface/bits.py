"""Sets of a message's packets, for handlers: packets that have arrived, for example, or are known to be lost.

A `Bits` field of a `Transfer` record is such a set. It starts empty and has room for every packet of its message.
Handlers access it only through these functions. In the reference engine it has one byte per packet; in the compiled one
it is the address of 64-bit words (`rdmacc.engine.compiled.kernel.rules`).
"""


def make_bits(packets: int) -> bytearray:
    """Return an empty set for a message."""
    return bytearray(packets + 1)


def has_bit(bits: bytearray, psn: int) -> bool:
    """Return whether a packet is in the set."""
    return bits[psn] != 0


def set_bit(bits: bytearray, psn: int) -> None:
    """Add a packet to the set."""
    bits[psn] = 1


def clear_bit(bits: bytearray, psn: int) -> None:
    """Remove a packet from the set, if present."""
    bits[psn] = 0


def find_set(bits: bytearray, start: int, end: int) -> int:
    """Return the first packet in a range that is in the set."""
    psn = bits.find(1, start, end)
    return end if psn < 0 else psn


def find_clear(bits: bytearray, start: int, end: int) -> int:
    """Return the first packet in a range that is not in the set."""
    psn = bits.find(0, start, end)
    return end if psn < 0 else psn
