"""Chakra traces, encoded here by protobuf's rules: schedules worked out by hand, and files that are refused."""

import gzip

import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.formats import files, from_chakra
from tests.support import refused

US = 10**6
COMP, SEND, RECV, COLL = 4, 5, 6, 7


def varint(value):
    value &= 2**64 - 1  # a negative number takes ten bytes
    out = bytearray()
    while value >= 128:
        out.append(value % 128 + 128)
        value //= 128
    return bytes([*out, value])


def run(number, data):
    return varint(8 * number + 2) + varint(len(data)) + data


def plain(number, value):
    return varint(8 * number) + varint(value)


def node(name, kind, after=(), duration_us=0, is_packed=True, control=(), **attributes):
    """Return an encoded node; zeros are omitted, as in proto3, except inside an attribute."""
    data = plain(1, name) if name else b""
    data += plain(3, kind)
    if control:
        data += run(4, b"".join(map(varint, control)))
    if is_packed:
        data += run(5, b"".join(map(varint, after))) if after else b""
    else:
        data += b"".join(plain(5, other) for other in after)
    data += plain(7, duration_us) if duration_us else b""
    for key, value in attributes.items():
        content = run(29, value.encode()) if isinstance(value, str) else plain(9, value)
        data += run(10, run(1, key.encode()) + content)
    return data


@pytest.fixture
def write(tmp_path):
    def write(*ranks, zipped=False):
        for rank, nodes in enumerate(ranks):
            messages = (run(1, b"0.0.4"), *nodes)
            data = b"".join(varint(len(one)) + one for one in messages)
            (tmp_path / f"step.{rank}.et").write_bytes(gzip.compress(data) if zipped else data)
        return tmp_path / "step"

    return write


def times(work, engine):
    result = rdmacc.simulate(rdmacc.star(4), work, "line-rate", engine=engine)
    return result, {(row.src, row.dst): (row.start_ps, row.start_ps + row.fct_ps) for row in result.flows.itertuples()}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("sint", 1, -1), ("sint", 4, 2), ("int", 2**64 - 1, -1), ("uint", 2**64 - 1, 2**64 - 1),
        ("sfixed32", 2**31, -(2**31)), ("sfixed64", 2**63 - 1, 2**63 - 1),
        ("float", 0x3F800000, 1.0), ("double", 0x3FF8 << 48, 1.5), ("string", b"a", "a"),
    ],
)  # fmt: skip
def test_numbers_are_as_protobuf_encodes_them(kind, value, expected):
    """Zigzag, two's complement and IEEE 754: protobuf.dev, Encoding."""
    assert files.signed(kind, value) == expected
    with pytest.raises(ValueError, match="is expected"):
        files.signed(kind, 5 if kind == "string" else b"5")


@pytest.mark.parametrize(("data", "words"), [(b"\x0b", "wire type, 3"), (b"\x0d123", "truncated"), (b"\x80", "unterm")])
def test_damaged_messages_are_errors(data, words):
    with pytest.raises(ValueError, match=words):
        list(files.fields(data))


def test_a_node_has_the_bytes_that_protobuf_writes():
    encoded = node(5, COMP, after=[2], duration_us=10)
    assert (varint(len(encoded)) + encoded).hex(" ") == "09 08 05 18 04 2a 01 02 38 0a"


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_message_waits_for_computation_on_its_rank_and_gets_an_answer(write, engine, zipped, is_packed):
    there = [
        node(1, COMP, duration_us=120),
        node(2, SEND, [1], is_packed=is_packed, comm_dst=1, comm_tag=5, comm_size=4096),
        node(3, RECV, comm_src=1, comm_tag=6, comm_size=64),
    ]
    back = [
        node(0, RECV, comm_src=0, comm_tag=5, comm_size=4096),
        node(1, COMP, [0], duration_us=10),
        node(2, SEND, control=[1], comm_dst=0, comm_tag=6, comm_size=64),
    ]
    _, found = times(from_chakra(write(there, back, zipped=zipped)), engine)
    assert found["h0", "h1"][0] == 120 * US
    rows = [
        {"src": "h0", "dst": "h1", "size": 4096, "start": "120us"},
        {"src": "h1", "dst": "h0", "size": 64, "after": [0], "delay": "10us"},
    ]
    assert found == times(rdmacc.messages(rows), engine)[1]


def test_accelerator_computation_runs_one_at_a_time_and_beside_the_cpu(write, engine):
    ranks = [
        [
            node(1, COMP, duration_us=30), node(2, COMP, duration_us=40), node(3, COMP, duration_us=50, is_cpu_op=1),
            node(4, SEND, [1, 2], comm_dst=1, comm_size=1000), node(5, SEND, [3], comm_dst=2, comm_size=1000),
        ],
        [node(1, RECV, comm_src=0, comm_size=1000)],
        [node(1, RECV, comm_src=0, comm_size=1000)],
    ]  # fmt: skip
    _, found = times(from_chakra(write(*ranks)), engine)
    assert (found["h0", "h1"][0], found["h0", "h2"][0]) == (70 * US, 50 * US)


def test_a_collectives_first_messages_wait_for_both_ranks(write):
    ranks = [[node(1, COMP, duration_us=10 * rank + 1), node(2, COLL, [1], comm_type=0, comm_size=1 << 20)]
             for rank in range(4)]  # fmt: skip
    work = from_chakra(write(*ranks))
    result, _ = times(work, "compiled")
    first = result.flows.groupby("src", sort=True)["start_ps"].min()
    assert first.tolist() == [11 * US, 21 * US, 31 * US, 31 * US]
    assert result.flows["size_bytes"].sum() == 2 * 3 * (1 << 20)  # a ring: 2 (n - 1) S / n from each of n


WIRE_BYTES = {
    0: lambda n, s: 2 * (n - 1) * s,  # all-reduce, s: a rank's buffer
    2: lambda n, s: n * (n - 1) * s,  # all-gather, s: what one rank contributes
    5: lambda n, s: (n - 1) * s,  # broadcast
    6: lambda n, s: (n - 1) * s,  # all-to-all, s: what one rank has for all ranks, including itself
    7: lambda n, s: (n - 1) * s,  # reduce-scatter, s: a rank's input
    8: lambda n, s: (n - 1) * s,
}
"""Total bytes that cross the network, by comm_type, for n ranks and comm_size s, as in ASTRA-sim's rings."""


@pytest.mark.parametrize("members", [(0, 1), (0, 1, 2, 3), (1, 3)])
@pytest.mark.parametrize("kind", WIRE_BYTES)
def test_a_collective_sends_the_bytes_that_comm_size_means(write, kind, members):
    """Within its group, which some files, like PyTorch's, give in metadata."""
    listed = node(9, 1) + run(8, run(1, f'[\'[{{"pg_name": "7", "ranks": {list(members)}}}]\']'.encode()))
    ranks = [
        [listed, node(1, COLL, comm_type=kind, comm_size=1 << 20, pg_name="7")] if rank in members else []
        for rank in range(4)
    ]
    work = from_chakra(write(*ranks))
    assert work["size_bytes"].sum() == WIRE_BYTES[kind](len(members), 1 << 20)
    assert set(work["src"][work["size_bytes"] > 0]) | set(work["dst"]) == {f"h{rank}" for rank in members}


@pytest.mark.parametrize("first", [
    [node(1, COMP, control=(77,), duration_us=5, is_cpu_op=1)],  # calls missing from the file
    [node(1, COLL, duration_us=5, is_cpu_op=1)],  # the CPU side of the kernel
    [node(1, COLL, duration_us=5, is_cpu_op=1, comm_type=0, comm_size=1 << 20)],
])  # fmt: skip
def test_a_profiled_collective_runs_once_after_its_call(write, first):
    kernel = node(2, COLL, [1], control=(77,), comm_type=0, comm_size=1 << 20, is_cpu_op=0)
    result, _ = times(from_chakra(write(*[[*first, kernel]] * 4)), "compiled")
    assert result.collectives["start_ps"].tolist() == [5 * US]


def test_collectives_of_a_cpu_without_kernels_run(write):
    work = from_chakra(write(*[[node(1, COLL, comm_type=0, comm_size=4096, is_cpu_op=1)]] * 2))
    assert work["size_bytes"].sum() == 2 * 4096


@pytest.mark.parametrize(
    ("first", "rates", "start_us"),
    [
        (node(0, 2, tensor_size=10**6), {"memory_rate": "1Tbps"}, 8),
        (node(0, 3, tensor_size=10**6, duration_us=3), {"memory_rate": "1Tbps"}, 3),
        (node(0, 2, tensor_size=10**6), {}, "memory_rate"),
        (node(0, COMP, num_ops=10**9), {"operations_per_second": 1e14}, 10),
        (node(0, COMP, num_ops=10**9, tensor_size=10**7), {"operations_per_second": 1e14, "memory_rate": "4Tbps"}, 20),
        (node(0, COMP, num_ops=10**9), {"memory_rate": "4Tbps"}, "operations_per_second"),
        (node(0, COMP, tensor_size=10**9), {}, 0),
        (node(0, 2, tensor_size=2**61), {"memory_rate": "1Mbps"}, "few enough"),
        (node(0, 2), {"memory_rate": 0}, "memory_rate = 0"),
    ],
)
def test_memory_and_operations_without_a_duration_take_time_by_their_rates(write, first, rates, start_us):
    """The longer of size over memory_rate and operations over the peak rate: the roofline."""
    path = write(*[[first, node(1, COLL, [0], comm_type=0, comm_size=4096)]] * 4)
    if isinstance(start_us, str):
        with pytest.raises(ConfigError, match=start_us):
            from_chakra(path, **rates)
        return
    result, _ = times(from_chakra(path, **rates), "compiled")
    assert result.collectives["start_ps"].tolist() == [start_us * US]


@pytest.mark.parametrize(
    ("ranks", "match"),
    [
        ([[node(1, COLL, comm_type=9, comm_size=1)]], r"comm_type = '9 \(barrier\)' .*: must be one of 0"),
        ([[node(1, COMP, [7], duration_us=1)]], r"dependency = 7 .*: must be the id of a node of the same file"),
        ([[node(1, COMP, duration_us=1), node(1, COMP, duration_us=1)]], r"id = 1 .*: must be unique"),
        ([[node(1, SEND, comm_dst=5, comm_size=1)], []], r"comm_dst = 5 .*: must be a whole number from 0 to 1"),
        ([[node(1, 11)]], r"type = '?11"),
        ([[node(1, COMP, num_ops=5)]], "duration_micros"),
        ([[node(1, COLL, comm_type=0, comm_size=8, pg_name="tp")]], "pg_name = 'tp'"),
        ([[node(1, SEND, comm_dst=1, comm_size=1)], []], "step.0.et"),
        ([[node(1, COMP, duration_us=3)[:-1] + b"\x80"]], "a Chakra trace"),
    ],
)
def test_errors_in_a_trace_name_the_file_and_the_problem(write, ranks, match):
    with pytest.raises(ConfigError, match=match) as caught:
        from_chakra(write(*ranks))
    assert "step.0.et" in str(caught.value)


def test_all_ranks_must_have_a_file(write):
    path = write([node(1, COMP, duration_us=1)], [])
    (path.parent / "step.0.et").unlink()
    refused(lambda: from_chakra(path), "followed by .0.et")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_raw_pytorch_trace_is_recognised(tmp_path, pack):
    path = tmp_path / "trace.json"
    path.write_bytes(pack(b' {"schema": "1.1.0", "nodes": []}'))
    refused(lambda: from_chakra(path), "a JSON trace", "chakra_converter")
