"""The registered schemes, each as in its own paper. Add new ones to their group.

`rdmacc.scheme(name)` returns these. A preset (one file each) has the schemes of one evaluation or simulator with the
parameters used there, so `rdmacc.preset("dart-2020")["dart"]` may differ from `rdmacc.scheme("dart")`.
"""

from dataclasses import replace
from functools import partial
from typing import Any

from rdmacc.presets.base import phost, preset
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

HPCC_RED = Red(kmin_bytes="100kB", kmax_bytes="400kB", pmax=0.2, reference_bps="25Gbps", at_dequeue=True)
_HPCC_STEP = EcnStep(kmin_bytes="30kB", reference_bps="10Gbps", at_dequeue=True)
_DCTCP_STEP = EcnStep(kmin_bytes=Scaled("22.5kB", rtt="60us", least="3kB"), reference_bps="10Gbps")
"""Dart, VI-A, at 10 Gb/s and 60 us: 0.3 BDP. DCTCP, section 3.4, requires more than a seventh; at least two packets."""
_DART_STEP = EcnStep(reference_bps="10Gbps", at_nic=True)
_DEFLECTION = FlowDeflection(threshold_bytes=Scaled("15kB", rate="10Gbps"))
"""Dart, VI-A, at 10 Gb/s: two thirds of the marking threshold, which follows the rate."""
_LANES = Queueing(lanes=5)  # lanes take turns on a link: one per possible deflection of a packet, plus the first
_POLO_STEP = EcnStep(kmin_bytes=Scaled("6kB", rate="40Gbps", rtt="8.4us", least="6kB"))
"""Polo's threshold is "small"; assumed: a seventh of a BDP, the least that keeps a link full (DCTCP, section 3.4), and
at least 4 packets."""
_SWIFT_RECOVERY = NewReno(min_timeout_ps=ms(1))
"""Without the paper's selective acknowledgments; the timeout is htsim's initial one."""
_INT = {"ack_bytes": 88, "ack_priority": DATA_CLASS}
"""An ACK of HPCC: 14 of link, 20 of IP, 12 of its own, 42 of records."""
_GRANTED: dict[str, Any] = {
    # A packet queued at a full port is not lost: 128 kB take 26 us at 40 Gb/s. On fast links, 3 base RTTs are less.
    "recovery": GrantClock(least_timeout_ps=Scaled("50us", rate="40Gbps", least="50us", is_time=True)),
    "buffer": DropTail(limit_bytes=Scaled("128kB", rate="40Gbps", least="128kB")),  # REN, 6
    "routing": "spray-random",
    "payload_bytes": 1460,
    "header_bytes": 40,
    "ack_bytes": 40,  # REN, 3.2.1: grants
}
_HOMA: dict[str, Any] = {"buffer": DropTail(), "routing": "spray-random", "nic_order": "srpt"}


def _register(name: str, about: str, **parts: Any) -> None:
    register_scheme(name, partial(Scheme, name=name, **parts), about=about)


# No congestion control, loss recovery alone

_register("line-rate", "no control: every sender sends at line rate", control=LineRate())

# DCQCN

_register("dcqcn", "cuts its rate when packets are marked (ECN), then recovers in steps", control=Dcqcn(), switch=Red())
_register("dcqcn-hpcc", "DCQCN as in HPCC's simulator", control=DcqcnHpcc(), switch=HPCC_RED)
_register("dcqcn-pri-q", "DCQCN, with short messages in a higher priority", control=(PriQ(), Dcqcn()), switch=Red())

# TIMELY

_register("timely", "adjusts its rate by the gradient of the RTT", control=Timely())
_register(
    "timely-patched",
    "TIMELY with the correction that gives it a unique fixed point",
    control=Timely(is_patched=True, beta=0.008),
)
_register("timely-hpcc", "TIMELY as in HPCC's simulator", control=TimelyHpcc())

# HPCC, PowerTCP

_register("hpcc", "sets its window from the telemetry that switches write into packets", control=Hpcc(), **_INT)
_register(
    "powertcp",
    "sets its window by the power of the busiest link: arrival rate times bytes in flight",
    control=PowerTcp(),
    **_INT,
)
_register(
    "theta-powertcp", "PowerTCP without telemetry: power from the delay and its gradient", control=ThetaPowerTcp()
)

# DCTCP, rate-based DCTCP

_register(
    "dctcp",
    "TCP that cuts its window by the fraction of marked packets",
    recovery=NewReno(),
    control=Dctcp(),
    switch=_DCTCP_STEP,
    buffer=DropTail(),
    payload_bytes=1460,
    header_bytes=58,  # Ethernet, IP and TCP without options
)
_register(
    "dctcp-hpcc",
    "rate-based DCTCP as in HPCC's simulator",
    control=DctcpHpcc(),
    switch=_HPCC_STEP,
    ack_priority=DATA_CLASS,
)

# InfiniBand congestion control, RCP, Swift

_register(
    "infiniband-cc",
    "spaces packets out when the root of congestion marks them (FECN, BECN)",
    control=InfinibandCc(),
    switch=Fecn(),
)
_register("rcp", "sends at the fair rate that links compute and stamp", control=Rcp(), switch=RcpStamp())
_register(
    "swift", "keeps the delay at a target by its window", recovery=_SWIFT_RECOVERY, control=Swift(), buffer=DropTail()
)

# Dart

_register(
    "dasr",
    "the receiver counts its senders and tells each its share immediately",
    control=(Dasr(), Dcqcn()),
    switch=_DART_STEP,
)
_register(
    "dasr-no-look-ahead",
    "DASR without the announcement of a group's senders by its first message",
    control=(Dasr(look_ahead=False), Dcqcn()),
    switch=_DART_STEP,
)
_register(
    "iofd",
    "DCQCN, with in-order deflection of flows around congestion",
    control=Dcqcn(),
    switch=(_DART_STEP, _DEFLECTION),
    queueing=_LANES,
)
_register(
    "dart",
    "DASR at the receiver, deflection around congestion inside the network",
    control=(Dasr(), Dcqcn()),
    switch=(_DART_STEP, _DEFLECTION),
    queueing=_LANES,
)

# REN, and related schemes from their descriptions: AMRT, Polo

_register(
    "ren",
    "the receiver grants packets according to queues and idle times reported by switches",
    control=Ren(),
    switch=RenMarker(),
    **_GRANTED,
)
_register(
    "amrt",
    "the receiver grants packets, and more if links report room",
    control=Amrt(),
    switch=AntiEcn(),
    **_GRANTED,
)
_register(
    "polo",
    "the receiver adds packets in flight until some are marked",
    switch=_POLO_STEP,
    **(_GRANTED | {"recovery": Polo()}),
)

# RCC

_register("rcc", "the receiver sets rates from its number of messages and the delay", control=Rcc())
_register("rcc-sender", "RCC's control loop at the sender", control=RccSender())
_register("rcc-ewa", "RCC with explicit window assignment only", control=Rcc(law="explicit"))
_register("rcc-pid", "RCC with the PID loop only", control=Rcc(law="pid"))
_register("rcc-async", "RCC with unsynchronised clocks: noise on each delay sample", control=Rcc(jitter_ps=us(0.5)))

# Credits and grants: ExpressPass, Homa, pHost, NDP, Aeolus

_register(
    "expresspass",
    "the receiver paces credits, and switches drop those that would overload a link",
    recovery=ExpressPass(),
    buffer=DropTail(limit_bytes=384_500),  # 250 full packets, as in the authors' simulator
    queueing=Queueing(credit_fraction=CREDIT_SHARE),
    routing="symmetric",
    payload_bytes=1460,
    header_bytes=78,
    least_wire_bytes=84,
    ack_bytes=84,
    ack_priority=DATA_CLASS,
)
_register("homa", "the receiver grants the shortest messages first, using network priorities", recovery=Homa(), **_HOMA)
_register(
    "homa-aeolus",
    "Homa, with a first burst of packets that switches drop before all others",
    recovery=HomaAeolus(),
    switch=SelectiveDrop(),
    **_HOMA,
)
register_scheme(
    "expresspass-aeolus",
    lambda: scheme("expresspass").replace(
        name="expresspass-aeolus", recovery=ExpressPassAeolus(), switch=(SelectiveDrop(threshold_bytes=4 * 1538),)
    ),
    about="ExpressPass, with a first burst without credit that switches drop before all others",
)
register_scheme("phost", phost, about="the receiver sends a token for each packet, shortest messages first")

_NDP_WINDOW = Scaled(150, rate="100Gbps", rtt="12us", payload="1000B", least=30)
"""A BDP; the paper's 30 packets are at least that in its network (evaluation)."""

register_scheme(
    "ndp",
    lambda: preset("ndp-2017")["ndp"].replace(
        initial_window=_NDP_WINDOW, timeout_ps=answer_timer("1ms"), pull_timeout_ps=answer_timer("10ms")
    ),
    about="switches trim packets to headers, and the receiver pulls the missing ones",
)


def _of(preset_name: str, name: str) -> Scheme:
    return preset(preset_name)[name]


# Ultra Ethernet: NSCC, receiver credit, both; EQDS

for _name, _about in {
    "nscc": "Ultra Ethernet: a window from delay and marks; packets are sprayed and trimmed",
    "rccc": "Ultra Ethernet: credit paced by the receiver; packets are sprayed and trimmed",
    "nscc-rccc": "Ultra Ethernet: window and credit together",
}.items():
    register_scheme(_name, partial(_of, "uet-htsim", _name), about=_about)


def _nscc_retire() -> Scheme:
    base = preset("uet-htsim")["nscc"]
    made = replace(base, name="nscc-retire", preset="", control=(Nscc(), Retirement()))
    return made.replace(reorder=1.75)  # base RTT and target delay


register_scheme(
    "nscc-retire",
    _nscc_retire,
    about="NSCC over many planes: retires a path on which a packet is lost, and probes it (inferred)",
)

_EQDS = {
    # 50 packets at 100 Gb/s and 14 us, as in csg-htsim; on faster or longer links that is less than a BDP.
    "ReceiverCredit.largest_bytes": Scaled("207.5kB", rate="100Gbps", rtt="14us", least="207.5kB"),
    "Uet.timeout_ps": answer_timer("219.72us"),  # 150 us and six queues of 35 packets, as in csg-htsim
}

register_scheme(
    "eqds",
    lambda: preset("eqds-htsim")["eqds"].replace(**_EQDS),
    about="credit paced by the receiver, trimmed packets first",
)

# Improved Go-Back-N: its loss recoveries, without congestion control; and IRN

for _name, _about in {
    "go-back-0": "after a loss, resends the whole message",
    "go-back-n": "after a loss, resends everything from the lost packet onwards",
    "send-twice": "go-back-N that sends a message's last packet twice",
    "check-epsn": "go-back-N whose receiver repeats its NAK on a timer",
    "improved-go-back-n": "go-back-N with the last packet sent twice and NAKs repeated on a timer",
}.items():
    register_scheme(_name, partial(_of, "igbn-2019", _name), about=_about)
_register(
    "irn",
    "selective repeat with a window of one BDP, without PFC",
    recovery=Irn(),
    control=LineRate(),
    buffer=DropTail(),
)
