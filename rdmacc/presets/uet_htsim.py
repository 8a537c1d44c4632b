"""Ultra Ethernet's transport as uet-htsim runs it (`main_uec.cpp`): NSCC, receiver credit, both.

What depends on the network is computed from it: windows, queues, thresholds and timers follow the largest base RTT. A
fat tree is store and forward; switches have a queue for each port and no shared buffer. The completion time there is
that of the ACK: `acked_ps` of a message.
"""

from __future__ import annotations

from functools import partial

from rdmacc.component import Component
from rdmacc.presets.base import Preset, define
from rdmacc.protocols.nscc import Nscc
from rdmacc.protocols.path_choice import PathChoice
from rdmacc.protocols.receiver_credit import ReceiverCredit
from rdmacc.protocols.uet import Uet
from rdmacc.scaling import Scaled
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import DropTail
from rdmacc.switch.uet_queue import UetQueue

MTU_BYTES, HEADER_BYTES = 4150, 64


def make_uet(name: str, *control: Component) -> Scheme:
    """Return delivery in any order with packets sprayed, under some control."""
    return Scheme(
        name=name,
        recovery=Uet(),
        control=(*control, PathChoice()),
        switch=(UetQueue(),),
        buffer=DropTail(),
        routing="entropy",
    )


UET_HTSIM = define(
    Preset(
        "uet-htsim",
        "Ultra Ethernet in uet-htsim",
        rate="100Gbps",
        values={
            "payload_bytes": (MTU_BYTES - HEADER_BYTES, "main_uec.cpp: 4,150 B, 64 B of it header"),
            "Scheme.header_bytes": (HEADER_BYTES, "uecpacket.h: 64 B"),
            "ack_bytes": (HEADER_BYTES, "uecpacket.h: ACK, NACK, PULL and RTS have 64 B"),
            "Queueing.trimmed_bytes": (HEADER_BYTES, "uecpacket.h: 64 B"),
            "base_rtt": ("largest", "main_uec.cpp: network_max_unloaded_rtt"),
        },
    )
)

UET_HTSIM.add("nscc", partial(make_uet, "nscc", Nscc()), {})
UET_HTSIM.add(
    "rccc",
    partial(make_uet, "rccc", ReceiverCredit()),
    {
        "marks_last_hop": (False, "fat_tree_topology.cpp: not with receiver credit"),
        "oversubscription": (
            Scaled(1.0, oversubscription=1.0),
            "main_uec.cpp: that of the network; the control is on if it exceeds 1 and there is no NSCC",
        ),
    },
)
UET_HTSIM.add(
    "nscc-rccc",
    partial(make_uet, "nscc-rccc", Nscc(), ReceiverCredit()),
    {
        "marks_last_hop": (False, "fat_tree_topology.cpp: not with receiver credit"),
        "spares_last_hop": (True, "uec.cpp: last-hop trims are left to the credit"),
    },
)
