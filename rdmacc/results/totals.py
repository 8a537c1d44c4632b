"""Totals over a network: what a result counts of all ports and messages together."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.engine.outcome import RunOutcome
from rdmacc.state import HOST_NIC, LINK_CLASSES


def totals_of(outcome: RunOutcome, classes: npt.NDArray[np.integer[Any]]) -> pd.Series[Any]:
    """Return the counters of all ports, switches and messages together."""
    return pd.Series(counts_of(outcome, classes), name="counters")


def counts_of(outcome: RunOutcome, classes: npt.NDArray[np.integer[Any]]) -> dict[str, int]:
    ports, totals = outcome.ports, outcome.totals
    counters: dict[str, int] = {
        "data_packet_hops": int(ports["tx_data_packets"].sum()),
        "control_packet_hops": int(ports["tx_control_packets"].sum()),
    }
    for number, name in enumerate(LINK_CLASSES):
        counters[f"marks_{name}"] = int(ports["marked_packets"][classes == number].sum())
    counters |= {
        "pfc_pauses": int(ports["pauses"].sum()),
        "pfc_paused_ps": int(ports["paused_ps"].sum()),
        "pfc_violations": int(ports["violations"].sum()),
        "dropped_packets": int(ports["dropped_packets"].sum()),
        "trimmed_packets": int(ports["trimmed_packets"].sum()),
        "deflected_packets": int(ports["deflected_packets"].sum()),
        "lost_packets": int(ports["lost_packets"].sum()),
        "peak_queue_bytes": int(ports["peak_queue_bytes"][classes != HOST_NIC].max(initial=0)),
        "peak_buffer_bytes": int(outcome.buffer_peak_bytes.max(initial=0)),
        "timeouts": int(outcome.messages["timeouts"].sum()),
        "retransmissions": int(outcome.messages["retransmissions"].sum()),
    }
    return counters | totals
