"""What the kernel's memory holds of a scheme alone: layouts, hooks, parameters, and its part of the globals.

Apart from the hooks' compiler, whose cache counts every module that it imports: an edit of a scheme recompiles nothing.
"""

import numpy as np

from rdmacc.engine.compiled.machine_code.hooks import CompiledHooks, params_dtype
from rdmacc.engine.compiled.tables import layout as rows
from rdmacc.handlers.hooks import has_requests, transfer_fields
from rdmacc.rules.ranks import LAST_ORDER
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import Pfc
from rdmacc.switch.queueing import ROUTINGS


class SchemeTables:
    """A scheme's layout and machine code; simulations copy its rows and share the rest."""

    def __init__(self, scheme: Scheme, is_checked: bool) -> None:
        self.layout = rows.Layout.of(scheme)
        self.hooks = CompiledHooks(scheme, self.layout, is_checked)
        self.rows = np.zeros(1, rows.GLOBALS)
        self.params = np.zeros(self.hooks.params_bytes, np.uint8)
        self.timers = np.zeros((len(rows.KINDS), rows.MAX_SLOTS + 1, 2), np.int64)
        self.transfers = transfer_fields(scheme.components)
        self.transfer_places = {
            (number, field.name): (field.code, self.layout.fields["Transfer", number, field.name][1])
            for number, field in self.transfers
        }
        self._fill_globals(scheme)
        self._fill_params(scheme)
        self._fill_timers()
        for array in (self.rows, self.params, self.timers):
            array.flags.writeable = False

    def _fill_globals(self, scheme: Scheme) -> None:
        """Copy the fields that the scheme, its queueing and its buffer have under the same name; derive the others."""
        owners, queueing = (scheme, scheme.queueing, scheme.buffer), scheme.queueing
        found = {
            field.name: next((getattr(one, field.name) for one in owners if hasattr(one, field.name)), None)
            for field in rows.SchemeNumbers.fields
        }
        addresses = {name: at for name, at in self.hooks.addresses.items() if name not in ("on_open", "on_port")}
        derived = {
            "routing": ROUTINGS.index(scheme.routing), "is_srpt": scheme.nic_order == "srpt",
            "is_lossless": isinstance(scheme.buffer, Pfc), "has_requests": has_requests(scheme.components),
            "has_limits": bool(queueing.credit_fraction or queueing.control_limit_bytes),
            "trimmed_wire_bytes": queueing.trimmed_bytes, "order_now": LAST_ORDER,
        }  # fmt: skip
        for name, value in (found | derived | addresses).items():
            if value is not None:
                self.rows[0][name] = value

    def _fill_params(self, scheme: Scheme) -> None:
        for part, offset in zip(scheme.components, self.hooks.params_offsets, strict=True):
            row = np.ndarray(1, params_dtype(part), buffer=self.params, offset=offset)
            for name, (_, value) in part.numbers().items():
                row[name] = value

    def _fill_timers(self) -> None:
        """Note where each deadline is in its row, and its handler's address."""
        for position, kind in enumerate(rows.KINDS):
            for slot, address in self.hooks.timers[kind]:
                self.timers[position, slot.number] = (
                    self.layout.fields[kind, slot.component, slot.field.name][1],
                    address,
                )
            self.timers[position, rows.MAX_SLOTS] = len(self.hooks.timers[kind])
