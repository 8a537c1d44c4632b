"""Block diagrams of the implementation: which function calls which is read from the functions' own code."""

from types import FunctionType, ModuleType

from ..api import *


def calls_in(module: ModuleType, roots: Mapping[str, Callable[..., Any]]) -> list[tuple[str, str]]:
    """Return (caller, called) for every function of a module that is reached from the roots, in order of discovery."""
    own = {name: one for name, one in vars(module).items() if isinstance(one, FunctionType)}
    pairs: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any]] = list(roots.items())
    seen = set(roots)
    for name, function in waiting:
        for called in function.__code__.co_names:
            if called in own and own[called].__module__ == module.__name__:
                pairs.append((name, called))
                if called not in seen:
                    seen.add(called)
                    waiting.append((called, own[called]))
    return list(dict.fromkeys(pairs))


def rows_of_calls(point: str, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return the calls as rows of a table, caller and called in columns of their own."""
    rows = [(point, "calls", pd.NA, 1.0, "", caller, called) for caller, called in pairs]
    return typed(pd.DataFrame(rows, columns=[*TABLE_COLUMNS, "caller", "called"]))
