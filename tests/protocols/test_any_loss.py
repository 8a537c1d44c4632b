"""Losing any one packet, the k-th of each kind, makes no scheme lose or duplicate a byte, or hang.

Add new receiver-driven schemes to `CASES`. Packets are lost on the link that leaves their host.
"""

from functools import cache

import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.faults import ScriptedLoss
from tests.support import check_conservation, mostly_at_night

ENDS = 4
"""Each packet this close to either end of a message is lost once, and one in twenty in between."""
MOST = 50


QUICK = {"timeout_ps": "100us", "retry_limit": 1000}
CREDITED = "data credit request ack"
CASES = {
    "expresspass": ("expresspass", {}, CREDITED, "60kB 60kB"),
    "expresspass, one packet": ("expresspass", {}, CREDITED, "100B"),
    "expresspass, paper": (
        rdmacc.preset("expresspass-2017", "100Gbps")["expresspass-paper"],
        {},
        CREDITED,
        "60kB 60kB",
    ),
    "expresspass-aeolus": ("expresspass-aeolus", {"rtt_bytes": "15kB"}, CREDITED, "60kB 60kB"),
    "homa": ("homa", {"rtt_bytes": "10kB"}, "data credit ack", "60kB 60kB"),
    "homa, unscheduled": ("homa", {}, "data ack", "5kB 60kB"),
    "homa-aeolus": ("homa-aeolus", {"rtt_bytes": "10kB"}, CREDITED, "60kB 60kB"),
    "homa-aeolus, unscheduled": ("homa-aeolus", {}, "data request ack", "5kB 60kB"),
    "ndp": ("ndp", {}, "data ack nak credit", "500kB 500kB 500kB"),
    "ndp, one packet": ("ndp", {}, "data ack", "100B"),
    "nscc": ("nscc", {}, "data ack", "200kB 200kB"),
    "rccc": ("rccc", {}, "data ack credit", "200kB 200kB"),
    "nscc-rccc": ("nscc-rccc", {}, "data ack credit", "200kB 200kB"),
    "eqds": ("eqds", {}, "data ack credit", "500kB 500kB"),
    "nscc-retire": ("nscc-retire", {}, "data ack", "200kB 200kB"),
    "nscc, one packet": ("nscc", {}, "data ack", "100B"),
    "phost": ("phost", {}, CREDITED, "200kB 200kB"),
    "phost, simulator": (rdmacc.preset("phost-yaps")["phost"], {}, CREDITED, "60kB 60kB"),
    "phost, one packet": ("phost", {}, "data request ack", "100B"),
    "ren": ("ren", {}, "data credit", "60kB 60kB"),
    "ren, one packet": ("ren", {}, "data credit", "100B"),
    "ren, literal": ("ren", {"reading": "literal", "keeps_one": False}, "data credit", "60kB 60kB"),
    "amrt": ("amrt", {}, "data credit", "60kB 60kB"),
    "polo": ("polo", {}, "data credit request advert", "60kB 60kB"),
    "powertcp": ("powertcp", QUICK, "data ack", "60kB 60kB"),
    "theta-powertcp": ("theta-powertcp", QUICK, "data ack", "60kB 60kB"),
    "rcc": ("rcc", QUICK, "data ack", "60kB 60kB"),
    "rcc-sender": ("rcc-sender", QUICK, "data ack", "60kB 60kB"),
}
"""Scheme and changes, kinds of packets it sends, and messages from one host each to h0, the first of which is hit.
"""
BY_DAY = ("expresspass", "homa-aeolus", "ndp", "phost", "ren", "rcc")
NAMES = [pytest.param(name, marks=() if name in BY_DAY else pytest.mark.nightly) for name in CASES]


def kinds_of(name):
    return CASES[name][2].split()


def run(name, engine, faults=(), trace=False):
    scheme, changes, _, sizes = CASES[name]
    scheme = rdmacc.scheme(scheme, **changes) if isinstance(scheme, str) else scheme
    work = rdmacc.messages([(f"h{i + 1}", "h0", size) for i, size in enumerate(sizes.split())])
    net = rdmacc.star(len(work) + 1)
    return rdmacc.simulate(net, work, scheme, engine=engine, faults=faults, trace=trace, progress=False)


@cache
def sent_by_kind(name):
    """Return how many packets of each kind cross the links of the first message's hosts when nothing is lost."""
    trace = run(name, "compiled", trace=True).packet_trace
    rows = trace[(trace["what"] == "arrived") & (trace["message"] == 0) & trace["node"].str.startswith("h")]
    return rows["kind"].value_counts().to_dict()


def check_whole(result):
    """Assert that every message was delivered once and that all bytes are accounted for."""
    flows = result.flows
    assert (flows["status"] == "finished").all()
    assert result.counters.accepted_bytes == flows["size_bytes"].sum()
    check_conservation(result)


@pytest.mark.parametrize(
    ("name", "kind"),
    [pytest.param(*one.values, kind, marks=one.marks) for one in NAMES for kind in kinds_of(one.values[0])],
)
def test_any_single_loss_is_recovered_when_compiled(name, kind):
    count = sent_by_kind(name)[kind]
    assert count > 0
    for nth in (n for n in range(1, count + 1) if n <= ENDS or n > count - ENDS or n % 20 == 0):
        result = run(name, "compiled", [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind)])
        check_whole(result)
        assert result.ports["lost_packets"].sum() == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(CASES, every=7))
def test_engines_agree_on_losses(name):
    for kind in kinds_of(name):
        count = min(sent_by_kind(name)[kind], MOST)
        for nth in sorted({1, 2, count // 2 + 1, count}):
            faults = [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind)]
            one, other = (run(name, engine, faults, trace=True) for engine in ("simpy", "compiled"))
            assert differences(one.outcome, other.outcome) == []


@pytest.mark.parametrize("name", NAMES)
def test_two_consecutive_losses_are_recovered_when_compiled(name):
    for kind in kinds_of(name):
        count = min(sent_by_kind(name)[kind], 5)
        for nth in range(1, count + 1):
            faults = [ScriptedLoss(message=0, psn=None, nth=k, kind=kind) for k in (nth, nth + 1)]
            check_whole(run(name, "compiled", faults))


@pytest.mark.parametrize("loss", [0.01, 0.2])
@pytest.mark.parametrize("name", NAMES)
def test_random_losses_are_recovered_when_compiled(name, loss):
    result = run(name, "compiled", [rdmacc.Loss(data=loss, control=loss)])
    check_whole(result)
