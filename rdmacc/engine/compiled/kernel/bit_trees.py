"""Lines of queue pairs at a NIC: sets of places, in which the next one after any place is found at once.

A set is a tree of 64-bit words: a bit of the lowest level for each of the NIC's queue pairs, and above it a bit for
each word that is not 0. The top word lies in the class's backlog, so that a NIC with up to 64 queue pairs has
no other. Counterpart of the sorted lists of `rdmacc.engine.reference.nic`.
"""

from rdmacc.engine.compiled.kernel.rows import *


def line_depth(count: int) -> int:
    return max(1, -(-(max(count, 1) - 1).bit_length() // 6))


def line_bytes(count: int) -> int:
    """Return the bytes of the levels below the top."""
    total, words = 0, -(-count // 64)
    for _ in range(line_depth(count) - 1):
        total += words * 8
        words = -(-words // 64)
    return total


@jit
def qp_in_place(g, port, place):
    return qp_at(g, load_entry(g.places, port.first_place + place))


@jit
def level_of(port, cls):
    """Return the address of the lowest level of a class's line, if it is not the top."""
    words, total = port.line_words, 0
    for _ in range(port.line_depth - 1):
        total += words
        words = (words + 63) >> 6
    return port.line + (cls - DATA_CLASS) * total * 8


@jit
def enter(port, backlog, cls, place):
    if port.line_depth > 1:
        level, words = level_of(port, cls), port.line_words
        for _ in range(port.line_depth - 1):
            at = level + (place >> 6) * 8
            store_i8(at, load_i8(at) | (1 << (place & 63)))
            level += words * 8
            words = (words + 63) >> 6
            place >>= 6
    backlog.ready |= 1 << place


@jit
def leave(port, backlog, cls, place):
    if port.line_depth > 1:
        level, words = level_of(port, cls), port.line_words
        for _ in range(port.line_depth - 1):
            at = level + (place >> 6) * 8
            word = load_i8(at) & ~(1 << (place & 63))
            store_i8(at, word)
            if word:
                return
            level += words * 8
            words = (words + 63) >> 6
            place >>= 6
    backlog.ready &= ~(1 << place)


@jit
def following(port, backlog, cls, place):
    """Return the first place of a non-empty line after a place (-1: from the start), wrapping around."""
    if port.line_depth == 1:
        later = backlog.ready & (-2 << place) if place >= 0 else backlog.ready
        return lowest_bit(later if later else backlog.ready)
    return following_below(port, backlog, cls, place)


@jit
def following_below(port, backlog, cls, place):
    """As `following`, with levels below the top: up to a word with a later place, then down by the lowest bits."""
    level, words = level_of(port, cls), port.line_words
    top = port.line_depth - 1
    height, at = 0, place
    if place < 0:
        height, at = top, lowest_bit(backlog.ready)
        for _ in range(top):
            level += words * 8
            words = (words + 63) >> 6
    else:
        while True:
            word = backlog.ready if height == top else load_i8(level + (at >> 6) * 8)
            later = word & (-2 << (at & 63))
            if later:
                at = (at & ~63) + lowest_bit(later)
                break
            if height == top:
                at = lowest_bit(backlog.ready)
                break
            at >>= 6
            level += words * 8
            words = (words + 63) >> 6
            height += 1
    level = level_of(port, cls)
    while height > 0:
        height -= 1
        below, words = level, port.line_words
        for _ in range(height):
            below += words * 8
            words = (words + 63) >> 6
        at = (at << 6) + lowest_bit(load_i8(below + at * 8))
    return at
