"""The rules of `rdmacc.switch` compiled: buffer admission, PFC, the choice of class, the rate of credits."""

from __future__ import annotations

from numba.extending import overload

from rdmacc.engine.compiled.address import jit
from rdmacc.engine.compiled.machine_code import OVERLOAD
from rdmacc.switch import adaptive, admission, credits, pfc
from rdmacc.switch.classes import choose_class as _choose_class
from rdmacc.switch.classes import first_class

__all__ = [
    "admit_lossless",
    "admit_lossy",
    "choose_class",
    "credit_ready_ps",
    "fits_queue",
    "may_resume",
    "must_pause",
    "obey",
    "queue_limit_bytes",
    "release_lossless",
    "release_lossy",
    "spend_credit",
    "wait_ps",
    "write_frame",
]


@overload(first_class, jit_options=OVERLOAD)
def _first_class(classes):
    return first_class


@overload(admission.xoff_bytes)
def _xoff_bytes(policy, buffer):
    return admission.xoff_bytes


admit_lossless, admit_lossy = jit(admission.admit_lossless), jit(admission.admit_lossy)
release_lossless, release_lossy = jit(admission.release_lossless), jit(admission.release_lossy)
queue_limit_bytes, fits_queue = jit(admission.queue_limit_bytes), jit(admission.fits_queue)
must_pause, may_resume = jit(pfc.must_pause), jit(pfc.may_resume)
obey, write_frame = jit(pfc.obey), jit(pfc.write_frame)
choose_class = jit(_choose_class)
wait_ps = jit(adaptive.wait_ps)
credit_ready_ps, spend_credit = jit(credits.credit_ready_ps), jit(credits.spend_credit)
