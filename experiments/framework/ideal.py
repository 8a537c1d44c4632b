"""Ideal completion times as the papers' slowdowns have them: all packets in order on one path."""

import numpy as np
import numpy.typing as npt

from rdmacc.results.result import Result
from rdmacc.topology.base_times import base_fct_ps


def in_order_fct_ps(result: Result) -> npt.NDArray[np.int64]:
    """Return each message's time alone on the first shortest path; the bound in `flows` allows for spraying."""
    plan, scheme = result.plan, result.plan.scheme
    return base_fct_ps(plan.fabric, plan.src, plan.dst, plan.size_bytes, scheme.payload_bytes, scheme.header_bytes)
