"""No scheme loses or duplicates a byte, or hangs, when any one packet is lost: the k-th of each kind.

Add a receiver-driven scheme to `CASES`. Losses are on the link that leaves the packet's host.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import pandas as pd
import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.faults import ScriptedLoss
from rdmacc.schemes import Scheme, scheme
from tests.support import check_conservation, mostly_at_night

ENDS = 4
"""So many packets at either end of a message are each lost once, and one in twenty between them."""
MOST = 50


@dataclass(frozen=True)
class Trial:
    """A scheme, the kinds of packets that it sends, and what it carries: messages of which the first is hurt."""

    make: Callable[[], Scheme]
    kinds: tuple[str, ...]
    sizes: tuple[str, ...] = ("60kB", "60kB")

    @cached_property
    def scheme(self) -> Scheme:
        return self.make()

    @cached_property
    def work(self) -> pd.DataFrame:
        """Messages from one host each, all to h0, at the same time."""
        return rdmacc.messages([(f"h{i + 1}", "h0", size) for i, size in enumerate(self.sizes)])


CASES = {
    "expresspass": Trial(lambda: scheme("expresspass"), ("data", "credit", "request", "ack")),
    "expresspass, one packet": Trial(
        lambda: scheme("expresspass"), ("data", "credit", "request", "ack"), sizes=("100B",)
    ),
    "expresspass, paper": Trial(
        lambda: rdmacc.preset("expresspass-2017", "100Gbps")["expresspass-paper"], ("data", "credit", "request", "ack")
    ),
    "expresspass-aeolus": Trial(
        lambda: scheme("expresspass-aeolus", rtt_bytes="15kB"), ("data", "credit", "request", "ack")
    ),
    "homa": Trial(lambda: scheme("homa", rtt_bytes="10kB"), ("data", "credit", "ack")),
    "homa, unscheduled": Trial(lambda: scheme("homa"), ("data", "ack"), sizes=("5kB", "60kB")),
    "homa-aeolus": Trial(lambda: scheme("homa-aeolus", rtt_bytes="10kB"), ("data", "credit", "request", "ack")),
    "homa-aeolus, unscheduled": Trial(lambda: scheme("homa-aeolus"), ("data", "request", "ack"), sizes=("5kB", "60kB")),
    "ndp": Trial(lambda: scheme("ndp"), ("data", "ack", "nak", "credit"), sizes=("500kB", "500kB", "500kB")),
    "ndp, one packet": Trial(lambda: scheme("ndp"), ("data", "ack"), sizes=("100B",)),
    "nscc": Trial(lambda: scheme("nscc"), ("data", "ack"), sizes=("200kB", "200kB")),
    "rccc": Trial(lambda: scheme("rccc"), ("data", "ack", "credit"), sizes=("200kB", "200kB")),
    "nscc-rccc": Trial(lambda: scheme("nscc-rccc"), ("data", "ack", "credit"), sizes=("200kB", "200kB")),
    "eqds": Trial(lambda: scheme("eqds"), ("data", "ack", "credit"), sizes=("500kB", "500kB")),
    "nscc-retire": Trial(lambda: scheme("nscc-retire"), ("data", "ack"), sizes=("200kB", "200kB")),
    "nscc, one packet": Trial(lambda: scheme("nscc"), ("data", "ack"), sizes=("100B",)),
    "phost": Trial(lambda: scheme("phost"), ("data", "credit", "request", "ack"), sizes=("200kB", "200kB")),
    "phost, simulator": Trial(
        lambda: rdmacc.preset("phost-yaps")["phost"], ("data", "credit", "request", "ack"), sizes=("60kB", "60kB")
    ),
    "phost, one packet": Trial(lambda: scheme("phost"), ("data", "request", "ack"), sizes=("100B",)),
    "ren": Trial(lambda: scheme("ren"), ("data", "credit")),
    "ren, one packet": Trial(lambda: scheme("ren"), ("data", "credit"), sizes=("100B",)),
    "ren, literal": Trial(lambda: scheme("ren", reading="literal", keeps_one=False), ("data", "credit")),
    "amrt": Trial(lambda: scheme("amrt"), ("data", "credit")),
    "polo": Trial(lambda: scheme("polo"), ("data", "credit", "request", "advert")),
    "powertcp": Trial(lambda: scheme("powertcp", timeout_ps="100us", retry_limit=1000), ("data", "ack")),
    "theta-powertcp": Trial(lambda: scheme("theta-powertcp", timeout_ps="100us", retry_limit=1000), ("data", "ack")),
    "rcc": Trial(lambda: scheme("rcc", timeout_ps="100us", retry_limit=1000), ("data", "ack")),
    "rcc-sender": Trial(lambda: scheme("rcc-sender", timeout_ps="100us", retry_limit=1000), ("data", "ack")),
}

QUICK = ("expresspass", "homa-aeolus", "ndp", "phost", "ren", "rcc")
NAMES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.nightly) for name in CASES]
"""The cases, all but a few of them at night."""


def run(case, engine, faults=(), trace=False):
    """Run a case to its end; return the result."""
    net = rdmacc.star(len(case.work) + 1)
    return rdmacc.simulate(net, case.work, case.scheme, engine=engine, faults=faults, trace=trace, progress=False)


@cache
def sent_by_kind(name):
    """Return how many packets of each kind come through the first message's hosts' links when nothing is lost."""
    trace = run(CASES[name], "compiled", trace=True).packet_trace
    rows = trace[(trace["what"] == "arrived") & (trace["message"] == 0) & trace["node"].str.startswith("h")]
    return rows["kind"].value_counts().to_dict()


def check_whole(result):
    """Assert that every message has come, once, and that all bytes are accounted for."""
    flows = result.flows
    assert (flows["status"] == "finished").all()
    assert result.counters.accepted_bytes == flows["size_bytes"].sum()
    check_conservation(result)


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*one.values, kind, marks=one.marks) for one in NAMES for kind in CASES[one.values[0]].kinds],
)
def test_no_loss_of_one_packet_hurts(name, kind):
    case = CASES[name]
    count = sent_by_kind(name)[kind]
    assert count > 0
    for nth in (n for n in range(1, count + 1) if n <= ENDS or n > count - ENDS or n % 20 == 0):
        result = run(case, "compiled", [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind)])
        check_whole(result)
        assert result.ports["lost_packets"].sum() == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(CASES, every=7))
def test_engines_agree_on_losses(name):
    for kind in CASES[name].kinds:
        count = min(sent_by_kind(name)[kind], MOST)
        for nth in sorted({1, 2, count // 2 + 1, count}):
            faults = [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind)]
            one, other = (run(CASES[name], engine, faults, trace=True) for engine in ("simpy", "compiled"))
            assert differences(one.outcome, other.outcome) == []


@pytest.mark.parametrize("name", NAMES)
def test_two_losses_in_a_row_do_not_hurt(name):
    for kind in CASES[name].kinds:
        count = min(sent_by_kind(name)[kind], 5)
        for nth in range(1, count + 1):
            faults = [ScriptedLoss(message=0, psn=None, nth=k, kind=kind) for k in (nth, nth + 1)]
            check_whole(run(CASES[name], "compiled", faults))


@pytest.mark.parametrize("loss", [0.01, 0.2])
@pytest.mark.parametrize("name", NAMES)
def test_random_losses_do_not_hurt(name, loss):
    result = run(CASES[name], "compiled", [rdmacc.Loss(data=loss, control=loss)])
    check_whole(result)
