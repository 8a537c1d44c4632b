"""The rows of a training step: computations in 1F1B order, collectives and messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.workload.columns import Int64s
from rdmacc.workload.frame import Host, as_objects
from rdmacc.workload.nccl import expand
from rdmacc.workload.schedule import Schedule

if TYPE_CHECKING:
    from rdmacc.workload.training import TrainingStep


class TrainingRows:
    """Builds the schedule of a step. The rows of a stage are arrays with one entry per rank."""

    def __init__(self, step: TrainingStep, hosts: Sequence[Host]) -> None:
        self.step, self.names = step, as_objects(hosts)
        self.schedule = Schedule()
        self.width = step.data * step.tensor
        forward_s = step.model.forward_flop(step.sequence, step.micro_batch) / (step.flops * step.tensor)
        inner_ps = 0.0
        if step.tensor > 1 and self._tensor_is_inner():
            part = step.activation_bytes / step.tensor
            inner_ps = 2 * (step.tensor - 1) * (step.nccl.inner_delay_ps + part * 8e12 / step.nccl.inner_rate_bps)
        self.forward_ps = (1e12 * forward_s + 2 * inner_ps) / step.scale
        self.backward_ps = (1e12 * forward_s * step.backward + 2 * inner_ps) / step.scale
        self.last: list[Int64s | None] = [None] * step.pipeline
        """The last row of each rank; the rank's next row waits for it."""
        self.collectives: list[list[list[int]]] = [[[] for _ in range(self.width)] for _ in range(step.pipeline)]
        """The rows that complete the last collective of the replicas at each rank."""

    def frame(self) -> pd.DataFrame:
        arrived: dict[tuple[str, int, int], Int64s] = {}
        stages = self.step.pipeline
        orders = [_one_f_one_b(stage, stages, self.step.micro_batches) for stage in range(stages)]
        places = [0] * stages
        while any(place < len(order) for place, order in zip(places, orders, strict=True)):
            for stage, order in enumerate(orders):
                while places[stage] < len(order):
                    way, number = order[places[stage]]
                    before = stage - 1 if way == "forward" else stage + 1
                    if 0 <= before < self.step.pipeline and (way, number, before) not in arrived:
                        break
                    self._pass(stage, way, number, arrived)
                    places[stage] += 1
        return self.schedule.frame()

    def _pass(self, stage: int, way: str, number: int, arrived: dict[tuple[str, int, int], Int64s]) -> None:
        """Add a micro-batch's pass through a stage, and the message to the next stage."""
        step = self.step
        before, after = (stage - 1, stage + 1) if way == "forward" else (stage + 1, stage - 1)
        needs = arrived.get((way, number, before))
        if way == "forward":
            self._forward(stage, needs)
        else:
            self._backward(stage, needs, is_last=number == step.micro_batches - 1)
        if 0 <= after < step.pipeline:
            here, there = (self.names[one * self.width : (one + 1) * self.width] for one in (stage, after))
            size = self._scaled(step.activation_bytes / step.tensor)
            rows = self.schedule.send(here, there, np.full(self.width, size), queue_pair=0 if way == "forward" else 1)
            self.schedule.wait(rows, self.last[stage])
            arrived[way, number, stage] = rows

    def _forward(self, stage: int, needs: Int64s | None) -> None:
        step = self.step
        if step.optimizer == "fsdp":
            for layer in range(step.stage_layers):
                self._gather(stage, layer, back=False)
                self._compute(stage, self.forward_ps)
        else:
            self._layers(stage, self.forward_ps, needs)

    def _layers(self, stage: int, duration_ps: float, needs: Int64s | None) -> None:
        """Add all layers of a stage in one direction, one by one if a collective blocks inside a layer."""
        if not self._blocks():
            self._compute(stage, duration_ps * self.step.stage_layers, needs)
            return
        for _ in range(self.step.stage_layers):
            self._layer(stage, duration_ps, needs)
            needs = None

    def _backward(self, stage: int, needs: Int64s | None, is_last: bool) -> None:
        step = self.step
        if step.optimizer == "fsdp":
            for layer in reversed(range(step.stage_layers)):
                self._gather(stage, layer, back=True)
                self._compute(stage, self.backward_ps)
                size = sum(step.stage_parameters(stage)) / step.stage_layers * step.gradient_bytes
                self._reduce(stage, "reduce-scatter", size, self.last[stage])
            return
        if not is_last:
            self._layers(stage, self.backward_ps, needs)
            return
        for portion, buckets, experts in self._ready_gradients(stage):
            if portion > 0.0:
                if self._blocks() and portion == 1.0:
                    self._layer(stage, self.backward_ps, needs)
                else:
                    self._compute(stage, self.backward_ps * portion, needs)
                needs = None
            for size in buckets:
                operation = "all-reduce" if step.optimizer == "all-reduce" else "reduce-scatter"
                self._reduce(stage, operation, size * step.gradient_bytes, self.last[stage])
            if experts:
                self._reduce(stage, "all-reduce", experts * step.gradient_bytes, self.last[stage], step.experts)
        if step.optimizer == "sharded":
            for size in step.bucket_sizes(stage):
                self._reduce(stage, "all-gather", size * step.parameter_bytes, None)

    def _ready_gradients(self, stage: int) -> list[tuple[float, list[int], int]]:
        """Return parts of layers for the backward pass, the buckets ready after each, and experts' parameters.

        If a collective blocks inside a layer, each layer is one part.
        """
        step = self.step
        sizes, buckets = step.stage_parameters(stage), step.bucket_sizes(stage)
        edges = np.cumsum(buckets).tolist()
        parts: list[tuple[float, list[int], int]] = []
        done = 0
        for number, size in enumerate(sizes):
            is_layer = 0 < number < len(sizes) - 1
            experts = step.expert_share if is_layer else 0
            inside = [edge for edge in edges if done < edge <= done + size]
            ready = [buckets[edges.index(edge)] for edge in inside]
            if not is_layer or self._blocks():
                parts.append((float(is_layer), ready, experts))
            else:
                at = [0, *[edge - done for edge in inside], size]
                for low, high, bucket in zip(at, at[1:], [*([one] for one in ready), []], strict=False):
                    parts.append(((high - low) / size, bucket, 0))
                parts[-1] = (*parts[-1][:2], experts)
            done += size
        return parts

    def _blocks(self) -> bool:
        """Return whether ranks exchange data inside a layer, on the network."""
        return self.step.experts > 1 or (self.step.tensor > 1 and not self._tensor_is_inner())

    def _tensor_is_inner(self) -> bool:
        return self.step.nccl.hosts_per_node % self.step.tensor == 0

    def _layer(self, stage: int, duration_ps: float, needs: Int64s | None) -> None:
        """Add a layer in one direction: two halves of computation, each with its ranks' exchange."""
        step = self.step
        for _ in range(2):
            self._compute(stage, duration_ps / 2, needs)
            needs = None
            if step.tensor > 1 and not self._tensor_is_inner():
                groups = np.arange(self.width).reshape(-1, step.tensor)
                self._exchange(stage, "all-reduce", step.activation_bytes, groups)
            if step.experts > 1:
                self._exchange(stage, "all-to-all", step.routed_bytes, self._replicas(step.experts))

    def _exchange(self, stage: int, operation: str, size: float, groups: Int64s) -> None:
        """Add blocking collectives among the ranks of a stage."""
        last = self.last[stage]
        rows = np.full(self.width, -1, np.int64)
        for group in groups:
            ready = [[] if last is None else [int(last[rank])] for rank in group]
            done = self._expand(stage, operation, size, group, ready)
            rows[group] = [one[0] for one in done]
        self.last[stage] = rows

    def _reduce(self, stage: int, operation: str, size: float, after: Int64s | None, experts: int = 1) -> None:
        """Add collectives among replicas, after the previous one; with `experts`, among ranks with the same experts."""
        step, state = self.step, self.collectives[stage]
        replicas = self._replicas(step.data)
        groups = [group[first::experts] for group in replicas for first in range(experts)]
        for group in groups:
            ready = [state[rank] + ([] if after is None else [int(after[rank])]) for rank in group]
            done = self._expand(stage, operation, size, group, ready)
            for rank, rows in zip(group, done, strict=True):
                state[rank] = rows

    def _gather(self, stage: int, layer: int, back: bool) -> None:
        """Add the all-gather of a layer's parameters one layer ahead of the computation that waits for it."""
        step, state, last = self.step, self.collectives[stage], self.last[stage]
        size = sum(step.stage_parameters(stage)) / step.stage_layers * step.parameter_bytes
        ahead = self.previous if layer or back else None
        self._reduce(stage, "all-gather", size, ahead)
        if step.data > 1:
            joined = np.array([rows[0] for rows in state])
            gate = self.schedule.compute(self.names[: self.width], np.zeros(self.width, np.int64))
            self.schedule.wait(gate, joined)
            if last is not None:
                self.schedule.wait(gate, last)
            self.previous, self.last[stage] = last, gate

    previous: Int64s | None = None

    def _replicas(self, size: int) -> Int64s:
        """Return groups of ranks with equal tensor parts, from `size` consecutive replicas."""
        step = self.step
        grid = np.arange(self.width).reshape(step.data // size, size, step.tensor)
        return grid.transpose(0, 2, 1).reshape(-1, size)

    def _expand(
        self, stage: int, operation: str, size: float, group: Int64s, ready: list[list[int]]
    ) -> list[list[int]]:
        step, first = self.step, stage * self.width
        stride = int(group[1] - group[0]) if len(group) > 1 else 1
        node = max(step.nccl.hosts_per_node // stride, 1)
        settings = step.nccl.replace(hosts_per_node=node if len(group) % node == 0 else 1)
        names = self.names[first + group]
        done = expand(self.schedule, operation, names.tolist(), self._scaled(size), ready, settings)
        return [rows or self.schedule.compute(name, 0).tolist() for rows, name in zip(done, names, strict=True)]

    def _compute(self, stage: int, duration_ps: float, needs: Int64s | None = None) -> None:
        names = self.names[stage * self.width : (stage + 1) * self.width]
        rows = self.schedule.compute(names, np.full(self.width, round(duration_ps)))
        for before in (self.last[stage], needs):
            if before is not None:
                self.schedule.wait(rows, before)
        self.last[stage] = rows

    def _scaled(self, size: float) -> int:
        return max(round(size / self.step.scale), 1)


def _one_f_one_b(stage: int, stages: int, count: int) -> list[tuple[str, int]]:
    """Return the order in which a stage processes micro-batches forward and backward."""
    ahead = min(stages - 1 - stage, count)
    order = [("forward", number) for number in range(ahead)]
    for number in range(count):
        if number + ahead < count:
            order.append(("forward", number + ahead))
        order.append(("backward", number))
    return order
