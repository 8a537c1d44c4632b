"""A transformer's training step under data, tensor, pipeline and expert parallelism: computations and messages.

=================  ================================================================================================
data               gradients are reduced in buckets, last layer first; with overlap, each as soon as its last gradient
                   is ready. The collectives of a group run one at a time
tensor             four blocking all-reduces per layer and micro-batch: two forward, two backward. Inside a node, their
                   time is added to the computation's
pipeline           stages in 1F1B order; activations and their gradients between neighbours
experts            four blocking all-to-alls per layer and micro-batch; routing is balanced
=================  ================================================================================================

Ranks are ordered by tensor, then data, then pipeline, so that a tensor group consists of consecutive hosts.

The optimizer takes no time. Parameters of a sharded optimizer are gathered at the end of the step, not during the next
forward pass. Facts: Megatron-LM's rules for buckets and parallel groups; 2 FLOP per parameter and token.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import check_types
from rdmacc.interface import Parameters, param
from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Hosts, Objects, as_objects, checked_hosts
from rdmacc.workload.nccl import Nccl, Ready, expand
from rdmacc.workload.schedule import Schedule

_MOST_BUCKETS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Transformer(Parameters):
    """A transformer model, by the dimensions that determine its sizes.

    >>> Transformer().parameters_in_all, Transformer().layer_parameters
    (6738415616, 202383360)
    """

    hidden: int = param(4096, "width", symbol="h", low=1, high=1_000_000)
    layers: int = param(32, "layers", low=1, high=10_000)
    mlp: int = param(11_008, "inner width of the MLP, or of an expert", low=1, high=1_000_000)
    mlp_matrices: int = param(3, "matrices of hidden x mlp; 2 without gates", low=1, high=10)
    vocabulary: int = param(32_000, "words", low=1, high=10_000_000)
    key_values: float = param(1.0, "key-value heads per query head", low=0.0, high=1.0)
    tied: bool = param(False, "whether the head shares the embedding's weights")
    experts: int = param(1, "experts per layer; 1 for a dense model", low=1, high=10_000)
    top: int = param(1, "experts per token", low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top > self.experts:
            raise ConfigError("top", self.top, f"at most the {self.experts} experts of a layer")

    @property
    def attention_parameters(self) -> int:
        """Attention parameters of a layer: four matrices, and two norms."""
        return round((2 + 2 * self.key_values) * self.hidden**2) + 2 * self.hidden

    @property
    def expert_parameters(self) -> int:
        """Parameters of a layer's MLP, or of one of its experts."""
        return self.mlp_matrices * self.hidden * self.mlp

    @property
    def layer_parameters(self) -> int:
        """Parameters of a layer, including all its experts."""
        router = self.experts * self.hidden if self.experts > 1 else 0
        return self.attention_parameters + router + self.experts * self.expert_parameters

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the embedding, and of the head if it is separate."""
        return self.vocabulary * self.hidden

    @property
    def parameters_in_all(self) -> int:
        """All parameters: layers, embedding, head, and the last norm."""
        return self.layers * self.layer_parameters + (2 - self.tied) * self.embedding_parameters + self.hidden

    def forward_flop(self, sequence: int, sequences: int = 1) -> float:
        """Return the FLOP of a layer's forward pass: matrices, and attention without the masked half."""
        active = self.attention_parameters - 2 * self.hidden + self.top * self.expert_parameters
        return sequences * (2.0 * active * sequence + 4.0 * sequence**2 * self.hidden)


LLAMA_7B = Transformer()
"""Touvron et al., Llama, 2023: 32 layers of 4096, MLP of 11,008."""

MIXTRAL_8X7B = Transformer(mlp=14_336, key_values=0.25, experts=8, top=2)
"""Jiang et al., Mixtral of experts, 2024."""


@dataclass(frozen=True, kw_only=True)
class TrainingStep(Parameters):
    """A training step: one forward and backward pass over all micro-batches, and the update.

    >>> step = TrainingStep(data=64)
    >>> step.ranks, step.volumes()["sent_bytes"].tolist()
    (64, [26532511488])
    """

    model: Transformer = field(default_factory=Transformer)
    """The model."""
    data: int = param(1, "replicas, which reduce their gradients with each other", symbol="DP", low=1, high=1_000_000)
    tensor: int = param(1, "ranks that share a layer's matrices", symbol="TP", low=1, high=1_000_000)
    pipeline: int = param(1, "pipeline stages", symbol="PP", low=1, high=1_000_000)
    experts: int = param(1, "ranks of a replica group that share the experts", symbol="EP", low=1, high=10_000)
    sequence: int = param(4096, "tokens", symbol="s", low=1, high=100_000_000)
    micro_batch: int = param(1, "sequences per micro-batch", low=1, high=1_000_000)
    micro_batches: int = param(1, "micro-batches per step", symbol="m", low=1, high=100_000)
    flops: float = param(400e12, "FLOP/s of a GPU", low=1.0)
    backward: float = param(2.0, "work of a backward pass relative to a forward pass", low=0.0, high=1000.0)
    optimizer: Literal["all-reduce", "sharded", "fsdp"] = param(
        "all-reduce", "how replicas synchronise; sharded: reduce to shards, gather parameters; fsdp: shard those too",
        choices=("all-reduce", "sharded", "fsdp"),
    )  # fmt: skip
    gradient_bytes: int = param(2, "size of a gradient on the network; 2 is bf16, 4 is fp32", low=1, high=64)
    parameter_bytes: int = param(2, "size of a parameter or an activation on the network", low=1, high=64)
    bucket: int = param(0, "parameters per bucket; 0: max(40 M, 1 M per replica)", low=0, source="Megatron-LM")
    overlaps: bool = param(True, "reduce each bucket as soon as it is ready; otherwise all of them at the end")
    scale: float = param(1.0, "divide sizes and times by this, for a smaller stand-in", low=1.0)
    nccl: Nccl = field(default_factory=Nccl)
    """How collectives run; `node` is the number of GPUs per node, whose tensor parallelism uses the inner network."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_types(self)
        if self.model.layers % self.pipeline:
            raise ConfigError("pipeline", self.pipeline, f"a divisor of the {self.model.layers} layers")
        if self.data % self.experts or self.model.experts % self.experts:
            allowed = f"a divisor of {self.data} replicas and of the model's {self.model.experts} experts"
            raise ConfigError("experts", self.experts, allowed)
        if self.optimizer == "fsdp" and (self.pipeline > 1 or self.model.experts > 1 or self.micro_batches > 1):
            raise ConfigError("optimizer", "fsdp", "used without pipeline stages, experts or several micro-batches")
        gpus = self.nccl.hosts_per_node
        if gpus % self.tensor and self.tensor % gpus:
            raise ConfigError("tensor", self.tensor, f"a divisor or a multiple of the {gpus} GPUs of a node")

    @property
    def ranks(self) -> int:
        """Number of GPUs."""
        return self.data * self.tensor * self.pipeline

    @property
    def stage_layers(self) -> int:
        """Layers of a pipeline stage."""
        return self.model.layers // self.pipeline

    @property
    def activation_bytes(self) -> int:
        """Bytes that a layer passes to the next one, per micro-batch."""
        return self.sequence * self.micro_batch * self.model.hidden * self.parameter_bytes

    @property
    def routed_bytes(self) -> int:
        """Bytes of a rank's tokens on their way to their experts."""
        return self.activation_bytes * self.model.top if self.model.experts > 1 else 0

    def stage_parameters(self, stage: int) -> list[int]:
        """Return a rank's parameters that all replicas hold, in the order in which their gradients become ready.

        The head (0 if there is none), the layers from last to first, the embedding.
        """
        model, last = self.model, self.pipeline - 1
        shared = model.layer_parameters - (model.experts * model.expert_parameters if model.experts > 1 else 0)
        ends = model.embedding_parameters
        head = (0 if model.tied else ends) + model.hidden if stage == last else 0
        parts = [head, *[shared] * self.stage_layers, ends if stage == 0 else 0]
        return [round(part / self.tensor) for part in parts]

    @property
    def expert_share(self) -> int:
        """Parameters of a rank's experts per layer."""
        if self.model.experts == 1:
            return 0
        return self.model.experts // self.experts * self.model.expert_parameters // self.tensor

    def bucket_sizes(self, stage: int) -> list[int]:
        """Return the parameters of each bucket of a pipeline stage."""
        total = sum(self.stage_parameters(stage))
        size = self.bucket or max(40_000_000, 1_000_000 * self.data)
        if not self.overlaps:
            return [total]
        if total > _MOST_BUCKETS * size:
            raise ConfigError("bucket", size, f"at least {total // _MOST_BUCKETS + 1}: a stage has {total} parameters")
        return [min(size, total - first) for first in range(0, total, size)]

    def volumes(self) -> pd.DataFrame:
        """Return the traffic of a rank of the first stage in a step: `what, calls, buffer_bytes, sent_bytes`.

        Buffers are summed over the calls. Sent is the minimum for any algorithm: 2 (n - 1) / n of an
        all-reduce's buffer, (n - 1) / n of the others'.
        """
        times, replicas = self.micro_batches * self.stage_layers, self.data
        gradients = sum(self.stage_parameters(0))
        rows: list[tuple[str, int, int, float]] = []

        def add(what: str, calls: int, buffer: int, ranks: int, factor: float = 1.0) -> None:
            if calls and buffer and ranks > 1:
                rows.append((what, calls, buffer, factor * (ranks - 1) / ranks * buffer))

        buckets = len(self.bucket_sizes(0))
        if self.optimizer == "all-reduce":
            add("gradients, all-reduce", buckets, gradients * self.gradient_bytes, replicas, 2.0)
        elif self.optimizer == "sharded":
            add("gradients, reduce-scatter", buckets, gradients * self.gradient_bytes, replicas)
            add("parameters, all-gather", buckets, gradients * self.parameter_bytes, replicas)
        else:
            add("gradients, reduce-scatter", self.stage_layers, gradients * self.gradient_bytes, replicas)
            add("parameters, all-gather", 2 * self.stage_layers, 2 * gradients * self.parameter_bytes, replicas)
        add("tensor parallel, all-reduce", 4 * times, 4 * times * self.activation_bytes, self.tensor, 2.0)
        add("experts, all-to-all", 4 * times, 4 * times * self.routed_bytes, self.experts)
        owned = self.stage_layers * self.expert_share * self.gradient_bytes
        add("experts' gradients, all-reduce", self.stage_layers, owned, replicas // self.experts, 2.0)
        if self.pipeline > 1:
            crossing = self.micro_batches * self.activation_bytes // self.tensor
            rows.append(("activations, send", self.micro_batches, crossing, crossing))
        frame = pd.DataFrame(rows, columns=["what", "calls", "buffer_bytes", "sent_bytes"])
        return frame.astype({"sent_bytes": "int64", "buffer_bytes": "int64"})

    def workload(self, hosts: Hosts) -> pd.DataFrame:
        """Return the step's workload on hosts, one for each rank; a network stands for its hosts in order."""
        names = checked_hosts(hosts)
        if len(names) < self.ranks:
            raise ConfigError("hosts", f"{len(names)} hosts", f"at least {self.ranks}, one for each rank")
        return _schedule(self, as_objects(names[: self.ranks])).frame()


class _Stage:
    """Adds the rows of a pipeline stage to a schedule; arrays of rows have one entry per rank."""

    def __init__(self, step: TrainingStep, schedule: Schedule, number: int, names: Objects) -> None:
        self.step, self.schedule, self.number, self.names = step, schedule, number, names
        self.last: Int64s | None = None  # the last row of each rank, for which its next row waits
        self.previous: Int64s | None = None  # that of the layer before
        self.reduced: Ready = [[] for _ in names]  # rows that complete the replicas' last collective at each rank
        self.layer_share = sum(step.stage_parameters(number)) / step.stage_layers
        self.exchanges_tensors = step.tensor > 1 and step.nccl.hosts_per_node % step.tensor > 0
        self.blocks = step.experts > 1 or self.exchanges_tensors  # inside a layer, on the network
        forward_ps = 1e12 * (step.model.forward_flop(step.sequence, step.micro_batch) / (step.flops * step.tensor))
        inner_ps = 0.0
        if step.tensor > 1 and not self.exchanges_tensors:
            part = step.activation_bytes / step.tensor
            inner_ps = 2 * (step.tensor - 1) * (step.nccl.inner_delay_ps + part * 8e12 / step.nccl.inner_rate_bps)
        self.forward_ps = (forward_ps + 2 * inner_ps) / step.scale
        self.backward_ps = (forward_ps * step.backward + 2 * inner_ps) / step.scale

    def forward(self, needs: Int64s | None) -> None:
        if self.step.optimizer != "fsdp":
            self._layers(self.forward_ps, needs)
            return
        for layer in range(self.step.stage_layers):
            self._gather(self.previous if layer else None)
            self._compute(self.forward_ps)

    def backward(self, needs: Int64s | None, is_last: bool) -> None:
        step = self.step
        if step.optimizer == "fsdp":
            for _ in range(step.stage_layers):
                self._gather(self.previous)
                self._compute(self.backward_ps)
                self._reduce("reduce-scatter", self.layer_share * step.gradient_bytes, self.last)
            return
        if not is_last:
            self._layers(self.backward_ps, needs)
            return
        for portion, buckets, experts in self._ready_gradients():
            if portion > 0.0:
                if self.blocks and portion == 1.0:
                    self._layer(self.backward_ps, needs)
                else:
                    self._compute(self.backward_ps * portion, needs)
                needs = None
            for size in buckets:
                operation = "all-reduce" if step.optimizer == "all-reduce" else "reduce-scatter"
                self._reduce(operation, size * step.gradient_bytes, self.last)
            if experts:
                self._reduce("all-reduce", experts * step.gradient_bytes, self.last, step.experts)
        if step.optimizer == "sharded":
            for size in step.bucket_sizes(self.number):
                self._reduce("all-gather", size * step.parameter_bytes, None)

    def send(self, to: _Stage) -> Int64s:
        """Add the messages of a micro-batch to the next or the previous stage."""
        sizes = np.full(len(self.names), self._scaled(self.step.activation_bytes / self.step.tensor))
        rows = self.schedule.send(self.names, to.names, sizes, queue_pair=int(to.number < self.number))
        self.schedule.wait(rows, self.last)
        return rows

    def _layers(self, duration_ps: float, needs: Int64s | None) -> None:
        """Add all layers in one direction, one by one if a collective blocks inside a layer."""
        if not self.blocks:
            self._compute(duration_ps * self.step.stage_layers, needs)
            return
        for _ in range(self.step.stage_layers):
            self._layer(duration_ps, needs)
            needs = None

    def _layer(self, duration_ps: float, needs: Int64s | None) -> None:
        """Add a layer in one direction: two halves of computation, each with its ranks' exchange."""
        step = self.step
        for _ in range(2):
            self._compute(duration_ps / 2, needs)
            needs = None
            if self.exchanges_tensors:
                self._exchange("all-reduce", step.activation_bytes, np.arange(len(self.names)).reshape(-1, step.tensor))
            if step.experts > 1:
                self._exchange("all-to-all", step.routed_bytes, self._replicas(step.experts))

    def _ready_gradients(self) -> list[tuple[float, list[int], int]]:
        """Return parts of layers for the backward pass, the buckets ready after each, and experts' parameters.

        If a collective blocks inside a layer, each layer is one part.
        """
        sizes, buckets = self.step.stage_parameters(self.number), self.step.bucket_sizes(self.number)
        edges = np.cumsum(buckets).tolist()
        parts: list[tuple[float, list[int], int]] = []
        done = 0
        for number, size in enumerate(sizes):
            is_layer = 0 < number < len(sizes) - 1
            experts = self.step.expert_share if is_layer else 0
            inside = [(edge, bucket) for edge, bucket in zip(edges, buckets, strict=True) if done < edge <= done + size]
            if not is_layer or self.blocks:
                parts.append((float(is_layer), [bucket for _, bucket in inside], experts))
            else:
                low = done
                for edge, bucket in inside:
                    parts.append(((edge - low) / size, [bucket], 0))
                    low = edge
                parts.append(((done + size - low) / size, [], experts))
            done += size
        return parts

    def _exchange(self, operation: str, size: float, groups: Int64s) -> None:
        """Add blocking collectives among groups of ranks."""
        last, rows = self.last, np.full(len(self.names), -1, np.int64)
        for group in groups:
            ready = [[] if last is None else [int(last[rank])] for rank in group]
            rows[group] = [one[0] for one in self._expand(operation, size, group, ready)]
        self.last = rows

    def _reduce(self, operation: str, size: float, after: Int64s | None, experts: int = 1) -> None:
        """Add collectives among replicas, after the previous one; with `experts`, among ranks with the same experts."""
        for replicas in self._replicas(self.step.data):
            for first in range(experts):
                group = replicas[first::experts]
                ready = [self.reduced[rank] + ([] if after is None else [int(after[rank])]) for rank in group]
                for rank, rows in zip(group, self._expand(operation, size, group, ready), strict=True):
                    self.reduced[rank] = rows

    def _gather(self, after: Int64s | None) -> None:
        """Add the all-gather of a layer's parameters one layer ahead of the computation that waits for it."""
        last = self.last
        self._reduce("all-gather", self.layer_share * self.step.parameter_bytes, after)
        if self.step.data > 1:
            gate = self.schedule.compute(self.names, np.zeros(len(self.names), np.int64))
            self.schedule.wait(gate, [rows[0] for rows in self.reduced])
            if last is not None:
                self.schedule.wait(gate, last)
            self.previous, self.last = last, gate

    def _replicas(self, size: int) -> Int64s:
        """Return groups of ranks with equal tensor parts, from `size` consecutive replicas."""
        grid = np.arange(len(self.names)).reshape(self.step.data // size, size, self.step.tensor)
        return grid.transpose(0, 2, 1).reshape(-1, size)

    def _expand(self, operation: str, size: float, group: Int64s, ready: Ready) -> Ready:
        nccl, names = self.step.nccl, self.names[group]
        node = max(nccl.hosts_per_node // (int(group[1] - group[0]) if len(group) > 1 else 1), 1)
        settings = nccl.replace(hosts_per_node=node if len(group) % node == 0 else 1)
        done = expand(self.schedule, operation, names.tolist(), self._scaled(size), ready, settings)
        return [rows or self.schedule.compute(name, 0).tolist() for rows, name in zip(done, names, strict=True)]

    def _compute(self, duration_ps: float, needs: Int64s | None = None) -> None:
        rows = self.schedule.compute(self.names, np.full(len(self.names), round(duration_ps)))
        for before in (self.last, needs):
            if before is not None:
                self.schedule.wait(rows, before)
        self.last = rows

    def _scaled(self, size: float) -> int:
        return max(round(size / self.step.scale), 1)


def _schedule(step: TrainingStep, names: Objects) -> Schedule:
    """Return the schedule of a step: each stage takes its micro-batches in 1F1B order, as they arrive."""
    schedule, width = Schedule(), step.data * step.tensor
    stages = [_Stage(step, schedule, n, names[n * width : (n + 1) * width]) for n in range(step.pipeline)]
    orders = [_one_f_one_b(n, step.pipeline, step.micro_batches) for n in range(step.pipeline)]
    arrived: dict[tuple[int, int, int], Int64s] = {}  # by direction, micro-batch and stage
    while any(orders):
        for stage, order in zip(stages, orders, strict=True):
            while order:
                way, number = order[0]
                needs = arrived.get((way, number, stage.number))
                if needs is None and 0 <= stage.number - way < step.pipeline:
                    break
                order.popleft()
                if way == _FORWARD:
                    stage.forward(needs)
                else:
                    stage.backward(needs, is_last=number == step.micro_batches - 1)
                to = stage.number + way
                if 0 <= to < step.pipeline:
                    arrived[way, number, to] = stage.send(stages[to])
    return schedule


_FORWARD, _BACKWARD = 1, -1


def _one_f_one_b(stage: int, stages: int, count: int) -> deque[tuple[int, int]]:
    """Return the order in which a stage processes micro-batches forward and backward."""
    ahead = min(stages - 1 - stage, count)
    order = deque((_FORWARD, number) for number in range(ahead))
    for number in range(count):
        if number + ahead < count:
            order.append((_FORWARD, number + ahead))
        order.append((_BACKWARD, number))
    return order
