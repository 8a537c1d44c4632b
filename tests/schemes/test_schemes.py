"""Schemes: composition, registered names, parameters by name, their table.

Classes of evidence: the basis of a parameter's value.
"""

import pickle

import pytest

import rdmacc
from rdmacc import ConfigError, DropTail, Scheme, register_scheme, scheme, scheme_table
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.protocols.line_rate import LineRate
from rdmacc.schemes import SCHEMES, as_scheme
from rdmacc.schemes.evidence import evidence_of
from rdmacc.units import us
from tests.support import refused


def test_schemes_are_values():
    """Two of the same name are equal, have equal hashes, survive pickling, and show their parts in the repr."""
    for name in SCHEMES:
        one, two = scheme(name), scheme(name)
        assert one == two
        assert hash(one) == hash(two)
        assert pickle.loads(pickle.dumps(one)) == one
        assert all(type(part).__name__ in repr(one) for part in (*one.components, one.buffer))
        assert "payload_bytes=7" in repr(one.replace(payload_bytes=7))


def test_queue_pairs_are_shared_if_needed_or_chosen():
    assert scheme("dcqcn", connection="pair").is_pairwise
    assert not scheme("dasr", connection="message").is_pairwise
    refused(lambda: scheme("dcqcn", connection="kept"), "connection = 'kept'", "one of auto, message, pair")


@pytest.mark.parametrize("name", sorted(SCHEMES))
def test_messages_of_one_queue_pair_finish_or_are_refused(name):
    work = rdmacc.messages([("h1", "h0", "30kB")] * 3).assign(queue_pair=0)
    if scheme(name).one_message:
        refused(lambda: rdmacc.simulate(rdmacc.star(3), work, name), "column = 'queue_pair'", "carries one message")
        refused(lambda: scheme(name, connection="pair"), "connection = 'pair'", "'message'")
    else:
        result = rdmacc.simulate(rdmacc.star(3), work, name, engine="simpy", until="50ms")
        assert (result.flows["status"] == "finished").all()


def test_replace_finds_the_owner():
    changed = scheme("dcqcn").replace(
        g=1 / 16, kmin_bytes="10kB", timeout_ps="1ms", name="mine", ack_bytes=60, **{"Pfc.headroom_bytes": "50kB"}
    )
    assert changed.control[0].g == 1 / 16
    assert changed.switch[0].kmin_bytes == 10_000
    assert changed.recovery.timeout_ps == us(1000)
    assert changed.buffer.headroom_bytes == 50_000
    assert (changed.name, changed.ack_bytes) == ("mine", 60)
    original = scheme("dcqcn")
    assert (original.control[0].g, original.name) == (1 / 256, "dcqcn")


def test_replace_accepts_whole_components():
    changed = scheme("dcqcn", buffer=DropTail(), control=LineRate(), switch=())
    assert changed.components == (GoBackN(), LineRate())
    assert changed.replace(**{"DropTail.alpha": 0.25}).buffer == DropTail(alpha=0.25)


def test_ambiguous_and_unknown_names():
    with pytest.raises(ConfigError, match=r"component: 'Dcqcn\.reference_bps' or 'Red\.reference_bps'$"):
        scheme("dcqcn", reference_bps="25Gbps")
    changed = scheme("dcqcn", **{"Red.reference_bps": "25Gbps", "Scheme.ack_bytes": 60})
    assert (changed.control[0].reference_bps, changed.switch[0].reference_bps, changed.ack_bytes) == (40e9, 25e9, 60)
    refused(lambda: scheme("dcqcn", kmean=1), "one of ack_bytes, ")


@pytest.mark.parametrize(
    ("name", "parameter", "meant"),
    [
        ("dcqcn", "alpha", "must be named with its component: 'Pfc.alpha'"),
        ("swift", "alpha", "must be named with its component: 'DropTail.alpha'"),
        ("rcp", "alpha", "must be named with its component: 'RcpStamp.alpha' or 'Pfc.alpha'"),
        ("dcqcn", "lanes", "must be named with its component: 'Queueing.lanes'"),
        ("dcqcn", "kmin_byte", "did you mean 'kmin_bytes'"),
        ("dcqcn", "Pcf.alpha", "did you mean 'Pfc.alpha'"),
        ("dcqcn", "DropTail.alpha", "did you mean 'Pfc.alpha'"),
        ("dcqcn", "reference_bp", "did you mean 'Dcqcn.reference_bps' or 'Red.reference_bps'"),
        ("dcqcn", "Dcqcn.kmin_bytes", "did you mean 'kmin_bytes'"),
    ],
)
def test_an_ambiguous_name_is_refused_with_a_suggestion(name, parameter, meant):
    error = refused(lambda: scheme(name, **{parameter: 1}))
    assert (error.field, error.value) == (f"parameter of scheme {name!r}", parameter)
    assert meant in error.allowed


def test_as_scheme():
    mine = Scheme(name="mine")
    assert as_scheme(mine) is mine
    assert as_scheme("dcqcn") == scheme("dcqcn")
    for wrong in (None, 5, ["dcqcn"], Dcqcn()):
        refused(lambda: as_scheme(wrong), "scheme")
    for wrong in ("DCQCN", "dcqn", ["dcqcn"]):
        refused(lambda: scheme(wrong), "a Scheme or the name of one; did you mean ", "'dcqcn'")
    for wrong in ("", None):
        refused(lambda: scheme(wrong), "a Scheme or the name of one: line-rate, dcqcn")


def test_register():
    register_scheme("test-lossy", lambda: Scheme(name="test-lossy", buffer=DropTail()))
    try:
        assert scheme("test-lossy", **{"DropTail.alpha": 2.0}).buffer.alpha == 2.0
        work = rdmacc.messages([("h0", "h1", 1000)])
        assert rdmacc.simulate(rdmacc.star(2), work, "test-lossy", engine="simpy").plan.scheme.name == "test-lossy"
        refused(lambda: register_scheme("test-lossy", Scheme), "scheme name = 'test-lossy': must not be registered yet")
        assert scheme("test-lossy").name == "test-lossy"
        register_scheme("test-lossy", Scheme, replace=True)
        assert scheme("test-lossy").name == "custom"
    finally:
        del SCHEMES["test-lossy"]
    for wrong in ("", None, 3):
        refused(lambda: register_scheme(wrong, Scheme), "scheme name")


def test_the_table_lists_every_parameter_with_its_source():
    rows = scheme_table(scheme("dcqcn", g=1 / 16))
    by_name = {(row["component"], row["parameter"]): row for row in rows}
    assert len(by_name) == len(rows)
    assert by_name["Dcqcn", "g"]["value"] == 1 / 16
    assert by_name["Dcqcn", "cnp_interval_ps"]["value"] == us(50)
    assert by_name["Dcqcn", "cnp_interval_ps"]["unit"] == "ps"
    assert by_name["Red", "kmax_bytes"]["symbol"] == "K_max"
    assert by_name["Pfc", "alpha"]["source"] == "HPCC simulator"
    assert ("Scheme", "payload_bytes") in by_name
    assert all(row["doc"] for row in rows)


@pytest.mark.parametrize(
    ("name", "features"),
    [(name, feature) for name in ("dcqcn", "infiniband-cc") for feature in ("ecn", "cnp", "pfc")]
    + [("dasr", "ecn"), ("nscc", "ecn"), ("polo", "ecn"), ("line-rate", "pfc")],
)
def test_a_scheme_without_a_feature_shows_no_trace_of_it(name, features):
    """An incast into a small buffer, which causes marks, pauses and notifications under the full scheme."""
    network = rdmacc.star(9, buffer="600kB")
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "150kB")
    found = []
    for made in (scheme(name), scheme(name).without(features)):
        result = rdmacc.simulate(network, work, made, engine="simpy", trace=True, until="3ms", progress=False)
        found.append({
            "ecn": result.ports["marked_packets"].sum(), "pfc": result.counters["pfc_pauses"],
            "cnp": (result.packet_trace["kind"] == "cnp").sum(),
        }[features])  # fmt: skip
    assert found[0] > 0 == found[1]


def test_only_existing_features_can_be_left_out():
    assert scheme("dcqcn").without() == scheme("dcqcn")
    assert scheme("dcqcn").without("pfc", "ecn") == scheme("dcqcn").without("ecn", "pfc")
    for name, feature in (("nscc", "pfc"), ("hpcc", "ecn"), ("hpcc", "cnp")):
        with pytest.raises(ConfigError, match=f"feature of {name} = '{feature}': must be one that the scheme has"):
            scheme(name).without(feature)
    refused(lambda: scheme("dcqcn").without("ECN"), "did you mean 'ecn'")

    class Policer(rdmacc.Component):
        def on_enqueue(params, port, packet):
            packet.ce = 1
            packet.verdict = 0

    with pytest.raises(ConfigError, match="feature ecn = 'Policer': must be a component that only marks"):
        scheme("line-rate", switch=Policer()).without("ecn")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("DCQCN, fig. 5", "paper"),
        ("UE 1.0.3, 3.5.12: ACK_Gen_Trigger", "paper"),
        ("CCTI_Increase", "paper"),
        ("RFC 8257, 4.2", "paper"),
        ("paper; YAPS, capability_timeout", "paper"),
        ("section 3.3; rdma-hw.cc: 0.95", "paper"),
        ("rdma-hw.cc; algorithm 2: once in an RTT", "declared"),
        ("L2_ACK_INTERVAL", "declared"),
        ("RCP ns-2 code; Dart", "declared"),
        ("uet-htsim: 1.5 BDP", "declared"),
        ("", "declared"),
        ("Mellanox's manual; 0 in Gran et al.", "vendor"),
        ("5.1: a port of the testbed's switches has one queue", "measured"),
        ("6; assumed: for each port", "assumed"),
    ],
)
def test_the_class_follows_from_the_wording(source, expected):
    assert evidence_of(source) == expected
