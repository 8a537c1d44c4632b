"""What the kernel's memory holds of a scheme alone: layouts, hooks, parameters, and its part of the globals."""

from __future__ import annotations

from typing import Any

import numpy as np

from rdmacc.engine.compiled.hooks import CompiledHooks, params_dtype
from rdmacc.engine.compiled.layout import GLOBALS, Layout
from rdmacc.engine.compiled.timers import KINDS, MAX_SLOTS
from rdmacc.handlers.hooks import has_requests, records_of, transfer_fields
from rdmacc.records import record_dtype
from rdmacc.rules.ranks import LAST_ORDER
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import Pfc
from rdmacc.switch.queueing import ROUTINGS


class SchemeTables:
    """A scheme, laid out and compiled; simulations copy its rows and share the rest."""

    def __init__(self, scheme: Scheme, is_checked: bool) -> None:
        self.layout = Layout.of(scheme)
        self.hooks = CompiledHooks(scheme, self.layout, is_checked)
        self.rows = np.zeros(1, GLOBALS)
        self.params = np.zeros(self.hooks.params_bytes, np.uint8)
        self.timers = np.zeros((len(KINDS), MAX_SLOTS, 2), np.int64)
        self.transfers = transfer_fields(scheme.components)
        self.transfer_at: dict[tuple[int, str], int] = {}
        """Where each field of a component's Transfer record is in a message's row."""
        for number, record in records_of(scheme.components, "Transfer"):
            for name, (_, offset, *_) in (record_dtype(record).fields or {}).items():
                self.transfer_at[number, name] = self.layout.offsets["Transfer", number] + offset
        self._fill_globals(scheme)
        self._fill_params(scheme)
        self._fill_timers(scheme)
        for array in (self.rows, self.params, self.timers):
            array.flags.writeable = False

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            self.rows[0][name] = value

    def _fill_globals(self, scheme: Scheme) -> None:
        policy = scheme.buffer
        is_lossless = isinstance(policy, Pfc)
        self._set(
            payload_bytes=scheme.payload_bytes, header_bytes=scheme.header_bytes, ack_bytes=scheme.ack_bytes,
            cnp_bytes=scheme.cnp_bytes, wire_bytes=scheme.wire_bytes, least_wire_bytes=scheme.least_wire_bytes,
            has_requests=has_requests(scheme.components), data_priority=scheme.data_priority,
            ack_priority=scheme.ack_priority,
            is_lossless=is_lossless, alpha=policy.alpha,
            marks_at_nic=scheme.marks_at_nic,
            xoff_bytes=policy.xoff_bytes if isinstance(policy, Pfc) else 0,
            reserve_bytes=policy.reserve_bytes if isinstance(policy, Pfc) else 0,
            xon_offset_bytes=policy.xon_offset_bytes if isinstance(policy, Pfc) else 0,
            frame_bytes=policy.frame_bytes if isinstance(policy, Pfc) else 0,
            limit_bytes=0 if isinstance(policy, Pfc) else policy.limit_bytes,
            routing=ROUTINGS.index(scheme.routing), is_srpt=scheme.nic_order == "srpt",
            start_delay_ps=scheme.start_delay_ps, tick_ps=scheme.tick_ps, order_now=LAST_ORDER,
            has_scanning_nics=scheme.has_scanning_nics,
            nic_ack_priority=scheme.nic_ack_priority,
        )  # fmt: skip
        queueing = scheme.queueing
        self._set(
            wrr_ratio=queueing.wrr_ratio, wrr_first=queueing.wrr_first, wrr_second=queueing.wrr_second,
            lanes=queueing.lanes, first_lane=queueing.first_lane, returns_headers=queueing.returns_headers,
            trimmed_wire_bytes=queueing.trimmed_bytes, trimmed_priority=queueing.trimmed_priority,
            has_limits=bool(queueing.credit_fraction or queueing.control_limit_bytes),
            control_limit_bytes=queueing.control_limit_bytes,
            credit_limit_bytes=queueing.credit_limit_bytes,
            credit_fraction=queueing.credit_fraction, credit_burst_bytes=queueing.credit_burst_bytes,
        )  # fmt: skip
        addresses = self.hooks.addresses.items()
        self._set(**{name: at for name, at in addresses if name not in ("on_open", "on_port")})

    def _fill_params(self, scheme: Scheme) -> None:
        for part, offset in zip(scheme.components, self.hooks.params_offsets, strict=True):
            row = np.ndarray(1, params_dtype(part), buffer=self.params, offset=offset)
            for name, (_, value) in part.numbers().items():
                row[name] = value

    def _fill_timers(self, scheme: Scheme) -> None:
        """Note where each deadline is in its row, and its handler's address."""
        for position, kind in enumerate(KINDS):
            for slot, address in self.hooks.timers[kind]:
                record = record_dtype(next(r for n, r in records_of(scheme.components, kind) if n == slot.component))
                assert record.fields is not None
                offset = self.layout.offsets[kind, slot.component] + record.fields[slot.field.name][1]
                self.timers[position, slot.number] = offset, address
            self._set(**{f"n_{kind.lower()}_slots": len(self.hooks.timers[kind])})
