"""The rules of `rdmacc.rules` compiled."""

from __future__ import annotations

from numba.extending import overload

from rdmacc.engine.compiled import chance  # noqa: F401 - what rules call for chance
from rdmacc.engine.compiled.address import jit, lowest_bit
from rdmacc.engine.compiled.machine_code import OVERLOAD, cold
from rdmacc.rules import addressing, admission, classes, credits, links, pacing, pfc, progress, ranks, routing
from rdmacc.units import cut_ps


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
credit_ready_ps, spend_credit = jit(credits.credit_ready_ps), jit(credits.spend_credit)
