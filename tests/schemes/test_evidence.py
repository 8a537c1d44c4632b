"""Classes of evidence: what a parameter's value rests on."""

from __future__ import annotations

import pytest

import rdmacc
from rdmacc.presets import PRESETS
from rdmacc.schemes.evidence import CLASSES, evidence_of


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
def test_the_class_follows_from_the_words(source, expected):
    assert evidence_of(source) == expected


def test_every_class_occurs_and_rows_have_one():
    rows = [row["evidence"] for name in rdmacc.SCHEMES for row in rdmacc.scheme_table(name)]
    settings = [one.source for preset in PRESETS.values() for name in preset for one in preset.settings(name)]
    assert {*rows, *map(evidence_of, settings)} == CLASSES.keys()
