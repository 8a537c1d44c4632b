"""NCCL's files: tables of nccl-tests, its log, a CSV of collectives."""

import pytest

import rdmacc
from rdmacc.errors import ConfigError
from tests.support import refused

TABLE = """# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) validation: 1
#  Rank  0 Group  0 Pid  14213 on   node-01 device  0 [0x01] NVIDIA H100
node-01:14213:14219 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [receive] via NET/IB/0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    40.12    0.00    0.00      0    39.88    0.00    0.00      0
[1,0]<stdout>:  1073741824     268435456     float     sum      -1   9187.8  116.87  219.12      0   9073.4  118.34
  8589934592    2147483648     float     sum      -1    67689  126.90  237.94    N/A    67811  126.68  237.52    N/A
# Avg bus bandwidth    : 66.4834
"""
LOG = """node-a:10:11 [0] NCCL INFO comm 0x55 rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 - Init START
node-a:12:13 [1] NCCL INFO comm 0x56 rank 1 nranks 4 cudaDev 1 nvmlDev 1 busId 2000 - Init START
node-b:10:11 [0] NCCL INFO comm 0x57 rank 2 nranks 4 cudaDev 0 nvmlDev 0 busId 1000 - Init START
node-b:12:13 [1] NCCL INFO comm 0x58 rank 3 nranks 4 cudaDev 1 nvmlDev 1 busId 2000 - Init START
node-a:10:11 [0] NCCL INFO Channel 00/02 :    0   1   2   3
node-a:10:11 [0] NCCL INFO Channel 01/02 :    0   3   2   1
node-a:10:11 [0] NCCL INFO Trees [0] 1/2/-1->0->-1 [1] 1/-1/-1->0->2
node-a:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC
node-a:12:13 [1] NCCL INFO Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/1/GDRDMA
node-a:10:10 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1000 datatype 7 op 0 root 0 comm 0x55 \
[nranks=4] stream 0x9
node-a:12:12 [1] NCCL INFO AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1000 datatype 7 op 0 root 0 comm 0x56 \
[nranks=4] stream 0x9
node-a:10:10 [0] NCCL INFO AllGather: opCount 1f sendbuff 0x1 recvbuff 0x2 count 500 datatype 9 op 0 root 0 comm 0x55 \
[nranks=4] stream 0x9
"""


def written(tmp_path, text):
    path = tmp_path / "file.txt"
    path.write_text(text)
    return path


def test_a_table_of_nccl_tests_is_read_among_other_lines(tmp_path):
    table = rdmacc.from_nccl_tests(written(tmp_path, TABLE))
    assert table["size_bytes"].tolist() == [8, 2**30, 2**33]
    assert table["busbw_gbytes"].tolist() == [0.0, 219.12, 237.94]
    large = table.iloc[1]
    assert large["algbw_gbytes"] == pytest.approx(large["size_bytes"] / large["time_us"] / 1e3, rel=1e-3)
    refused(lambda: rdmacc.from_nccl_tests(written(tmp_path, LOG)), "nccl-tests")
    row = TABLE.splitlines()[-3]
    for wrong in (row.replace("9187.8", "9.187.8"), row.replace("1073741824", "9" * 30)):
        refused(lambda text=wrong: rdmacc.from_nccl_tests(written(tmp_path, text)), "nccl-tests")


def test_a_log_gives_rings_and_calls(tmp_path):
    log = rdmacc.from_nccl_log(written(tmp_path, LOG))
    assert (log.ranks, log.settings.hosts_per_node, log.settings.rings) == (4, 2, 2)
    assert log.rings["ranks"].tolist() == [(0, 1, 2, 3), (0, 3, 2, 1)]
    assert log.trees.to_numpy().tolist() == [[0, 0, -1], [1, 0, 2]]
    assert log.connections.to_numpy().tolist() == [[0, 0, 1, "P2P/IPC"], [0, 1, 2, "NET/IB/1/GDRDMA"]]
    assert log.calls["size_bytes"].tolist() == [4000, 4000, 4 * 500 * 2]
    result = rdmacc.simulate(rdmacc.star(4), log.workload(), "line-rate")
    table = result.collectives
    assert table["operation"].tolist() == ["all-reduce", "all-gather"]
    assert table["size_bytes"].tolist() == [4000, 4000]
    few = LOG.replace("9 op 0 root 0 comm 0x55 [nranks=4]", "9 op 0 root 0 comm 0x59 [nranks=2]")
    refused(lambda: rdmacc.from_nccl_log(written(tmp_path, few)).workload(), "among all")
    refused(lambda: rdmacc.from_nccl_log(written(tmp_path, LOG.split("node-a:10:10")[0])).workload(), "SUBSYS")
    refused(lambda: rdmacc.from_nccl_log(written(tmp_path, TABLE.split("node-01")[0])), "NCCL_DEBUG")


def test_a_call_without_elements_does_nothing(tmp_path):
    rest = LOG.replace("count 1000", "count 0")
    work = rdmacc.from_nccl_log(written(tmp_path, rest)).workload()
    assert work["operation"].dropna().unique().tolist() == ["all-gather"]


def test_the_rings_of_the_largest_communicator_are_used(tmp_path):
    small = "node-a:10:11 [0] NCCL INFO comm 0x59 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init START\n"
    small += "".join(f"node-a:10:11 [0] NCCL INFO Channel 0{channel}/03 : 0 1\n" for channel in range(3))
    logs = [rdmacc.from_nccl_log(written(tmp_path, text)) for text in (LOG, LOG + small)]
    assert logs[1].rings.equals(logs[0].rings)
    assert logs[1].settings == logs[0].settings


@pytest.mark.parametrize("ring", ["0   1   2   2", "0   1   2", "0   1   2   4"])
def test_a_ring_must_contain_each_rank_once(tmp_path, ring):
    refused(lambda: rdmacc.from_nccl_log(written(tmp_path, LOG.replace("0   1   2   3", ring))), "ring = ", "line 5")


@pytest.mark.parametrize("change", [("count 1000", f"count {'9' * 5000}"), ("[nranks=4]", "[nranks=99999999]")])
def test_a_call_of_impossible_size_is_an_error(tmp_path, change):
    refused(lambda: rdmacc.from_nccl_log(written(tmp_path, LOG.replace(*change))), "line 10")


def test_a_csv_of_collectives_runs_each_ranks_calls_in_order(tmp_path):
    calls = (("all-reduce", "40kB", 0), ("all-gather", "8kB", 500))
    rows = [(rank, op, size, f"{start + 7 * rank}us") for op, size, start in calls for rank in range(4)]
    text = "rank,op,size,start\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)
    work = rdmacc.from_collectives(written(tmp_path, text))
    result = rdmacc.simulate(rdmacc.star(4), work, "line-rate")
    assert result.collectives["operation"].tolist() == ["all-reduce", "all-gather"]
    sends = result.flows.assign(collective=work.loc[work["duration_ps"].isna(), "collective"].to_numpy())
    assert sends.groupby(["collective", "src"])["start_ps"].min().loc[1].min() >= 500_000_000
    assert sends["start_ps"].min() >= 7_000_000, "a rank's first message needs the next rank's buffer"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("rank,op", "op,rank"), "header"),
        (("all-reduce", "allreduce"), "op"),
        (("1MB", "0B"), "at least 1 byte"),
        (("1MB", "1XB"), "line 2"),
        (("0us", "-1us"), "line 2"),
        (("0,all-reduce", "x,all-reduce"), "line 2"),
        (("1,all-reduce,1MB,0us", "1,all-reduce,2MB,0us"), "line 3"),
        (("1,all-reduce,1MB,0us\n", ""), "at least 2"),
        ((",1MB,0us\n1", ",1MB\n1"), "4 values"),
    ],
)
def test_errors_in_a_csv_of_collectives(tmp_path, change, match):
    text = "rank,op,size,start\n0,all-reduce,1MB,0us\n1,all-reduce,1MB,0us\n"
    assert text.replace(*change) != text
    with pytest.raises(ConfigError, match=match):
        rdmacc.from_collectives(written(tmp_path, text.replace(*change)))
