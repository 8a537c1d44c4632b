"""Compiles through Numba's private interfaces: one translation unit at a time, optimized once.

For each function that compiled code calls, Numba makes a library: it links in the callees, optimizes all of it and
emits machine code. So a function ten calls deep is optimized ten times. Here called functions (`Part`) are only
lowered. The entry points that Python or the kernel calls are linked with all their callees, then optimized and emitted
once. Their callees are private to them, so LLVM inlines a function with one caller, and drops functions inlined
everywhere.

No other module uses undocumented parts of Numba. `numba_public` does the same without them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any
from weakref import WeakSet

from llvmlite import binding
from numba import njit, types
from numba.core.ccallback import _CFuncCompiler  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.errors import new_error_context  # type: ignore[attr-defined]
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering

from rdmacc.engine.compiled.machine_code.numba_public import NotCompiledError, native, signature_of


class _NoEnvironment:
    """Parts are never called from Python, so that nothing looks for the globals of their modules."""

    def set_env(self, name: str, environment: Any) -> None:
        pass


class _PartLibrary(JITCodeLibrary):
    """The library of a function that only compiled code calls."""

    codegen = _NoEnvironment()
    _shared_module: Any

    def _optimize_functions(self, module: Any) -> None:
        """Skip optimization, which the unit does; only set the target machine."""
        module.data_layout = self._codegen._data_layout

    def finalize(self) -> None:
        """Leave linking and optimizing to the unit."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration:
                function.linkage = "linkonce_odr"
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: there is no machine code."""
        self._ensure_finalized()
        return 0

    def _get_module_for_linking(self) -> Any:
        """Return the code linked with everything it calls, for a library of Numba's own."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            _link(self._shared_module, self)
        return self._shared_module


def _link(module: Any, library: Any) -> None:
    """Link into a module all that a library's code calls.

    LLVM leaves out a function that nothing calls yet. So what calls comes first, and Numba's own libraries, which call
    nothing of ours, come last.
    """
    for called in sorted(_reached(library), key=lambda called: not isinstance(called, _PartLibrary)):
        code = called._final_module if isinstance(called, _PartLibrary) else called._get_module_for_linking()
        module.link_in(code, preserve=True)


def _reached(library: Any) -> Iterator[Any]:
    """Yield the library of every direct or indirect callee, once each."""
    found = {library}
    todo = [library]
    while todo:
        for called in todo.pop()._linking_libraries:
            if called not in found:
                found.add(called)
                yield called
                if isinstance(called, _PartLibrary):  # others hold what they call
                    todo.append(called)


_RARE: WeakSet[Callable[..., Any]] = WeakSet()


@register_pass(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower into a `_PartLibrary`."""
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        changed = bool(super().run_pass(state))
        if state.func_id.func in _RARE:
            function = state.library._final_module.get_function(state["cr"].fndesc.mangled_name)
            function.add_function_attribute("cold")
            function.add_function_attribute("noinline")
        return changed


_WITHOUT = {
    "ir_processing", "with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function",
    "inline_inlinables", "find_literally", "literal_unroll", "LiteralPropagation", "inline_overloads",
    "nopython_rewrites", "annotate_types", "dump_parfor_diagnostics",
}  # fmt: skip
"""Passes for what our functions never have: `with`, closures, comprehensions, literal types, expressions of arrays.
What the first one does, later ones repeat."""


class _Passes(PassManager):
    """Numba's pipeline with our lowering. A pass is run and no more: it is neither timed nor checked.

    This and the passes left out save a fifth of the time to compile; the machine code is the same.
    """

    def __init__(self, passes: Iterable[tuple[Any, str]]) -> None:
        super().__init__("nopython")
        for step, why in passes:
            if step.name() not in _WITHOUT:
                self.add_pass(_PartLowering if step is NativeLowering else step, why)
        self.finalize()

    def _runPass(self, index: int, step: Any, state: Any) -> None:
        step.analysis = self._analysis
        with new_error_context("Pass {name}", name=step.name()):
            step.run_pass(state)


_PASSES: list[_Passes] = []  # one pipeline, which all functions share


class _PartCompiler(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        if not _PASSES:
            _PASSES.append(_Passes(DefaultPassBuilder.define_nopython_pipeline(self.state).passes))
        return _PASSES


PART = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""Options for a function that compiled code calls: without the ways in from Python and C, a third of the work."""

OVERLOAD = {"pipeline_class": _PartCompiler, **PART}  # options for the compiled form of a function that handlers call


class Part(CPUDispatcher):
    """A function that compiled code calls. There is one version of it for all widths of integers: 64 bits."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, targetoptions={"nopython": True, **PART, **options}, pipeline_class=_PartCompiler)

    def __call__(self, *args: Any) -> Any:
        """Call it from Python, as tests do, through Numba's usual compilation."""
        return self._unit(*args)

    @cached_property
    def _unit(self) -> Any:
        return njit(error_model="numpy")(self.py_func)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Resolve a call with its integers widened."""
        return super().get_call_template([_widened(kind) for kind in args], kws)


def cold(function: Callable[..., Any]) -> Part:
    """Compile a rarely called function out of line, so that hot code stays together."""
    _RARE.add(function)
    return Part(function)


_SIGNATURES: dict[tuple[Any, tuple[types.Type, ...]], Any] = {}
"""Signatures of operators on numbers, by function and types of arguments."""


def _signature(function: types.BaseFunction, context: Any, args: Any, kws: Any) -> Any:
    """Return a call's signature, as `BaseFunction.get_call_type` does, but look up each operator on numbers only once.

    Numba tries dozens of definitions for each call. A definition that Numba compiles depends on the caller's options,
    so its signature is not kept.
    """
    key = function, tuple(args)
    if key in _SIGNATURES:
        return _SIGNATURES[key]
    found = _find_signature(function, context, args, kws)
    if not kws and all(isinstance(kind, types.Number | types.Boolean) for kind in key[1]):
        if function.get_impl_key(found) is function.typing_key:
            _SIGNATURES[key] = found
    return found


_find_signature = types.BaseFunction.get_call_type


@contextmanager
def _remembering_signatures() -> Iterator[None]:
    """Reuse operators' signatures; only while the compiler's lock keeps other code out."""
    types.BaseFunction.get_call_type = _signature
    try:
        yield
    finally:
        types.BaseFunction.get_call_type = _find_signature


def _widened(kind: types.Type) -> types.Type:
    kind = types.unliteral(kind)
    return types.int64 if isinstance(kind, types.Integer) and kind.signed else kind


@global_compiler_lock
@_remembering_signatures()
def object_code(
    functions: Mapping[str, Callable[..., Any]], signature: str, definitions: str = "", **options: Any
) -> bytes:
    """As `rdmacc.engine.compiled.machine_code.units.object_code`."""
    arguments, result = signature_of(signature)
    options = {"nopython": True, "error_model": "numpy", **options}
    unit = _PartLibrary(_codegen(), "unit")
    symbols = {}
    for name, function in functions.items():
        compiler = _CFuncCompiler(function, cpu_target, options, {}, _PartCompiler)
        try:
            made = compiler.compile(arguments, result)
        except Exception as error:  # Numba raises others than its own, too
            raise NotCompiledError(name, error) from error
        symbol = made.fndesc.llvm_cfunc_wrapper_name
        symbols[symbol] = name
        unit.add_linking_library(made.library)
        made.library._final_module.get_function(symbol).linkage = "external"  # else the linker leaves it out
    module = unit._final_module
    _link(module, unit)
    module.link_in(binding.parse_assembly(definitions))
    for constant in module.global_variables:
        if not constant.is_declaration:
            constant.linkage = "internal"
    for function in module.functions:
        if function.name in symbols:
            function.name, function.linkage = symbols[function.name], "external"
        elif not function.is_declaration:
            function.linkage = "internal"
    passes, builder = _codegen()._module_pass_manager()
    passes.run(module, builder)
    module.verify()
    return native(module)


@cache
def _codegen() -> Any:
    return cpu_target.target_context.codegen()


@cache
def prepare() -> None:
    rtsys.initialize(cpu_target.target_context)
    _codegen()


def _check() -> None:
    """Raise an ImportError if Numba's objects lack an attribute that is used here."""
    library = _codegen().create_library("check")
    used = {
        JITCodeLibrary: ("_get_module_for_linking",),
        library: ("_final_module", "_linking_libraries", "_raise_if_finalized", "_ensure_finalized", "_codegen"),
        _codegen(): ("_data_layout", "_module_pass_manager"),
        CPUDispatcher: ("get_call_template",),
        DefaultPassBuilder: ("define_nopython_pipeline",),
        PassManager: ("_runPass", "add_pass", "finalize"),
        types.BaseFunction: ("get_call_type", "get_impl_key"),
    }
    missing = [name for owner, names in used.items() for name in names if not hasattr(owner, name)]
    if missing:
        raise ImportError(f"cannot find {', '.join(missing)}")


_check()
