"""Bitmaps for handlers: the packets of a window that have arrived, as a ring of bits in an `Ints` field."""

from __future__ import annotations

_WORD_BITS = 32
WORDS = 32
"""Length of the field."""
BITS = WORDS * _WORD_BITS
"""Packets that a bitmap has room for."""


def has_bit(words, psn):
    """Tell whether a packet's bit is set."""
    return (words[psn % BITS // _WORD_BITS] >> (psn % _WORD_BITS)) & 1 == 1


def set_bit(words, psn):
    """Set a packet's bit."""
    words[psn % BITS // _WORD_BITS] |= 1 << (psn % _WORD_BITS)


def clear_bit(words, psn):
    """Clear a packet's bit."""
    words[psn % BITS // _WORD_BITS] &= ~(1 << (psn % _WORD_BITS))
