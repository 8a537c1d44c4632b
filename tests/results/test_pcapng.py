"""pcapng files, read back by scapy and by Wireshark's dissector."""

from functools import partial

import networkx as nx
import pytest

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.interface import NUM_CLASSES
from rdmacc.results.pcapng import write_pcapng
from tests.support import refused

scapy_utils = pytest.importorskip("scapy.utils", reason="scapy is not installed")

from scapy.contrib.roce import AETH, BTH, CNP_OPCODE  # noqa: E402
from scapy.layers.inet import IP, UDP  # noqa: E402
from scapy.layers.l2 import Ether  # noqa: E402

QP = 16


@pytest.fixture(scope="module")
def lossy():
    """Return the result of one 6-packet message, the last packet short, with a loss."""
    work = rdmacc.messages([("h0", "h1", 5_002)])
    return rdmacc.simulate(
        rdmacc.topology.igbn_pair(), work, "line-rate", engine="simpy", faults=[ScriptedLoss(message=0, psn=3)],
        trace=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def marked():
    """Return the result of an incast with marks, CNPs and PFC."""
    scheme = rdmacc.scheme("dcqcn").replace(kmin_bytes="5kB", kmax_bytes="5kB", **{"Pfc.alpha": 0.005})
    work = rdmacc.incast(["h1", "h2", "h3"], "h0", "100kB")
    result = rdmacc.simulate(rdmacc.star(4, buffer="2MB"), work, scheme, engine="simpy", trace=True, until="60us")
    assert result.counters["cnps"] > 0
    assert result.counters["pfc_pauses"] > 0
    return result


def mac_address(node):
    return f"02:00:00:00:00:{node + 1:02x}"


def ip_address(node):
    return f"10.0.0.{node + 1}"


def read(path):
    return list(scapy_utils.rdpcap(str(path)))


def test_each_packet_has_the_bytes_that_scapy_gives_it(marked, lossy, tmp_path):
    for result in (marked, lossy):
        write_pcapng(result, tmp_path / "x.pcapng")
        compared = set()
        for packet in read(tmp_path / "x.pcapng"):
            if BTH not in packet:
                continue
            written = bytes(packet)
            del packet[BTH].icrc, packet[IP].chksum  # scapy computes missing fields
            assert bytes(packet) == written
            compared.add((packet[BTH].opcode, packet[BTH].psn))
        assert len(compared) > 5


def seen(result, node):
    trace = result.packet_trace
    leaves = (trace["what"] == "sent") & (trace["node"] == node)
    return trace[leaves | ((trace["what"] == "arrived") & (trace["peer"] == node))]


def test_round_trip_at_a_node(lossy, tmp_path):
    path = tmp_path / "h0.pcapng"
    rows = seen(lossy, "h0")
    assert write_pcapng(lossy, path, node="h0") == len(rows)
    packets = read(path)
    assert len(packets) == len(rows)
    fabric = lossy.plan.fabric
    src, dst, switch = (fabric.index[name] for name in ("h0", "h1", "s0"))
    opcodes = {0: 0x06, 5: 0x08}
    for packet, row in zip(packets, rows.itertuples(), strict=True):
        assert round(packet.time * 10**9) == row.time_ps // 1000
        assert packet[UDP].dport == 4791
        assert packet[BTH].dqpn == QP
        is_data = row.kind == "data"
        ends = (src, dst) if is_data else (dst, src)
        assert (packet[IP].src, packet[IP].dst) == tuple(map(ip_address, ends))
        here = (src, switch) if is_data else (switch, src)
        assert (packet[Ether].src, packet[Ether].dst) == tuple(map(mac_address, here))
        assert packet[IP].tos >> 2 == row.priority
        assert packet[IP].tos & 3 == (2 if is_data else 0)
        if is_data:
            assert packet[BTH].opcode == opcodes.get(row.psn, 0x07)
            assert packet[BTH].psn == row.psn
            assert packet[BTH].padcount == (2 if row.psn == 5 else 0)
            assert packet[IP].len == 20 + 8 + 12 + {0: 1016, 5: 4}.get(row.psn, 1000) + 4
        else:
            assert packet[BTH].opcode == 0x11
            assert packet[AETH].syndrome == (0x60 if row.kind == "nak" else 0x1F)
            assert packet[BTH].psn == row.psn - (row.kind == "ack")
    assert "nak" in set(rows["kind"])
    assert "ack" in set(rows["kind"])


def test_a_lost_packet_is_seen_only_before_the_loss(lossy, tmp_path):
    def times(**place):
        path = tmp_path / "capture.pcapng"
        write_pcapng(lossy, path, **place)
        return sum(packet[BTH].opcode != 0x11 and packet[BTH].psn == 3 for packet in read(path))

    assert times(link=("h0", "s0")) == 2
    assert times(link=("s0", "h0")) == 1
    assert times(node="h1") == 1
    assert times(node="s0") == 2  # in and out
    assert times() == 3


def test_the_snap_length_preserves_the_true_length(lossy, tmp_path):
    path = tmp_path / "snap.pcapng"
    write_pcapng(lossy, path, link=("h0", "s0"), snap_bytes=60)
    data = [packet for packet in read(path) if packet[BTH].opcode == 0x07]
    assert data
    assert {(len(packet.original), packet.wirelen) for packet in data} == {(60, 14 + 20 + 8 + 12 + 1000 + 4)}


def test_a_link_of_the_longest_names_is_written_and_a_longer_name_refused(tmp_path):
    for first, longest in (("a" * 32_767, "é" * 16_383), ("a", "b" * 32_768)):
        net = nx.relabel_nodes(rdmacc.star(2), {"h0": longest, "s0": first})
        result = rdmacc.simulate(net, rdmacc.messages([("h1", longest, 1)]), "line-rate", trace=True)
        if len(longest) < 32_768:
            assert write_pcapng(result, tmp_path / "x") > 0
        else:
            refused(partial(write_pcapng, result, tmp_path / "y"), "node = 'bbb", "at most 32767 bytes")


def test_marks_cnps_and_pause_frames(marked, tmp_path):
    path = tmp_path / "s0.pcapng"
    rows = seen(marked, "s0")
    assert write_pcapng(marked, path, node="s0") == len(rows)
    packets, of_message = read(path), {}
    for packet, row in zip(packets, rows.itertuples(), strict=True):
        if row.kind in ("pause", "resume"):
            assert packet[Ether].type == 0x8808
            assert packet[Ether].dst == "01:80:c2:00:00:01"
            body = bytes(packet[Ether].payload)
            assert body[:4] == bytes([1, 1, 0, 1 << NUM_CLASSES - 1 - row.psn])
            assert any(body[4:20]) == (row.kind == "pause")
        else:
            assert (packet[IP].tos & 3 == 3) == row.ce
            assert (packet[BTH].opcode == CNP_OPCODE) == (row.kind == "cnp")
            of_message.setdefault(packet[UDP].sport, set()).add(row.message)
            if row.kind == "cnp":
                assert packet[BTH].becn == 1
    assert sorted(map(list, of_message.values())) == [[0], [1], [2]], "one source port per message"
    assert rows["ce"].any()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"node": "h9"}, "node"),
        ({"link": ("h0", "h1")}, "port"),
        ({"link": "h0-s0"}, "link"),
        ({"node": "h0", "link": ("h0", "s0")}, "node and link"),
        ({"snap_bytes": 0}, "snap_bytes"),
        ({"node": ["h0"]}, "node"),
        ({"path": None}, "path"),
        ({"path": "none/x.pcapng"}, "path"),
    ],
)
def test_wrong_arguments(lossy, tmp_path, options, field):
    refused(lambda: write_pcapng(lossy, **{"path": tmp_path / "x.pcapng"} | options), field)
    assert not (tmp_path / "x.pcapng").exists()


def test_a_packet_larger_than_ip_has_is_refused(tmp_path):
    scheme = rdmacc.scheme("line-rate", payload_bytes=70_000)
    for size, words in ((65_472, None), (65_473, "payload_bytes = 65473")):
        result = rdmacc.simulate(rdmacc.star(2), rdmacc.messages([("h0", "h1", size)]), scheme, trace=True)
        if words:
            refused(partial(write_pcapng, result, tmp_path / "x"), words)
        else:
            assert write_pcapng(result, tmp_path / "x") > 0
