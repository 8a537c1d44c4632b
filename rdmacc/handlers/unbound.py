"""Find variables that a handler may read before they have a value: Python would raise, compiled code would read 0."""

import ast
from collections.abc import Iterable, Iterator, Sequence
from functools import cache


@cache
def first_unbound(function: ast.FunctionDef) -> ast.Name | None:
    """Return the first use of a local variable that is unset on some path through a function."""
    arguments = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return _Flow(stored - arguments).block(function.body, set())[1]


def falls_through(statements: Sequence[ast.stmt]) -> bool:
    """Return whether some path through statements may reach their end."""
    if not statements:
        return True
    last = statements[-1]
    if isinstance(last, ast.If):
        return falls_through(last.body) or falls_through(last.orelse)
    is_endless = isinstance(last, ast.While) and isinstance(last.test, ast.Constant) and bool(last.test.value)
    if is_endless:
        return any(isinstance(node, ast.Break) for node in ast.walk(last))
    return not isinstance(last, ast.Return | ast.Raise)


class _Flow:
    """Tracks which variables are set."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def block(self, statements: Iterable[ast.stmt], known: set[str]) -> tuple[set[str], ast.Name | None]:
        """Return the variables set after statements (all, if they end the function), and the first wrong use."""
        for statement in statements:
            known, wrong = self._statement(statement, known)
            if wrong is not None:
                return known, wrong
        return known, None

    def _statement(self, node: ast.stmt, known: set[str]) -> tuple[set[str], ast.Name | None]:
        if isinstance(node, ast.If):
            wrong = self._unset(node.test, known)
            one, wrong_one = self.block(node.body, known)
            other, wrong_other = self.block(node.orelse, known)
            return one & other, wrong or wrong_one or wrong_other
        if isinstance(node, ast.For | ast.While):
            head = node.iter if isinstance(node, ast.For) else node.test
            wrong = self._unset(head, known)
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

    def _unset(self, node: ast.AST, known: set[str]) -> ast.Name | None:
        """Return the first use of an unset variable."""
        targets = {id(node.target)} if isinstance(node, ast.AugAssign) else set()
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and (isinstance(part.ctx, ast.Load) or id(part) in targets):
                if part.id in self._names - known:
                    return part
        return None
