"""Records and calls by address: what the kernel needs beyond Numba's own language.

`record_at(dtype)` returns a function from an address to a record, whose fields compiled code reads and writes by name;
`call` calls a compiled handler by its address.

One source gives two kernels: one with all features, and one without those that few simulations use. An unused feature
costs time: the kernel checks each packet for a tick, a trace, a credit rate, and the code behind the checks takes up
cache and registers. So the kernel is linked twice. In the plain kernel, the globals' fields that enable these features
are the constant 0, and LLVM drops all code that depends on them; it runs whenever they are 0. Likewise `node_bits` is 0
in the kernels for the order of time. The trace has a switch of its own, since most simulations with a trace use no
other feature.
"""

import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import from_dtype, types
from numba.extending import intrinsic, lower_getattr_generic, models, register_model

from rdmacc.engine.compiled.machine_code.units import Part
from rdmacc.engine.compiled.tables.layout import GLOBALS, KernelGlobals

_I64 = ir.IntType(64)

jit = Part  # compile a function of the kernel: no Python objects, no exceptions, division by zero as in C


class Row(types.Record):
    """The type of a record, with its name kept: Numba would format it in each of its passes."""

    __repr__ = types.Type.__repr__

    def can_convert_to(self, typing_context: Any, other: Any) -> None:
        """Refuse: Numba would also accept a record as any type that its fields begin with."""


register_model(Row)(models.RecordModel)


@cache
def record_at(dtype: np.dtype[np.void], row_type: type[Row] = Row) -> Callable[[int], Any]:
    """Return a function from an address to the record of type `dtype` that is there."""
    plain = from_dtype(dtype)
    fields = [(name, field._asdict()) for name, field in plain.fields.items()]
    record_type = row_type(fields, plain.size, plain.aligned)

    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(record_type))

        return record_type(types.int64), generate

    return at


def _of_number(result: Any, emit: Callable[[Any, Any], Any]) -> Any:
    """Return a function of a number; `emit` builds its code with LLVM's builder."""

    @intrinsic
    def function(typing_context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return result(types.int64), generate

    return function


def _storer(value_type: Any, emit: Callable[[Any, Any, Any], Any]) -> Any:
    """Return a function of an address and a value."""

    @intrinsic
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            emit(builder, *arguments)
            return context.get_dummy_value()

        return types.void(types.int64, value_type), generate

    return store


def _at(builder: Any, address: Any, bits: int = 64) -> Any:
    """Return an address as a pointer to an integer."""
    return builder.inttoptr(address, ir.IntType(bits).as_pointer())


load_i8 = _of_number(types.int64, lambda builder, address: builder.load(_at(builder, address)))
load_i4 = _of_number(types.int32, lambda builder, address: builder.load(_at(builder, address, 32)))
load_i1 = _of_number(types.int8, lambda builder, address: builder.load(_at(builder, address, 8)))
load_f8 = _of_number(
    types.float64, lambda builder, address: builder.load(builder.inttoptr(address, ir.DoubleType().as_pointer()))
)
store_i8 = _storer(types.int64, lambda builder, address, value: builder.store(value, _at(builder, address)))
store_i4 = _storer(types.int32, lambda builder, address, value: builder.store(value, _at(builder, address, 32)))

lowest_bit = _of_number(types.int64, lambda builder, word: builder.cttz(word, ir.IntType(1)(1)))
"""Return the index of the lowest set bit of a nonzero word."""

count_up = _of_number(
    types.int64, lambda builder, address: builder.atomic_rmw("add", _at(builder, address), _I64(1), "acq_rel")
)
"""Atomically add 1 to a shared counter; return its previous value."""

load_shared = _of_number(types.int64, lambda builder, address: builder.load_atomic(_at(builder, address), "acquire", 8))
"""Load (acquire) a number that another thread stores with `store_shared`; its earlier writes are then visible."""

store_shared = _storer(
    types.int64, lambda builder, address, value: builder.store_atomic(value, _at(builder, address), "release", 8)
)
"""Store (release) a number for `load_shared`."""


@intrinsic
def prefetch(typing_context: Any, address: Any) -> Any:
    """Prefetch the cache line at an address that will soon be written."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, flag, flag, flag])
        name = "llvm.prefetch.p0"
        function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
        builder.call(function, [pointer, flag(1), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def call(typing_context: Any, function: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
    """Call a compiled hook by its address with eight addresses or numbers; return its integer."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = ir.FunctionType(_I64, [_I64] * 8).as_pointer()
        return builder.call(builder.inttoptr(arguments[0], pointer), arguments[1:])

    return types.int64(*[types.int64] * 9), generate


@intrinsic
def relax(typing_context: Any) -> Any:
    """Hint to the processor that this thread spins."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if platform.machine() in ("x86_64", "AMD64"):
            name = "llvm.x86.sse2.pause"
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), generate


FEATURES = tuple(field.name for field in KernelGlobals.fields if field.is_feature)
"""Fields of the globals that the plain kernel takes to be 0."""

_SWITCHES = (
    dict.fromkeys(FEATURES, "rdmacc.features")
    | {"node_bits": "rdmacc.windows"}
    | dict.fromkeys(("has_trace", "explains"), "rdmacc.notes")
)
"""The constant that switches each field off."""

PLAIN, IN_TIME = "@rdmacc.features = constant i1 false\n", "@rdmacc.windows = constant i1 false\n"
SILENT = "@rdmacc.notes = constant i1 false\n"
"""LLVM's code to link with a kernel to make it plain, to have it go by the order of time, and without notes."""


class _Globals(Row):
    """The type of the row of globals."""


register_model(_Globals)(models.RecordModel)


@lower_getattr_generic(_Globals)
def _read(context: Any, builder: Any, kind: Any, row: Any, name: str) -> Any:
    """Read a field: the constant 0 in a kernel linked without its feature."""
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
