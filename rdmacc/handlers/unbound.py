"""Variables that a handler may read before they have a value: Python raises then, compiled code reads 0."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

__all__ = ["first_unbound"]


def first_unbound(function: ast.FunctionDef) -> ast.Name | None:
    """Return the first use of a local variable that some way through a function has not set.

    Parameters
    ----------
    function : FunctionDef
        Its syntax tree.
    """
    arguments = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    inner = {
        node.id
        for part in ast.walk(function)
        if isinstance(part, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        for node in ast.walk(part)
        if isinstance(node, ast.Name)
    }
    return _Flow(stored - arguments - inner).block(function.body, set())[1]


class _Flow:
    """Follows which of some variables are set."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def block(self, statements: Iterable[ast.stmt], known: set[str]) -> tuple[set[str], ast.Name | None]:
        """Return what is set after statements, all names where they end the function, and the first wrong use."""
        for statement in statements:
            known, wrong = self._statement(statement, known)
            if wrong is not None:
                return known, wrong
        return known, None

    def _statement(self, node: ast.stmt, known: set[str]) -> tuple[set[str], ast.Name | None]:
        if isinstance(node, ast.If):
            wrong = self._unset(node.test, known)
            known = known | self._walrus(node.test)
            one, wrong_one = self.block(node.body, known)
            other, wrong_other = self.block(node.orelse, known)
            return one & other, wrong or wrong_one or wrong_other
        if isinstance(node, ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            wrong = self._unset(head, known)
            known = known | self._walrus(head)
            inside = known | set(self._stored(node.target)) if isinstance(node, ast.For) else known
            after, wrong_inside = self.block(node.body, inside)
            is_endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
            _, wrong_else = self.block(node.orelse, known)
            return after if is_endless else known, wrong or wrong_inside or wrong_else
        wrong = self._unset(node, known)
        if isinstance(node, ast.Return | ast.Raise | ast.Continue | ast.Break):
            return set(self._names), wrong
        return known | set(self._stored(node)), wrong

    def _stored(self, node: ast.AST) -> Iterator[str]:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                yield part.id

    def _walrus(self, node: ast.AST) -> set[str]:
        return {part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)}

    def _unset(self, node: ast.AST, known: set[str]) -> ast.Name | None:
        """Return the first use of what is not set."""
        targets = {id(node.target)} if isinstance(node, ast.AugAssign) else set()
        walrus = self._walrus(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and (isinstance(part.ctx, ast.Load) or id(part) in targets):
                if part.id in self._names - known - walrus:
                    return part
        return None
