"""Ultra Ethernet's transport with the values that its specification gives: NSCC, receiver credit, both.

Sections and tables are those of version 1.0.3. We have not read the specification itself: its values are those that
public notes on it quote (KaiLv16/UEC-Notes, on 1.0) and that the parameters of an ns-3 module cite with table and
section; they agree. `rdmacc.preset("uec-1.0").settings("nscc")` gives the source of each value. What comes from
uet-htsim says so: the specification leaves it to implementers, as it does the choice of path and the average of delays,
or our sources do not quote it, as for the unit and the pace of credit.

Compared with `uet-htsim`, three values differ: only trims trigger quick adapt, there are 256 entropy values, and a port
holds one BDP of headers. Credit does not follow the core: the specification says that it needs another mechanism there.
Not modelled: flow control by the destination, probes for the base RTT, a class of its own for trimmed packets, and the
back-off of the timer for packets, which is constant here.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from rdmacc.presets.base import Preset, define
from rdmacc.presets.uet_htsim import HEADER_BYTES, MTU_BYTES, make_uet
from rdmacc.protocols.nscc import Nscc
from rdmacc.protocols.receiver_credit import ReceiverCredit
from rdmacc.scaling import Scaled

_NEVER = 1e6
_TABLE = "UE 1.0.3, table 3-82"
_SWITCH = "UE 1.0.3, 3.6.17"

UEC_1_0 = define(
    Preset(
        "uec-1.0",
        "Ultra Ethernet specification 1.0",
        rate="100Gbps",
        values={
            "base_rtt": ("largest", "UE 1.0.3, 3.6.13.3: config_base_rtt"),
            "ack_every_bytes": (16_384, "UE 1.0.3, 3.5.12: ACK_Gen_Trigger"),
            "values": (256, "UE 1.0.3, 3.6.16.3: typical"),
            "UetQueue.limit": (1.0, f"{_SWITCH}: trim_threshold"),
            "low": (0.2, f"{_SWITCH}: min_thresh"),
            "high": (0.8, f"{_SWITCH}: max_thresh"),
            "Queueing.control_limit_bytes": (
                Scaled(150_000, rate="100Gbps", rtt="12us"),
                f"{_SWITCH}: drop_threshold, a BDP of the network",
            ),
            "payload_bytes": (MTU_BYTES - HEADER_BYTES, "uet-htsim"),
            "Scheme.header_bytes": (HEADER_BYTES, "uet-htsim"),
            "ack_bytes": (HEADER_BYTES, "uet-htsim"),
            "Queueing.trimmed_bytes": (HEADER_BYTES, "uet-htsim"),
            "timeout_ps": (0, "uet-htsim: 15 us and six queues"),
            "choice": ("mixed", "uet-htsim"),
            "tail_probability": (0.5, "uet-htsim"),
        },
    )
)

_NSCC: dict[str, tuple[Any, str]] = {
    "target": (0.75, "UE 1.0.3, 3.6.13.3: target_qdelay, with trimming"),
    "largest_window": (1.5, f"{_TABLE}: MaxWnd"),
    "proportional": (4.0, "UE 1.0.3, 3.6.13.3: alpha"),
    "fair": (5.0, f"{_TABLE}: fi"),
    "steady": (0.15, f"{_TABLE}: eta"),
    "gamma": (0.8, f"{_TABLE}: gamma"),
    "fast": (0.25, f"{_TABLE}: fi_scale"),
    "adjust_packets": (8, f"{_TABLE}: adjust_bytes_threshold"),
    "quick_share": (0.125, f"{_TABLE}: qa_gate"),
    "quick_delay": (_NEVER, "UE 1.0.3, 3.6.13.3: qa_threshold, off with trimming"),
    "gain": (0.0125, "uet-htsim"),
}
_CREDIT: dict[str, tuple[Any, str]] = {
    "marks_last_hop": (False, "UE 1.0.3, 3.6.14: no ECN at the last hop with receiver credit"),
    "unit_bytes": (256, "uet-htsim"),
    "units_per_pull": (64, "uet-htsim"),
    "rate": (0.99, "uet-htsim"),
    "largest": (1.5, "uet-htsim"),
    "divides_request": (True, "uet-htsim"),
    "oversubscription": (1.0, "UE 1.0.3, 3.6.14: for the core credit needs another mechanism; not named"),
}

UEC_1_0.add("nscc", partial(make_uet, "nscc", Nscc()), _NSCC | {"marks_last_hop": (True, _SWITCH)})
UEC_1_0.add("rccc", partial(make_uet, "rccc", ReceiverCredit()), _CREDIT)
UEC_1_0.add(
    "nscc-rccc",
    partial(make_uet, "nscc-rccc", Nscc(), ReceiverCredit()),
    _NSCC | _CREDIT | {"spares_last_hop": (True, "UE 1.0.3, 3.6.13.5: last-hop trims are left to the credit")},
)
