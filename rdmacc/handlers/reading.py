"""What a handler's source says, read before anything runs: which fields it reads, and which it writes.

Both engines keep records of their own behind the ones that a handler sees. A handler that writes the field of another
owner, as a packet's destination, would corrupt the compiled engine's memory, and one that misspells a field would fail
in the middle of a run. So the syntax trees of a scheme's handlers, and of the functions that they call, are checked
when the scheme is made. A function whose source cannot be read, as one made by `exec`, is not checked.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from rdmacc import bits, chance
from rdmacc.component import RECORD_KINDS, Component
from rdmacc.errors import ConfigError, unknown
from rdmacc.handlers.unbound import first_unbound
from rdmacc.records import Field
from rdmacc.state import Host, Message, Packet, Port, QueuePair

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

__all__ = ["NATIVE", "check_handlers", "source_tree"]

NATIVE = (
    chance.hash63, chance.uniform, bits.has_bit, bits.set_bit, bits.clear_bit, bits.find_set, bits.find_clear,
)  # fmt: skip
"""Functions for handlers that each engine has in a form of its own."""

_RECORDS = {"packet": Packet, "reply": Packet, "notice": Packet, "request": Packet, "message": Message, "qp": QueuePair,
            "host": Host, "port": Port}  # fmt: skip
_OWN = {kind.lower(): kind for kind in RECORD_KINDS if kind != "Header"}

_MAY_WRITE: dict[str, frozenset[str]] = {
    "message": frozenset({"next_psn", "una_psn", "granted_psn", "received_packets", "timeouts", "failed", "priority"}),
    "qp": frozenset({"inflight_bytes", "credits"}),
    "host": frozenset({"announce", "pick"}),
    "port": frozenset({"chance_count"}),
    "reply": frozenset({"kind", "psn", "priority", "wire_bytes", "path", "ce"}),
    "notice": frozenset({"kind", "psn", "priority", "wire_bytes", "path", "ce"}),
    "request": frozenset({"kind", "psn", "priority", "wire_bytes", "path", "ce"}),
}
"""The engines' fields that handlers may write, by argument; of the component's own records all."""

_MAY_WRITE_OF_PACKET = {
    "on_send": frozenset({"wire_bytes", "priority", "path", "ce"}),
    "on_ack": frozenset({"kind"}),
    "on_data": frozenset({"accepted", "ce"}),
    "on_request": frozenset({"accepted", "ce"}),
    "on_route": frozenset({"route", "verdict", "ce", "priority"}),
    "on_deflect": frozenset({"ce", "priority"}),
    "on_enqueue": frozenset({"verdict", "ce", "priority", "wire_bytes"}),
    "on_dequeue": frozenset({"ce", "priority"}),
}
"""Those of `packet`, by hook; elsewhere none."""

_REFUSED = {
    ast.Import: "import", ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal",
    ast.Delete: "del", ast.With: "with", ast.Yield: "yield", ast.YieldFrom: "yield from", ast.Await: "await",
    ast.AsyncFor: "async for", ast.AsyncWith: "async with", ast.Try: "try",
}  # fmt: skip
_CHANCE = ("random", "secrets", "time", "datetime", "uuid")


def check_handlers(scheme: Scheme) -> None:
    """Raise `ConfigError` if a handler reads a field that is not there, or writes one that it may not.

    Parameters
    ----------
    scheme : Scheme
        Its components' handlers are read.

    Raises
    ------
    ConfigError
        Naming component, handler, line and the fields that there are.
    """
    headers = frozenset(
        field for part in scheme.components if (record := part.record("Header")) is not None for field in record.fields
    )
    for part in scheme.components:
        params = frozenset(name for name, value in vars(part).items() if type(value) in (bool, int, float))
        for name, function in part.handlers().items():
            owner: Any = type(part)
            problem = _problem(owner, name, function, params, headers)
            if problem is not None:
                raise type(problem)(*problem.args)


@cache
def _problem(
    owner: type[Component],
    name: str,
    function: Callable[..., Any],
    params: frozenset[str],
    headers: frozenset[Field],
) -> ConfigError | None:
    """Return what is wrong with a handler; schemes are made often, sources are read once."""
    fields: dict[str, frozenset[str]] = {"params": params}
    writable: dict[str, frozenset[str]] = {"params": frozenset()}
    vectors: dict[str, frozenset[str]] = {}
    for role, record in _RECORDS.items():
        fields[role] = frozenset(field.name for field in record.fields)
        writable[role] = _MAY_WRITE.get(role, frozenset())
        if record is Packet:
            names = frozenset(field.name for field in headers)
            fields[role] |= names
            writable[role] |= names
            vectors[role] = frozenset(field.name for field in headers if field.length)
    writable["packet"] |= _MAY_WRITE_OF_PACKET.get(name, frozenset())
    if name == "on_candidate":
        writable["message"] |= {"key"}
    for role, kind in _OWN.items():
        own = owner.record(kind)
        if own is not None:
            fields[role] = frozenset(field.name for field in own.fields)
            writable[role] = frozenset(field.name for field in own.fields if not field.is_bits)
            vectors[role] = frozenset(field.name for field in own.fields if field.is_bits or field.length)
    if name.endswith("_timer"):  # of an endpoint: the reply is about the message that it names
        writable["reply"] |= {"message"}
    roles = {argument: frozenset({argument}) for argument in inspect.signature(function).parameters}
    reader = _Reader(f"{owner.__name__}.{name}", fields, writable, vectors)
    try:
        reader.read(function, roles)
    except ConfigError as error:
        return error
    return None


@cache
def source_tree(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """Return the syntax tree of a function, with the line numbers of its file; None if its source cannot be read.

    Parameters
    ----------
    function : callable
        A plain function.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    ast.increment_lineno(tree, max(first, 1) - 1)
    return tree.body[0]


class _Reader:
    """Reads a handler, and the plain functions that it calls, for one component."""

    def __init__(
        self,
        handler: str,
        fields: Mapping[str, frozenset[str]],
        writable: Mapping[str, frozenset[str]],
        vectors: Mapping[str, frozenset[str]],
    ) -> None:
        self._handler, self._fields, self._writable, self._vectors = handler, fields, writable, vectors
        self._done: set[Any] = set()
        self._under_way: list[Callable[..., Any]] = []

    def read(self, function: Callable[..., Any], roles: Mapping[str, frozenset[str]]) -> None:
        """Raise a ConfigError for the first wrong line; `roles` tells which arguments are which records."""
        key = function, tuple(sorted((name, tuple(sorted(role))) for name, role in roles.items()))
        tree = source_tree(function)
        if key in self._done or tree is None:
            return
        self._done.add(key)
        unset = first_unbound(tree)
        if unset is not None:
            raise self._error(unset, unset.id, "must be set on every way to this line: give it a value first")
        names = dict(roles)
        self._under_way.append(function)
        for statement in tree.body:
            self._visit(statement, names, function)
        self._under_way.pop()

    def _visit(self, node: ast.AST, names: dict[str, frozenset[str]], function: Callable[..., Any]) -> None:
        if type(node) in _REFUSED:
            word = _REFUSED[type(node)]
            hint = "; import in the module, outside the class" if word == "import" else ""
            raise self._error(node, word, f"must not use `{word}` in a handler: the engines compile it{hint}")
        if isinstance(node, ast.Raise) and node.cause is not None:
            raise self._error(node, "raise ... from", "must not name a cause: the engines compile it")
        if isinstance(node, ast.Assign):
            self._visit(node.value, names, function)
            for target in node.targets:
                self._assign(target, node.value, names, function)
            return
        if isinstance(node, ast.AugAssign):
            self._visit(node.value, names, function)
            self._check_elements((node.value, node.target), names)
            self._check(node.target, names, is_write=True)
            self._visit_inside(node.target, names, function)
            return
        if isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            self._visit(node.value, names, function)
            self._assign(node.target, node.value, names, function)
            return
        if isinstance(node, ast.For):
            self._visit(node.iter, names, function)
            if isinstance(node.iter, ast.Tuple | ast.List) and isinstance(node.target, ast.Name):
                names[node.target.id] = frozenset().union(*(self._roles(item, names) for item in node.iter.elts))
            for statement in (*node.body, *node.orelse):
                self._visit(statement, names, function)
            return
        if isinstance(node, ast.Call):
            self._call(node, names, function)
        elif isinstance(node, ast.Attribute):
            self._check(node, names, is_write=False)
            self._check_chance(node, function)
        elif isinstance(node, ast.Subscript) and self._roles(node.value, names):
            raise self._error(node, ast.unparse(node), "must name a record's field after a dot")
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            self._check_elements((node.value,), names)
        elif isinstance(node, ast.BinOp):
            self._check_elements((node.left, node.right), names)
        elif isinstance(node, ast.Compare):
            self._check_elements((node.left, *node.comparators), names)
        elif isinstance(node, ast.UnaryOp):
            self._check_elements((node.operand,), names)
        self._visit_inside(node, names, function)

    def _visit_inside(self, node: ast.AST, names: dict[str, frozenset[str]], function: Callable[..., Any]) -> None:
        for child in ast.iter_child_nodes(node):
            self._visit(child, names, function)

    def _assign(
        self, target: ast.AST, value: ast.AST, names: dict[str, frozenset[str]], function: Callable[..., Any]
    ) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            pairs = values if len(values) == len(target.elts) else [ast.Constant(0)] * len(target.elts)
            for one, its in zip(target.elts, pairs, strict=True):
                self._assign(one, its, names, function)
        elif isinstance(target, ast.Name):
            names[target.id] = self._roles(value, names)
        else:
            self._check(target, names, is_write=True)
            self._check_elements((target,), names)
            self._visit_inside(target, names, function)

    def _roles(self, node: ast.AST, names: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """Return the records that an expression may be."""
        if isinstance(node, ast.Name):
            return frozenset(role for role in names.get(node.id, ()) if role in self._fields)
        if isinstance(node, ast.IfExp):
            return self._roles(node.body, names) | self._roles(node.orelse, names)
        if isinstance(node, ast.BoolOp):
            return frozenset().union(*(self._roles(value, names) for value in node.values))
        return frozenset()

    def _check(self, node: ast.AST, names: Mapping[str, frozenset[str]], is_write: bool) -> None:
        """Check a field that is read or written: `packet.ce`, `sender.rates[3]`."""
        if isinstance(node, ast.Subscript):
            node = node.value
        if not isinstance(node, ast.Attribute):
            return
        for role in sorted(self._roles(node.value, names)):
            known = self._fields[role]
            text = ast.unparse(node)
            if node.attr not in known:
                noun = "a parameter that is a number" if role == "params" else f"a field of `{role}`"
                raise self._unknown(node, text, node.attr, known, noun)
            if is_write and node.attr not in self._writable[role]:
                raise self._error(node, f"{text} = ...", self._allowed(role))

    def _check_elements(self, nodes: Iterable[ast.AST], names: Mapping[str, frozenset[str]]) -> None:
        """Check that none is a whole vector: a list for one engine, an array for the other, a set of packets."""
        for node in nodes:
            if isinstance(node, ast.Attribute):
                for role in self._roles(node.value, names):
                    if node.attr in self._vectors.get(role, ()):
                        allowed = "must be used element by element; a set of packets, by the functions of rdmacc.bits"
                        raise self._error(node, ast.unparse(node), allowed)

    def _check_chance(self, node: ast.Attribute, function: Callable[..., Any]) -> None:
        if not isinstance(node.value, ast.Name):
            return
        value = function.__globals__.get(node.value.id)
        if isinstance(value, types.ModuleType):
            is_numpy = value.__name__ == "numpy" and node.attr == "random"
            if is_numpy or value.__name__.split(".")[0] in _CHANCE or value.__name__.startswith("numpy.random"):
                allowed = "must take chance from rdmacc.chance and the time from `now`, so that runs can be repeated"
                raise self._error(node, ast.unparse(node), allowed)

    def _allowed(self, role: str) -> str:
        names = sorted(self._writable[role])
        if role == "params":
            return "must not write parameters: they are the same for all; keep what changes in a record"
        hook = self._handler.rsplit(".", 1)[1]
        if not names:
            return f"must not write `{role}` in {hook}: its fields are the engine's"
        return f"must write no field of the engine's; of `{role}` {hook} may write {', '.join(names)}"

    def _call(self, node: ast.Call, names: Mapping[str, frozenset[str]], function: Callable[..., Any]) -> None:
        if not isinstance(node.func, ast.Name):
            return
        called = function.__globals__.get(node.func.id)
        if node.func.id in ("setattr", "delattr", "vars", "open", "input", "exec", "eval") and called is None:
            raise self._error(node, f"{node.func.id}(...)", f"must not call {node.func.id} in a handler")
        if not isinstance(called, types.FunctionType) or called in NATIVE:
            return
        if called in self._under_way:
            raise self._error(node, f"{node.func.id}(...)", "must not call itself: use a loop")
        try:
            bound = inspect.signature(called).bind(
                *(self._roles(value, names) for value in node.args if not isinstance(value, ast.Starred)),
                **{word.arg: self._roles(word.value, names) for word in node.keywords if word.arg},
            )
        except TypeError:
            return  # the engines will say so
        self.read(called, {name: value for name, value in bound.arguments.items() if isinstance(value, frozenset)})

    def _error(self, node: ast.AST, value: str, allowed: str) -> ConfigError:
        return ConfigError(self._handler, _Code(value), allowed, where=f"line {getattr(node, 'lineno', '?')}")

    def _unknown(self, node: ast.AST, text: str, name: str, known: Iterable[str], noun: str) -> ConfigError:
        names = sorted(known)
        guess = unknown("", name, names, noun).allowed
        meant = guess.split("; did you mean ")[1].rstrip("?") if "; did you mean " in guess else ""
        allowed = f"must be {noun}" + (f"; did you mean {meant}?" if meant else ".")
        listed = f"There are {', '.join(names)}" if names else "There is none"
        return self._error(node, text, f"{allowed} {listed}")


class _Code(str):
    """Source text: shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)
