"""Probes resolved to a record, its number and a field."""

from collections.abc import Hashable
from dataclasses import dataclass

from rdmacc.component import RECORD_KINDS
from rdmacc.engine.setting import Setting, message_number
from rdmacc.errors import ConfigError, unknown
from rdmacc.probes import Probe
from rdmacc.records import Field
from rdmacc.schemes import Scheme
from rdmacc.state import Host, Message, Port, QueuePair


@dataclass(frozen=True)
class Watch:
    probe: Probe
    record: str
    number: int
    component: int
    field: Field


_PLACE_RECORDS = {
    "port": (("port", Port), (("egress", "Egress"),)),
    "host": (("host", Host), (("endpoint", "Endpoint"),)),
    "flow": (("qp", QueuePair), (("sender", "Sender"), ("receiver", "Receiver"), ("transfer", "Transfer"))),
}


def watch_of(probe: Probe, setting: Setting) -> Watch:
    scheme, qp = setting.scheme, setting.qp
    if not isinstance(probe, Probe):
        raise ConfigError("probes", probe, "a Probe, such as rdmacc.probes.queue('s0', 'h0', every='1us')")
    number = _number(probe, setting)
    (own_name, own_record), extras = _PLACE_RECORDS[probe.place]
    owner, _, name = probe.field.rpartition(".")
    options: list[tuple[str, int, int, Field]] = []
    if not owner:
        qp_number = int(qp[number]) if probe.place == "flow" else number
        options += [(own_name, qp_number, -1, field) for field in own_record.fields]
        if probe.place == "flow":
            options += [("message", number, -1, field) for field in Message.fields]
    for i, component in enumerate(scheme.components):
        if owner in ("", type(component).__name__):
            for record_name, kind in extras:
                assert kind in RECORD_KINDS
                record = component.record(kind)
                at = int(qp[number]) if record_name in ("sender", "receiver") else number
                options += [(record_name, at, i, field) for field in (record.fields if record else ())]
    options = [option for option in options if not option[3].length and not option[3].is_bits]
    if probe.place == "flow" and probe.field == "window_bytes" and not _has_window(scheme):
        allowed = f"a field that the scheme uses: {scheme.name} sets no window; use rdmacc.probes.rate({probe.at})"
        raise ConfigError(f"field of probe {probe.name!r}", name, allowed)
    for record_name, at, i, field in options:
        if field.name == name:
            return Watch(probe, record_name, at, i, field)
    parts = {f"{type(part).__name__}.<field>" for part in scheme.components}
    known = sorted({field.name for *_, field in options} or parts)
    raise unknown(f"field of probe {probe.name!r}", probe.field, known, f"a field of a {probe.place}")


def _has_window(scheme: Scheme) -> bool:
    records = (part.record("Sender") for part in scheme.components)
    return any(field.name == "window_bytes" for record in records if record for field in record.fields)


def _number(probe: Probe, setting: Setting) -> int:
    fabric = setting.fabric
    if probe.place == "port":
        if not isinstance(probe.at, tuple) or len(probe.at) != 2:
            raise ConfigError(f"at of probe {probe.name!r}", probe.at, "a pair (from, to) of node names")
        return fabric.port(*probe.at)
    if probe.place == "host":
        node = fabric.index.get(probe.at, -1) if isinstance(probe.at, Hashable) else -1
        if node < 0 or not fabric.is_host[node]:
            raise ConfigError(f"at of probe {probe.name!r}", probe.at, "the name of a host")
        return node
    return message_number(setting, probe.at, f"at of probe {probe.name!r}")
