"""Compositions that only presets have, with their components' defaults: the presets' files name them as `bare`."""

from collections.abc import Callable
from functools import partial

from rdmacc.component import Component
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.go_back_0 import GoBack0
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.protocols.grant_clock import GrantClock
from rdmacc.protocols.improved_go_back_n import ImprovedGoBackN
from rdmacc.protocols.line_rate import LineRate
from rdmacc.protocols.ndp import Ndp
from rdmacc.protocols.nscc import Nscc
from rdmacc.protocols.path_choice import PathChoice
from rdmacc.protocols.permuted_paths import PermutedPaths, ScoredPaths
from rdmacc.protocols.phost import PHost
from rdmacc.protocols.pri_q import PriQ
from rdmacc.protocols.receiver_credit import ReceiverCredit
from rdmacc.protocols.send_twice import SendTwice
from rdmacc.protocols.uet import Uet
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import DropTail
from rdmacc.switch.queueing import Queueing
from rdmacc.switch.red import EcnStep
from rdmacc.switch.trimming import PayloadTrimming
from rdmacc.switch.uet_queue import UetQueue


def _ndp(paths: Component) -> Scheme:
    return Scheme(
        recovery=Ndp(), control=(paths,), switch=(PayloadTrimming(),), buffer=DropTail(),
        queueing=Queueing(returns_headers=True), routing="source", header_bytes=64, ack_bytes=64,
    )  # fmt: skip


def phost() -> Scheme:
    """Return pHost."""
    return Scheme(
        name="phost", recovery=PHost(), buffer=DropTail(limit_bytes=36_864), routing="spray-random", nic_order="srpt",
        payload_bytes=1460, header_bytes=40, ack_bytes=40,
    )  # fmt: skip


def _uet(*control: Component) -> Scheme:
    """Return delivery in any order with packets sprayed, under some control."""
    return Scheme(
        recovery=Uet(), control=(*control, PathChoice()), switch=(UetQueue(),), buffer=DropTail(), routing="entropy"
    )


def _recovery(kind: type[GoBackN]) -> Scheme:
    return Scheme(recovery=kind(), control=(LineRate(),))


BARE: dict[str, Callable[[], Scheme]] = {
    "dcqcn-step": lambda: Scheme(control=(Dcqcn(),), switch=(EcnStep(),)),
    "pri-q-step": lambda: Scheme(control=(PriQ(), Dcqcn()), switch=(EcnStep(),)),
    "go-back-0": partial(_recovery, GoBack0),
    "go-back-n": partial(_recovery, GoBackN),
    "send-twice": partial(_recovery, SendTwice),
    "check-epsn": partial(_recovery, CheckEpsn),
    "improved-go-back-n": partial(_recovery, ImprovedGoBackN),
    "ndp": lambda: _ndp(ScoredPaths()),
    "ndp-permuted": lambda: _ndp(PermutedPaths()),
    "phost": phost,
    "grants": lambda: Scheme(recovery=GrantClock(), buffer=DropTail(), ack_bytes=40),
    "nscc": lambda: _uet(Nscc()),
    "rccc": lambda: _uet(ReceiverCredit()),
    "nscc-rccc": lambda: _uet(Nscc(), ReceiverCredit()),
    "eqds": lambda: _uet(ReceiverCredit()),
}
