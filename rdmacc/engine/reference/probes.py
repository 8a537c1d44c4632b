"""Probes: what a scenario watches, sampled or on every change."""

from __future__ import annotations

from typing import Any

from rdmacc.engine.reference.events import push

__all__ = ["watch"]

Samples = list[tuple[int, float]]


def watch(net: Any) -> list[tuple[Any, str, Samples]]:
    """Schedule the first samples; return (record, field, samples) of what is watched for changes."""
    on_change: list[tuple[Any, str, Samples]] = []
    for number, watched in enumerate(net.plan.watches):
        things = {
            "port": net.ports, "egress": net.ports, "host": net.nodes, "endpoint": net.nodes,
            "message": net.messages, "transfer": net.messages,
        }.get(watched.record, net.qps)  # fmt: skip
        record = things[watched.number]
        if watched.component >= 0:
            record = getattr(record, f"{watched.record}{watched.component}")
        if watched.probe.every_ps is None:
            on_change.append((record, watched.field.name, net.samples[number]))
        else:
            _sample(net, number, record, watched.field.name, watched.probe.every_ps, 0)
    return on_change


def _sample(net: Any, number: int, record: Any, name: str, every_ps: int, at: int) -> None:
    def sample(now: int) -> None:
        net.samples[number].append((now, float(getattr(record, name))))
        _sample(net, number, record, name, every_ps, now + every_ps)

    push(net.env, at, net.ranks["probe"] + number, sample)
