"""Two kernels from one source: with all features, and without those that few simulations use.

A feature costs time even when unused: for each packet the kernel checks for a tick, a trace, a credit rate, and the
code behind the check takes up cache and registers. So the kernel is linked twice. In the plain one, the fields of the
globals that enable these features are the constant 0, and LLVM drops all code that depends on them. It runs whenever
they are 0. Likewise `node_bits` is 0 in the kernels that run in order of time; only the kernel of windows reads it.
What a trace and explanations need is a switch of its own: most simulations that want them use no other feature.
"""

from typing import Any

from llvmlite import ir
from numba.extending import lower_getattr_generic, models, register_model

from rdmacc.engine.compiled.machine_code.address import Row, record_at
from rdmacc.engine.compiled.tables.layout import GLOBALS, KernelGlobals

FEATURES = tuple(field.name for field in KernelGlobals.fields if field.is_feature)
"""Fields of the globals that the plain kernel takes for 0."""

_SWITCHES = (
    dict.fromkeys(FEATURES, "rdmacc.features")
    | {"node_bits": "rdmacc.windows"}
    | dict.fromkeys(("has_trace", "explains"), "rdmacc.notes")
)
"""Which constant decides about a field."""

PLAIN, IN_TIME = "@rdmacc.features = constant i1 false\n", "@rdmacc.windows = constant i1 false\n"
SILENT = "@rdmacc.notes = constant i1 false\n"
"""LLVM's code to link with a kernel to make it plain, to have it go by the order of time, and without notes."""


class _Globals(Row):
    """The type of the row of globals."""


register_model(_Globals)(models.RecordModel)


@lower_getattr_generic(_Globals)
def _read(context: Any, builder: Any, kind: Any, row: Any, name: str) -> Any:
    """Read a field; it is 0 if the kernel is linked without what it is for."""
    index = ir.IntType(32)
    place = builder.gep(row, [index(0), index(kind.offset(name))], inbounds=True)
    value = builder.load(builder.bitcast(place, context.get_data_type(kind.typeof(name)).as_pointer()))
    if name not in _SWITCHES:
        return value
    switches, which = builder.module.globals, _SWITCHES[name]
    if which not in switches:
        switch = ir.GlobalVariable(builder.module, ir.IntType(1), which)
        switch.linkage, switch.global_constant, switch.initializer = "linkonce_odr", True, ir.IntType(1)(1)
    return builder.select(builder.load(switches[which]), value, context.get_constant(kind.typeof(name), 0))


globals_at = record_at(GLOBALS, _Globals)
