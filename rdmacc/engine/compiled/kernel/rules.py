"""The rules of `rdmacc.rules` compiled, and what they and handlers call: `rdmacc.chance`, and `rdmacc.bits`.

A set of packets is the address of its 64-bit words.
"""

import numpy as np
import numpy.typing as npt
from numba.extending import overload

from rdmacc import bits, chance
from rdmacc.engine.compiled.machine_code.address import jit, load_i8, lowest_bit, store_i8
from rdmacc.engine.compiled.machine_code.units import OVERLOAD, cold
from rdmacc.rules import addressing, admission, classes, links, pacing, pfc, progress, ranks, routing
from rdmacc.units import cut_ps

_GOLDEN = np.uint64(chance.GOLDEN)
_MIX1 = np.uint64(chance.MIX1)
_MIX2 = np.uint64(chance.MIX2)


@jit
def _mix(key, count):
    z = np.uint64(key) + (np.uint64(count) + np.uint64(1)) * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIX1
    z = (z ^ (z >> np.uint64(27))) * _MIX2
    return z ^ (z >> np.uint64(31))


@jit
def hash63(key, count):
    """As `rdmacc.chance.hash63`."""
    return np.int64(_mix(key, count) >> np.uint64(1))


@jit
def uniform(key, count):
    """As `rdmacc.chance.uniform`."""
    return np.float64(_mix(key, count) >> np.uint64(11)) * 1.1102230246251565e-16


@overload(chance.hash63, jit_options=OVERLOAD)
def _hash63(key, count):
    return lambda key, count: hash63(key, count)


@overload(chance.uniform, jit_options=OVERLOAD)
def _uniform(key, count):
    return lambda key, count: uniform(key, count)


def words_of(packets: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the words of a set of `n_packets` packets; the place after the last one has a bit too."""
    return packets // 64 + 1


@jit
def has_bit(address, psn):
    return (load_i8(address + (psn >> 6) * 8) >> (psn & 63)) & 1 == 1


@jit
def set_bit(address, psn):
    at = address + (psn >> 6) * 8
    store_i8(at, load_i8(at) | (1 << (psn & 63)))


@jit
def clear_bit(address, psn):
    at = address + (psn >> 6) * 8
    store_i8(at, load_i8(at) & ~(1 << (psn & 63)))


@jit
def _first(address, start, end, flip):
    """Return the first bit that is 1, after flipping all bits (-1) or not (0)."""
    psn = start
    while psn < end:
        rest = (load_i8(address + (psn >> 6) * 8) ^ flip) >> (psn & 63)
        if rest != 0:  # ones that the sign fills in lie above the word's last bit, which is one too
            while rest & 1 == 0:
                rest >>= 1
                psn += 1
            break
        psn = (psn | 63) + 1
    return min(psn, end)


@overload(bits.has_bit, jit_options=OVERLOAD)
def _overload_has_bit(bits, psn):
    return lambda bits, psn: has_bit(np.int64(bits), np.int64(psn))


@overload(bits.set_bit, jit_options=OVERLOAD)
def _overload_set_bit(bits, psn):
    return lambda bits, psn: set_bit(np.int64(bits), np.int64(psn))


@overload(bits.clear_bit, jit_options=OVERLOAD)
def _overload_clear_bit(bits, psn):
    return lambda bits, psn: clear_bit(np.int64(bits), np.int64(psn))


@overload(bits.find_set, jit_options=OVERLOAD)
def _overload_find_set(bits, start, end):
    return lambda bits, start, end: _first(np.int64(bits), np.int64(start), np.int64(end), 0)


@overload(bits.find_clear, jit_options=OVERLOAD)
def _overload_find_clear(bits, start, end):
    return lambda bits, start, end: _first(np.int64(bits), np.int64(start), np.int64(end), -1)


@overload(classes.first_class, jit_options=OVERLOAD)
def _first_class(classes):
    return lambda classes: lowest_bit(classes)


for _rule in (classes.count_lane, admission.xoff_bytes, routing.modulo, ranks.next_order, cut_ps):
    overload(_rule, strict=False, jit_options=OVERLOAD)(lambda *_, rule=_rule: rule)  # rules call it

starts_later, open_message, has_ended = jit(progress.starts_later), jit(progress.open_message), jit(progress.has_ended)
sends_in_order, is_delivered = jit(progress.sends_in_order), jit(progress.is_delivered)
close_message, close_pair = jit(progress.close_message), jit(progress.close_pair)
cut_off = cold(progress.cut_off)
is_due, wait_for_less, fail_waiting = jit(progress.is_due), jit(progress.wait_for_less), jit(progress.fail_waiting)
may_send, next_start_ps, wait_for_turn = jit(pacing.may_send), jit(pacing.next_start_ps), jit(pacing.wait_for_turn)
what_stops = jit(pacing.what_stops)
arm_pace, expire_pace = jit(pacing.arm_pace), jit(pacing.expire_pace)
write_data, request_class = jit(addressing.write_data), jit(addressing.request_class)
address_reply, address_request = jit(addressing.address_reply), jit(addressing.address_request)
reply_class = jit(addressing.reply_class)
put_on_link, is_busy, is_lost = jit(links.put_on_link), jit(links.is_busy), cold(links.is_lost)
end_pause, read_clock = jit(links.end_pause), jit(links.read_clock)
modulo, route_key, wait_ps = jit(routing.modulo), jit(routing.route_key), jit(routing.wait_ps)
way_by_packet, way_in_turn = jit(routing.way_by_packet), jit(routing.way_in_turn)
way_by_distance, flowlet_place = jit(routing.way_by_distance), jit(routing.flowlet_place)
first_in_scan, draw_deflection = jit(routing.first_in_scan), jit(routing.draw_deflection)
is_deflection_port, cut_payload = jit(routing.is_deflection_port), cold(routing.cut_payload)
admit_lossless, admit_lossy = jit(admission.admit_lossless), jit(admission.admit_lossy)
release_lossless, release_lossy = jit(admission.release_lossless), jit(admission.release_lossy)
queue_limit_bytes, fits_queue = jit(admission.queue_limit_bytes), jit(admission.fits_queue)
must_pause, may_resume = jit(pfc.must_pause), jit(pfc.may_resume)
obey, write_frame = jit(pfc.obey), jit(pfc.write_frame)
choose_class, count_lane = jit(classes.choose_class), jit(classes.count_lane)
credit_ready_ps, spend_credit = jit(classes.credit_ready_ps), jit(classes.spend_credit)
