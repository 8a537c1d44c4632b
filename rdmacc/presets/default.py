"""The registered schemes, each as in its own paper. Add new ones to their group.

`rdmacc.scheme(name)` returns these. A preset (one module each) has the schemes of one evaluation or simulator with the
parameters used there, so `rdmacc.preset("dart-2020")["dart"]` may differ from `rdmacc.scheme("dart")`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from rdmacc.presets.eqds_htsim import EQDS_HTSIM
from rdmacc.presets.igbn_2019 import IGBN_2019
from rdmacc.presets.ndp_2017 import NDP_2017
from rdmacc.presets.phost_2015 import make_phost
from rdmacc.presets.uet_htsim import UET_HTSIM
from rdmacc.protocols.aeolus import HomaAeolus
from rdmacc.protocols.amrt import Amrt
from rdmacc.protocols.dasr import Dasr
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.dcqcn_hpcc import DcqcnHpcc
from rdmacc.protocols.dctcp import Dctcp
from rdmacc.protocols.dctcp_hpcc import DctcpHpcc
from rdmacc.protocols.expresspass import CREDIT_SHARE, ExpressPass
from rdmacc.protocols.expresspass_aeolus import ExpressPassAeolus
from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.protocols.homa import Homa
from rdmacc.protocols.hpcc import Hpcc
from rdmacc.protocols.infiniband_cc import InfinibandCc
from rdmacc.protocols.irn import Irn
from rdmacc.protocols.line_rate import LineRate
from rdmacc.protocols.new_reno import NewReno
from rdmacc.protocols.nscc import Nscc
from rdmacc.protocols.polo import Polo
from rdmacc.protocols.powertcp import PowerTcp
from rdmacc.protocols.pri_q import PriQ
from rdmacc.protocols.rcc import Rcc
from rdmacc.protocols.rcc_sender import RccSender
from rdmacc.protocols.rcp import Rcp
from rdmacc.protocols.ren import Ren
from rdmacc.protocols.retirement import Retirement
from rdmacc.protocols.swift import Swift
from rdmacc.protocols.theta_powertcp import ThetaPowerTcp
from rdmacc.protocols.timely import Timely
from rdmacc.protocols.timely_hpcc import TimelyHpcc
from rdmacc.scaling import Scaled, answer_timer
from rdmacc.schemes import Scheme, register_scheme, scheme
from rdmacc.state import DATA_CLASS
from rdmacc.switch.anti_ecn import AntiEcn
from rdmacc.switch.buffer import DropTail
from rdmacc.switch.deflection import FlowDeflection
from rdmacc.switch.fecn import Fecn
from rdmacc.switch.queueing import Queueing
from rdmacc.switch.rcp_stamp import RcpStamp
from rdmacc.switch.red import EcnStep, Red
from rdmacc.switch.ren_marker import RenMarker
from rdmacc.switch.selective_drop import SelectiveDrop
from rdmacc.units import ms, us

__all__: list[str] = []

# No congestion control, loss recovery alone

register_scheme(
    "line-rate",
    lambda: Scheme(name="line-rate", control=(LineRate(),)),
    about="no control: every sender sends at line rate",
)

# DCQCN

HPCC_RED = Red(kmin_bytes="100kB", kmax_bytes="400kB", pmax=0.2, reference_bps="25Gbps", at_dequeue=True)

register_scheme(
    "dcqcn",
    lambda: Scheme(name="dcqcn", control=(Dcqcn(),), switch=(Red(),)),
    about="cuts its rate when packets are marked (ECN), then recovers in steps",
)
register_scheme(
    "dcqcn-hpcc",
    lambda: Scheme(name="dcqcn-hpcc", control=(DcqcnHpcc(),), switch=(HPCC_RED,)),
    about="DCQCN as in HPCC's simulator",
)

register_scheme(
    "dcqcn-pri-q",
    lambda: Scheme(name="dcqcn-pri-q", control=(PriQ(), Dcqcn()), switch=(Red(),)),
    about="DCQCN, with short messages in a higher priority",
)

# TIMELY

register_scheme(
    "timely",
    lambda: Scheme(name="timely", control=(Timely(),)),
    about="adjusts its rate by the gradient of the RTT",
)
register_scheme(
    "timely-patched",
    lambda: Scheme(name="timely-patched", control=(Timely(is_patched=True, beta=0.008),)),
    about="TIMELY with the correction that gives it a unique fixed point",
)
register_scheme(
    "timely-hpcc",
    lambda: Scheme(name="timely-hpcc", control=(TimelyHpcc(),)),
    about="TIMELY as in HPCC's simulator",
)

# HPCC

INT_ACK_BYTES = 88
"""An ACK of HPCC: 14 of link, 20 of IP, 12 of its own, 42 of records."""

register_scheme(
    "hpcc",
    lambda: Scheme(name="hpcc", control=(Hpcc(),), ack_bytes=INT_ACK_BYTES, ack_priority=DATA_CLASS),
    about="sets its window from the telemetry that switches write into packets",
)

# PowerTCP

register_scheme(
    "powertcp",
    lambda: Scheme(name="powertcp", control=(PowerTcp(),), ack_bytes=INT_ACK_BYTES, ack_priority=DATA_CLASS),
    about="sets its window by the power of the busiest link: arrival rate times bytes in flight",
)
register_scheme(
    "theta-powertcp",
    lambda: Scheme(name="theta-powertcp", control=(ThetaPowerTcp(),)),
    about="PowerTCP without telemetry: power from the delay and its gradient",
)

# DCTCP, rate-based DCTCP

DCTCP_STEP = EcnStep(kmin_bytes=Scaled("22.5kB", rtt="60us", least="3kB"), reference_bps="10Gbps")
"""Dart, VI-A, at 10 Gb/s and 60 us: 0.3 BDP. DCTCP, section 3.4, requires more than a seventh; at least two packets."""

register_scheme(
    "dctcp",
    lambda: Scheme(
        name="dctcp",
        recovery=NewReno(),
        control=(Dctcp(),),
        switch=(DCTCP_STEP,),
        buffer=DropTail(),
        payload_bytes=1460,
        header_bytes=58,  # Ethernet, IP and TCP without options
    ),
    about="TCP that cuts its window by the fraction of marked packets",
)

HPCC_STEP = EcnStep(kmin_bytes="30kB", reference_bps="10Gbps", at_dequeue=True)

register_scheme(
    "dctcp-hpcc",
    lambda: Scheme(name="dctcp-hpcc", control=(DctcpHpcc(),), switch=(HPCC_STEP,), ack_priority=DATA_CLASS),
    about="rate-based DCTCP as in HPCC's simulator",
)

# InfiniBand congestion control

register_scheme(
    "infiniband-cc",
    lambda: Scheme(name="infiniband-cc", control=(InfinibandCc(),), switch=(Fecn(),)),
    about="spaces packets out when the root of congestion marks them (FECN, BECN)",
)

# RCP

register_scheme(
    "rcp",
    lambda: Scheme(name="rcp", control=(Rcp(),), switch=(RcpStamp(),)),
    about="sends at the fair rate that links compute and stamp",
)

# Swift

SWIFT_RECOVERY = NewReno(min_timeout_ps=ms(1))
"""Without the paper's selective acknowledgments; the timeout is htsim's initial one."""

register_scheme(
    "swift",
    lambda: Scheme(name="swift", recovery=SWIFT_RECOVERY, control=(Swift(),), buffer=DropTail()),
    about="keeps the delay at a target by its window",
)

# Dart

DART_STEP = EcnStep(reference_bps="10Gbps", at_nic=True)
DART_DEFLECTION = FlowDeflection(threshold_bytes=Scaled("15kB", rate="10Gbps"))
"""VI-A, at 10 Gb/s: two thirds of the marking threshold, which follows the rate."""

register_scheme(
    "dasr",
    lambda: Scheme(name="dasr", control=(Dasr(), Dcqcn()), switch=(DART_STEP,)),
    about="the receiver counts its senders and tells each its share immediately",
)
register_scheme(
    "dasr-no-look-ahead",
    lambda: Scheme(name="dasr-no-look-ahead", control=(Dasr(look_ahead=False), Dcqcn()), switch=(DART_STEP,)),
    about="DASR without the announcement of a group's senders by its first message",
)

# Lanes take turns on a link: one per possible deflection of a packet, plus the first.
LANES = Queueing(lanes=5)

register_scheme(
    "iofd",
    lambda: Scheme(name="iofd", control=(Dcqcn(),), switch=(DART_STEP, DART_DEFLECTION), queueing=LANES),
    about="DCQCN, with in-order deflection of flows around congestion",
)
register_scheme(
    "dart",
    lambda: Scheme(name="dart", control=(Dasr(), Dcqcn()), switch=(DART_STEP, DART_DEFLECTION), queueing=LANES),
    about="DASR at the receiver, deflection around congestion inside the network",
)

# REN, and related schemes from their descriptions: AMRT, Polo

_granted = partial(
    Scheme,
    # A packet queued at a full port is not lost: 128 kB take 26 us at 40 Gb/s. On fast links, 3 base RTTs are less.
    recovery=GrantClock(least_timeout_ps=Scaled("50us", rate="40Gbps", least="50us", is_time=True)),
    buffer=DropTail(limit_bytes=Scaled("128kB", rate="40Gbps", least="128kB")),  # REN, 6
    routing="spray-random",
    payload_bytes=1460,
    header_bytes=40,
    ack_bytes=40,  # REN, 3.2.1: grants
)

register_scheme(
    "ren",
    lambda: _granted(name="ren", control=(Ren(),), switch=(RenMarker(),)),
    about="the receiver grants packets according to queues and idle times reported by switches",
)
register_scheme(
    "amrt",
    lambda: _granted(name="amrt", control=(Amrt(),), switch=(AntiEcn(),)),
    about="the receiver grants packets, and more if links report room",
)

POLO_STEP = EcnStep(kmin_bytes=Scaled("6kB", rate="40Gbps", rtt="8.4us", least="6kB"))
"""Polo's threshold is "small"; assumed: a seventh of a BDP, the least that keeps a link full (DCTCP, section 3.4), and
at least 4 packets."""

register_scheme(
    "polo",
    lambda: _granted(name="polo", recovery=Polo(), switch=(POLO_STEP,)),
    about="the receiver adds packets in flight until some are marked",
)

# RCC

register_scheme(
    "rcc",
    lambda: Scheme(name="rcc", control=(Rcc(),)),
    about="the receiver sets rates from its number of messages and the delay",
)
register_scheme(
    "rcc-sender",
    lambda: Scheme(name="rcc-sender", control=(RccSender(),)),
    about="RCC's control loop at the sender",
)
register_scheme(
    "rcc-ewa",
    lambda: Scheme(name="rcc-ewa", control=(Rcc(law="explicit"),)),
    about="RCC with explicit window assignment only",
)
register_scheme(
    "rcc-pid",
    lambda: Scheme(name="rcc-pid", control=(Rcc(law="pid"),)),
    about="RCC with the PID loop only",
)
register_scheme(
    "rcc-async",
    lambda: Scheme(name="rcc-async", control=(Rcc(jitter_ps=us(0.5)),)),
    about="RCC with unsynchronised clocks: noise on each delay sample",
)

# Credits and grants: ExpressPass, Homa, pHost, NDP, Aeolus

register_scheme(
    "expresspass",
    lambda: Scheme(
        name="expresspass",
        recovery=ExpressPass(),
        buffer=DropTail(limit_bytes=384_500),  # 250 full packets, as in the authors' simulator
        queueing=Queueing(credit_fraction=CREDIT_SHARE),
        routing="symmetric",
        payload_bytes=1460,
        header_bytes=78,
        least_wire_bytes=84,
        ack_bytes=84,
        ack_priority=DATA_CLASS,
    ),
    about="the receiver paces credits, and switches drop those that would overload a link",
)

register_scheme(
    "homa",
    lambda: Scheme(name="homa", recovery=Homa(), buffer=DropTail(), routing="spray-random", nic_order="srpt"),
    about="the receiver grants the shortest messages first, using network priorities",
)

register_scheme(
    "homa-aeolus",
    lambda: Scheme(
        name="homa-aeolus", recovery=HomaAeolus(), switch=(SelectiveDrop(),), buffer=DropTail(),
        routing="spray-random", nic_order="srpt",
    ), about="Homa, with a first burst of packets that switches drop before all others",)  # fmt: skip

register_scheme(
    "expresspass-aeolus",
    lambda: scheme("expresspass").replace(
        name="expresspass-aeolus", recovery=ExpressPassAeolus(), switch=(SelectiveDrop(threshold_bytes=4 * 1538),)
    ),
    about="ExpressPass, with a first burst without credit that switches drop before all others",
)
register_scheme(
    "phost",
    make_phost,
    about="the receiver sends a token for each packet, shortest messages first",
)
NDP_WINDOW = Scaled(150, rate="100Gbps", rtt="12us", payload="1000B", least=30)
"""A BDP; the paper's 30 packets are at least that in its network (evaluation)."""

register_scheme(
    "ndp",
    lambda: NDP_2017["ndp"].replace(
        initial_window=NDP_WINDOW, timeout_ps=answer_timer("1ms"), pull_timeout_ps=answer_timer("10ms")
    ),
    about="switches trim packets to headers, and the receiver pulls the missing ones",
)

# Ultra Ethernet: NSCC, receiver credit, both; EQDS

_UET_ABOUT = {
    "nscc": "Ultra Ethernet: a window from delay and marks; packets are sprayed and trimmed",
    "rccc": "Ultra Ethernet: credit paced by the receiver; packets are sprayed and trimmed",
    "nscc-rccc": "Ultra Ethernet: window and credit together",
}
for _name in UET_HTSIM:
    register_scheme(_name, partial(UET_HTSIM.__getitem__, _name), about=_UET_ABOUT[_name])


def _nscc_retire() -> Scheme:
    base = UET_HTSIM["nscc"]
    made = replace(base, name="nscc-retire", preset="", control=(Nscc(), Retirement()))
    return made.replace(reorder=1.75)  # base RTT and target delay


register_scheme(
    "nscc-retire",
    _nscc_retire,
    about="NSCC over many planes: retires a path on which a packet is lost, and probes it (inferred)",
)

EQDS_CREDIT = Scaled("207.5kB", rate="100Gbps", rtt="14us", least="207.5kB")
"""50 packets at 100 Gb/s and 14 us, as in csg-htsim; on faster or longer links that is less than a BDP."""
EQDS_TIMEOUT = answer_timer("219.72us")
"""150 us and six queues of 35 packets, as in csg-htsim."""

register_scheme(
    "eqds",
    lambda: EQDS_HTSIM["eqds"].replace(**{"ReceiverCredit.largest_bytes": EQDS_CREDIT, "Uet.timeout_ps": EQDS_TIMEOUT}),
    about="credit paced by the receiver, trimmed packets first",
)

# Improved Go-Back-N: its loss recoveries, without congestion control; and IRN

_IGBN_ABOUT = {
    "go-back-0": "after a loss, resends the whole message",
    "go-back-n": "after a loss, resends everything from the lost packet onwards",
    "send-twice": "go-back-N that sends a message's last packet twice",
    "check-epsn": "go-back-N whose receiver repeats its NAK on a timer",
    "improved-go-back-n": "go-back-N with the last packet sent twice and NAKs repeated on a timer",
}
for _name in IGBN_2019:
    register_scheme(_name, partial(IGBN_2019.__getitem__, _name), about=_IGBN_ABOUT[_name])
register_scheme(
    "irn",
    lambda: Scheme(name="irn", recovery=Irn(), control=(LineRate(),), buffer=DropTail()),
    about="selective repeat with a window of one BDP, without PFC",
)
