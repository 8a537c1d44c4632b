"""The event queue: a two-level timing wheel behind a small heap.

Time is divided into steps of `2**wheel_shift` ps, each with a few events. The heap holds the events up to the end of
the current step, in order. A bucket of the near wheel holds the events of one later step, unordered; a bucket of the
far wheel those of a whole round of the near wheel. Later events, such as timers of seconds, wait in a chain. Pushing
an event links one row into its bucket, however many others are pending; when the heap is empty, it is refilled from
the next bucket. Each wheel has a bit for each bucket, so the search skips 64 empty buckets at a time.

In windows (`rdmacc.engine.compiled.windows`), a step has a bucket for each node, and the heap holds the events of one
node in one step. Buckets are numbered consecutively, step by step, so the wheels work the same way.

The pending events are those in the heap and those in the `wheel_count` rows of `nodes` whose time is not NEVER. Except
at the end of a node's window, an empty heap means that no event is pending.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.tables.layout import WATCH

EVENT_BYTES = 16
HEAP_PADDING = 3
"""Events left free before the root, so that children 4i+1 .. 4i+4 start at a multiple of 64 bytes.

Beyond the last event every entry must hold NEVER, for at least four entries."""


@intrinsic
def is_before(typing_context, time_ps, rank, other_time_ps, other_rank):
    """Order events, as numbers of 128 bits with the time above the rank: two instructions, and no branch to guess.

    None of them is negative.
    """

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)

        def joined(high, low):
            return builder.or_(builder.shl(builder.zext(high, wide), wide(64)), builder.zext(low, wide))

        return builder.icmp_unsigned("<", joined(*arguments[:2]), joined(*arguments[2:]))

    number = types.int64
    return types.boolean(number, number, number, number), generate


@jit
def near_push(g, time_ps, rank):
    heap = g.heap
    i = g.heap_length
    g.heap_length = i + 1
    while i > 0:
        parent = (i - 1) >> 2
        at = heap + parent * EVENT_BYTES
        parent_time, parent_rank = load_i8(at), load_i8(at + 8)
        if not is_before(time_ps, rank, parent_time, parent_rank):
            break
        here = heap + i * EVENT_BYTES
        store_i8(here, parent_time)
        store_i8(here + 8, parent_rank)
        i = parent
    here = heap + i * EVENT_BYTES
    store_i8(here, time_ps)
    store_i8(here + 8, rank)


@jit
def near_replace(g, time_ps, rank):
    heap = g.heap
    length = g.heap_length
    i = 0
    child = 1
    while child < length:
        # The first of four children, by two rounds; behind the last event lie events that never come.
        at = heap + child * EVENT_BYTES
        time_0, rank_0 = load_i8(at), load_i8(at + 8)
        time_1, rank_1 = load_i8(at + 16), load_i8(at + 24)
        time_2, rank_2 = load_i8(at + 32), load_i8(at + 40)
        time_3, rank_3 = load_i8(at + 48), load_i8(at + 56)
        low = is_before(time_1, rank_1, time_0, rank_0)
        low_time = time_1 if low else time_0
        low_rank = rank_1 if low else rank_0
        high = is_before(time_3, rank_3, time_2, rank_2)
        high_time = time_3 if high else time_2
        high_rank = rank_3 if high else rank_2
        is_high = is_before(high_time, high_rank, low_time, low_rank)
        best_time = high_time if is_high else low_time
        best_rank = high_rank if is_high else low_rank
        if not is_before(best_time, best_rank, time_ps, rank):
            break
        here = heap + i * EVENT_BYTES
        store_i8(here, best_time)
        store_i8(here + 8, best_rank)
        i = child + (2 + int(high) if is_high else int(low))
        child = 4 * i + 1
    here = heap + i * EVENT_BYTES
    store_i8(here, time_ps)
    store_i8(here + 8, rank)


@jit
def near_pop(g):
    length = g.heap_length - 1
    g.heap_length = length
    last = g.heap + length * EVENT_BYTES
    time_ps, rank = load_i8(last), load_i8(last + 8)
    store_i8(last, NEVER)
    store_i8(last + 8, NEVER)
    if length > 0:
        near_replace(g, time_ps, rank)


GRAIN_BITS = 7  # windows begin at multiples of this, a power of two in ps

FAR_BITS = 12  # the far wheel has 2**12 buckets

NODE_BYTES = 32  # rows of time, rank, the next row of the bucket; two in a cache line

_FAR_MASK = (1 << FAR_BITS) - 1
_WATCH_BYTES = WATCH.itemsize


@jit
def push_event(g, time_ps, rank):
    """Push an event. The caller has made room."""
    step = step_of(g, time_ps)
    if step <= g.wheel_now >> g.node_bits:  # in windows: of this node, since nothing reaches another one so soon
        near_push(g, time_ps, rank)
    elif g.heap_length == 0 and not g.node_bits:  # nothing else is pending
        g.wheel_now = step
        near_push(g, time_ps, rank)
    else:
        wheel_event(g, time_ps, rank)


@jit
def replace_event(g, time_ps, rank):
    if step_of(g, time_ps) <= g.wheel_now >> g.node_bits:
        near_replace(g, time_ps, rank)
    else:
        wheel_event(g, time_ps, rank)
        pop_event(g)


@jit
def pop_event(g):
    near_pop(g)
    if g.heap_length == 0 and g.wheel_count > 0 and not g.node_bits:
        refill(g)


@jit
def wheel_event(g, time_ps, rank):
    """Add an event that is due after the heap's step."""
    wheel_push(g, time_ps, rank, bucket_of(g, time_ps, rank))


@jit
def step_of(g, time_ps):
    """Return the step of a time; in windows a step's length is no power of two (see `Windows`)."""
    if g.node_bits:
        return (time_ps >> GRAIN_BITS) * g.window_factor >> g.wheel_shift
    return time_ps >> g.wheel_shift


@jit
def bucket_of(g, time_ps, rank):
    """Return an event's bucket: its step or, in windows, its step and node."""
    step = step_of(g, time_ps)
    return (step << g.node_bits) + node_of(g, rank) if g.node_bits else step


@jit
def node_of(g, rank):
    """Return the node of an event; the event touches no other node's state."""
    number = rank & RANK_MASK
    if rank < DELIVER:
        return message_at(g, number).src if number < g.n_messages else computation_at(g, number).src
    if rank < WAKE:
        return port_at(g, number).peer
    if rank < SHAPE:
        return port_at(g, number).node
    return node_of_timer(g, rank, number)


@cold
def node_of_timer(g, rank, number):
    """As `node_of`, for rare events."""
    if rank < PACE:
        return port_at(g, number).node
    if rank < SENDER_TIMER:
        return qp_at(g, number).src
    if rank >= PROBE:
        return watch_at(g.watches + number * _WATCH_BYTES).node
    kind = (rank - SENDER_TIMER) >> RANK_SHIFT
    owner = number // count_slots(g, kind)
    if kind < 2:
        return qp_at(g, owner).dst if kind else qp_at(g, owner).src
    if kind == 2:
        return message_at(g, owner).src
    return owner if kind == 3 else port_at(g, owner).node


@jit
def wheel_push(g, time_ps, rank, step):
    number = g.node_free
    if number >= 0:
        node = g.nodes + number * NODE_BYTES
        g.node_free = load_i8(node + 16)
    else:
        number = g.node_used
        g.node_used = number + 1
        node = g.nodes + number * NODE_BYTES
    g.wheel_count += 1
    store_i8(node, time_ps)
    store_i8(node + 8, rank)
    now = g.wheel_now
    if step - now <= g.near_mask:
        add_node(g.near_wheel, g.near_bits, step & g.near_mask, node, number)
        return
    turn = step >> g.near_shift
    if turn - (now >> g.near_shift) <= _FAR_MASK:
        add_node(g.far_wheel, g.far_bits, turn & _FAR_MASK, node, number)
        g.far_first = min(g.far_first, turn << g.near_shift)
    else:
        store_i8(node + 16, g.beyond_head)
        g.beyond_head = number
        g.beyond_first = min(g.beyond_first, step)


@jit
def add_node(wheel, bits, bucket, node, number):
    slot = wheel + bucket * 4
    head = np.int64(load_i4(slot))
    store_i8(node + 16, head)
    store_i4(slot, np.int32(number))
    if head < 0:
        word = bits + (bucket >> 6) * 8
        store_i8(word, load_i8(word) | (1 << (bucket & 63)))


@jit
def take_bucket(wheel, bits, bucket):
    """Empty a bucket; return its first row."""
    slot = wheel + bucket * 4
    number = np.int64(load_i4(slot))
    store_i4(slot, np.int32(-1))
    word = bits + (bucket >> 6) * 8
    store_i8(word, load_i8(word) & ~(1 << (bucket & 63)))
    return number


@jit
def buckets_ahead(bits, mask, after):
    """Return the distance to the next non-empty bucket, at most once round the wheel; 0 if all are empty."""
    start = after + 1
    place = start & mask
    word = load_i8(bits + (place >> 6) * 8) & (-1 << (place & 63))
    base = place & ~63
    for _ in range((mask >> 6) + 2):
        if word:
            return ((base + lowest_bit(word) - after - 1) & mask) + 1
        base = (base + 64) & mask
        word = load_i8(bits + (base >> 6) * 8)
    return 0


@jit
def refill(g):
    """Refill the empty heap from the next non-empty bucket."""
    while g.heap_length == 0 and g.wheel_count > 0:
        go_to(g, next_bucket(g))


@jit
def next_bucket(g):
    """Return the next non-empty bucket or the next at which the far wheel must be sorted; NEVER if there is neither."""
    if g.wheel_count == 0:
        return NEVER
    ahead = buckets_ahead(g.near_bits, g.near_mask, g.wheel_now & g.near_mask)
    step = min(g.far_first, g.beyond_first)
    return min(step, g.wheel_now + ahead) if ahead else step


@jit
def go_to(g, step):
    """Advance to the next bucket and move its events to the empty heap."""
    g.wheel_now = step
    if step == g.beyond_first:
        number = g.beyond_head
        g.beyond_head = -1
        g.beyond_first = NEVER
        load_heap(g, number)
    if step == g.far_first:
        turn = step >> g.near_shift
        number = take_bucket(g.far_wheel, g.far_bits, turn & _FAR_MASK)
        ahead = buckets_ahead(g.far_bits, _FAR_MASK, turn & _FAR_MASK)
        g.far_first = (turn + ahead) << g.near_shift if ahead else NEVER
        load_heap(g, number)
    load_heap(g, take_bucket(g.near_wheel, g.near_bits, step & g.near_mask))
    if g.prefetch_depth > 1:  # the first row of the bucket after this one will have left the cache
        ahead = buckets_ahead(g.near_bits, g.near_mask, step & g.near_mask)
        if ahead:
            prefetch(g.nodes + load_i4(g.near_wheel + ((step + ahead) & g.near_mask) * 4) * NODE_BYTES)


@jit
def load_heap(g, number):
    """Redistribute a chain of events to the heap and the wheels."""
    while number >= 0:
        node = g.nodes + number * NODE_BYTES
        time_ps, rank, following = load_i8(node), load_i8(node + 8), load_i8(node + 16)
        store_i8(node, NEVER)
        store_i8(node + 16, g.node_free)
        g.node_free = number
        g.wheel_count -= 1
        step = bucket_of(g, time_ps, rank)
        if step > g.wheel_now:
            wheel_push(g, time_ps, rank, step)
        else:
            fetch_rows(g, rank)
            near_push(g, time_ps, rank)
        number = following


@jit
def fetch_rows(g, rank):
    """Prefetch the row that an event of this step will need."""
    rank = rank_without_order(g, rank)
    number = rank & RANK_MASK
    if rank < SHAPE:
        fetch_port(g, number)
    elif rank < SENDER_TIMER:
        prefetch(qp_row(g, number))
