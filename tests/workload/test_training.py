"""A training step: the bytes of the worked 7B example, and times against closed forms."""

from __future__ import annotations

import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.models.alpha_beta import AlphaBeta
from rdmacc.workload import Nccl
from rdmacc.workload.training import LLAMA_7B, MIXTRAL_8X7B, TrainingStep, Transformer

HOSTS = [f"h{rank}" for rank in range(64)]
SMALL = Transformer(hidden=64, layers=4, mlp=128, vocabulary=512)


def volume(step: TrainingStep) -> dict[str, tuple[int, int, int]]:
    return {row.what: (row.calls, row.buffer_bytes, row.sent_bytes) for row in step.volumes().itertuples()}


def test_models_have_their_parameters():
    assert LLAMA_7B.layer_parameters == 202_383_360
    assert LLAMA_7B.parameters_in_all == 6_738_415_616
    assert TrainingStep(data=8).routed_bytes == 0
    assert LLAMA_7B.forward_flop(4096) / 400e12 == pytest.approx(4.83e-3, rel=1e-3)
    assert MIXTRAL_8X7B.parameters_in_all == pytest.approx(46.70e9, rel=1e-4)
    assert MIXTRAL_8X7B.expert_parameters == pytest.approx(176.2e6, rel=1e-3)


def test_the_worked_example_has_its_bytes():
    assert volume(TrainingStep(data=64)) == {"gradients, all-reduce": (106, 13_476_831_232, 26_532_511_488)}
    sharded = TrainingStep(data=64, optimizer="sharded", gradient_bytes=4)
    assert volume(sharded) == {
        "gradients, reduce-scatter": (106, 26_953_662_464, 26_532_511_488),
        "parameters, all-gather": (106, 13_476_831_232, 13_266_255_744),
    }
    assert {size * 4 for size in sharded.bucket_sizes(0)[:-1]} == {256_000_000}
    node = Nccl(hosts_per_node=8)
    tensor = volume(TrainingStep(data=8, tensor=8, nccl=node))
    assert tensor["tensor parallel, all-reduce"][:2] == (128, 128 * 33_554_432)
    assert tensor["gradients, all-reduce"][1:] == (1_684_603_904, 2_948_056_832)
    stages = TrainingStep(data=8, pipeline=8)
    assert sum(stages.stage_parameters(3)) == 809_533_440
    assert sum(stages.stage_parameters(0)) - 809_533_440 == 131_072_000
    assert volume(stages)["activations, send"] == (1, 33_554_432, 33_554_432)
    sharded = volume(TrainingStep(data=64, optimizer="fsdp"))
    assert sum(sent for _, _, sent in sharded.values()) == pytest.approx(3 * 63 / 64 * 13.4768e9, rel=1e-4)
    experts = volume(TrainingStep(model=MIXTRAL_8X7B, data=8, experts=8))
    assert experts["experts, all-to-all"][:2] == (128, 128 * 67_108_864)


@pytest.mark.parametrize(
    "change",
    [
        {"data": 8},
        {"data": 8, "optimizer": "sharded", "gradient_bytes": 4},
        {"data": 8, "optimizer": "fsdp"},
        {"data": 4, "tensor": 2},
        {"data": 2, "pipeline": 4, "micro_batches": 3},
        {"data": 2, "pipeline": 2, "micro_batches": 4},
        {"data": 8, "experts": 4, "model": Transformer(hidden=64, layers=4, mlp=128, vocabulary=512, experts=8, top=2)},
    ],
    ids=str,
)
def test_messages_are_the_bytes_that_were_announced(change):
    """By rank, to the byte for each chunk: the schedule against the sums."""
    step = TrainingStep(**{"model": SMALL, "sequence": 256, "bucket": 20_000} | change)
    work = step.workload(HOSTS)
    sends = work[work["size_bytes"] > 0]
    first = [f"h{rank}" for rank in range(step.data * step.tensor)]
    sent = sends[sends["src"].isin(first)].groupby("src")["size_bytes"].sum()
    assert sent.to_numpy() == pytest.approx(step.volumes()["sent_bytes"].sum(), rel=2e-3)
    waited_for = {row for after in work["after"] for row in after}
    stage_of = {host: rank // (step.data * step.tensor) for rank, host in enumerate(HOSTS)}
    assert set(sends.index[sends["src"].map(stage_of) != sends["dst"].map(stage_of)]) <= waited_for


def test_the_schedule_of_the_worked_example_sends_those_bytes():
    work = TrainingStep(data=8, bucket=10**9).workload(HOSTS)
    sent = work.groupby("src")["size_bytes"].sum()
    assert sent["h0"] == volume(TrainingStep(data=8))["gradients, all-reduce"][2]


def test_a_pipeline_has_its_bubble(engine):
    """(m + p - 1) (f + b) + 2 (p - 1) T, with as many micro-batches as keep every stage busy."""
    step = TrainingStep(model=SMALL, sequence=256, pipeline=4, micro_batches=4, flops=1e11)
    result = rdmacc.simulate(rdmacc.star(4), step.workload(HOSTS), "line-rate", engine=engine, progress=False)
    forward_ps = 1e12 * SMALL.forward_flop(256) / 1e11
    transfer = AlphaBeta(ranks=2, scheme="line-rate")
    one_ps = transfer.alpha_ps + step.activation_bytes * 1.048 * 80
    expected = (4 + 3) * 3 * forward_ps + 2 * 3 * one_ps
    assert result.computation["end_ps"].max() == pytest.approx(expected, rel=0.01)
    assert len(result.flows) == 2 * 3 * 4


def test_buckets_hide_under_the_backward_pass(engine):
    """Overlapping, all but the last bucket are hidden where computation is long; otherwise all-reduce follows it."""
    times = {}
    for overlaps in (True, False):
        model = SMALL.replace(vocabulary=16)
        step = TrainingStep(model=model, sequence=256, data=4, bucket=20_000, overlaps=overlaps, flops=2e9)
        result = rdmacc.simulate(rdmacc.star(4), step.workload(HOSTS), "line-rate", engine=engine, progress=False)
        times[overlaps] = result.now_ps - int(result.computation["end_ps"][result.computation["duration_ps"] > 0].max())
    assert times[True] < 0.5 * times[False]


def test_a_layer_stops_where_a_bucket_inside_it_is_full():
    """A layer of 41,088 parameters has one part with large buckets, and three or four with buckets of 12,000."""

    def parts(bucket):
        work = TrainingStep(model=SMALL, sequence=256, data=4, bucket=bucket).workload(HOSTS)
        return work.loc[work["src"] == "h0", "duration_ps"].dropna()

    whole, split = parts(10**9), parts(12_000)
    assert len(split) > 3 * len(whole)
    assert split.sum() == pytest.approx(whole.sum(), abs=len(split))


def test_exchange_between_gpus_of_a_node_takes_its_closed_form():
    """Twice a layer and direction, 2 (t - 1) steps of the latency and a share of the activations."""
    nccl = Nccl(hosts_per_node=4)
    alone, shared = (
        TrainingStep(model=SMALL, sequence=256, tensor=tensor, nccl=nccl, flops=1e12 / tensor) for tensor in (1, 4)
    )
    one, other = (
        work[work["src"] == "h0"]["duration_ps"].sum() for work in (alone.workload(HOSTS), shared.workload(HOSTS))
    )
    step_ps = nccl.inner_delay_ps + shared.activation_bytes / 4 * 8e12 / nccl.inner_rate_bps
    assert other - one == pytest.approx(4 * SMALL.layers * 2 * 3 * step_ps, rel=1e-6)


def test_a_straggler_holds_everyone_up(engine):
    work = TrainingStep(model=SMALL, sequence=256, data=4, flops=1e11).workload(HOSTS)
    slow = work.copy()
    slow.loc[(slow["src"] == "h2") & slow["duration_ps"].notna(), "duration_ps"] *= 2
    one, other = (rdmacc.simulate(rdmacc.star(4), each, "line-rate", engine=engine).now_ps for each in (work, slow))
    computing = int(work[work["src"] == "h2"]["duration_ps"].sum())
    assert other - one == pytest.approx(computing, rel=0.05)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"pipeline": 3}, "a divisor of the 32 layers"),
        ({"data": 6, "experts": 4, "model": MIXTRAL_8X7B}, "a divisor of 6 replicas"),
        ({"data": 6, "experts": 3, "model": MIXTRAL_8X7B}, "the model's 8 experts"),
        ({"optimizer": "fsdp", "pipeline": 2}, "without pipeline"),
        ({"tensor": 3, "nccl": Nccl(hosts_per_node=8)}, "the 8 GPUs of a node"),
        ({"scale": 0.5}, "scale"),
    ],
)
def test_wrong_steps_are_errors(change, match):
    with pytest.raises(ConfigError, match=match):
        TrainingStep(**change)
    with pytest.raises(ConfigError, match="at least 64"):
        TrainingStep(data=64).workload(HOSTS[:8])
