"""Schemes by name: what is registered, and a table of a scheme's parameters."""

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType, MappingProxyType
from typing import Any

from rdmacc.caching.lifetimes import Kept
from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.schemes.composition import Scheme, links_of
from rdmacc.schemes.evidence import parameter_rows
from rdmacc.schemes.tables import scheme_from

SCHEMES: dict[str, Callable[[], Scheme]] = {}
"""Functions by scheme name; each creates the scheme with its default parameters."""

_ABOUT: dict[str, str] = {}

_MADE = Kept(16)  # schemes that depend only on their fixed components


def register_scheme(name: str, make: Callable[[], Scheme], *, about: str = "", replace: bool = False) -> None:
    """Add a scheme under a name, so that `scheme(name)` and the command line find it.

    Parameters
    ----------
    name : str
        The name.
    make : callable
        Creates the scheme with its default parameters.
    about : str
        One-line description for lists of schemes. Default: the first line of `make`'s docstring.
    replace : bool
        Replace an existing scheme of that name.

    Raises
    ------
    ConfigError
        If the name or `about` is not a string, or the name is taken.
    """
    if not isinstance(name, str) or not (name and name.isprintable()):
        raise ConfigError("scheme name", name, "a non-empty string in one line")
    if not callable(make):
        raise ConfigError(f"scheme {name!r}", make, "a function that makes the scheme")
    if name in SCHEMES and not replace:
        raise ConfigError("scheme name", name, "must not be registered yet, unless replace=True")
    if not isinstance(about, str):
        raise ConfigError(f"about, of scheme {name!r}", about, "a string")
    SCHEMES[name] = make
    _ABOUT[name] = about


@typed
def about(name: str) -> str:
    """Return a one-line description of a scheme: as registered, from the function's docstring, or its components."""
    made = scheme(name)
    documented = getattr(SCHEMES[name], "__doc__", None) if isinstance(SCHEMES[name], FunctionType) else None
    text = _ABOUT.get(name) or documented or ", ".join(type(part).__name__ for part in made.components)
    return text.strip().splitlines()[0]


def scheme(name: str, /, **changes: Any) -> Scheme:
    """Return the scheme of that name, with some parameters changed.

    Parameters
    ----------
    name : str
        One of `SCHEMES`.
    **changes
        Values by parameter, as in `Scheme.replace`; a time carries its unit, as in ``"4us"`` or ``us(4)``.

    Raises
    ------
    ConfigError
        If there is no such scheme or parameter, or a value is not allowed.

    Examples
    --------
    >>> scheme("dcqcn", cnp_interval_ps="4us").control[0].cnp_interval_ps
    4000000
    >>> scheme("dcqcn", **{"Pfc.alpha": 0.5}).buffer.alpha
    0.5
    """
    if not isinstance(name, str) or name not in SCHEMES:
        raise unknown("scheme", name, SCHEMES, "a Scheme or the name of one")
    made = SCHEMES[name]()
    if not isinstance(made, Scheme):
        raise ConfigError(f"scheme {name!r}", made, "a Scheme, which the registered function must return")
    return made.given(changes)


def as_scheme(value: str | Scheme) -> Scheme:
    """Return the scheme of a name, or the scheme itself."""
    if isinstance(value, Scheme):
        return value
    if isinstance(value, str):
        make = SCHEMES.get(value)
        is_fixed = isinstance(make, partial) and make.func is scheme_from
        return _MADE.get(make if is_fixed else None, lambda: scheme(value))
    raise unknown("scheme", value, SCHEMES, "a Scheme or the name of one")


@typed
def scheme_table(
    value: str | Scheme, sources: Mapping[str, str] = MappingProxyType({}), network: Any = None
) -> list[dict[str, Any]]:
    """Return the parameters of a scheme, one row each: component, parameter, value, and its source.

    Parameters
    ----------
    value : str or Scheme
        The scheme.
    sources : mapping
        Sources of values, by "Component.parameter"; other values have the source of their default.
    network : networkx.Graph or Links, optional
        Return values for this network, at a host's link. Default: values as stored.

    Returns
    -------
    list of dict
        `component`, `parameter`, `value`, `unit`, `symbol`, `source`, `evidence`, `doc`, `scaled`. `evidence` is the
        kind of evidence for the value: measured, vendor, paper, declared or assumed (`rdmacc.schemes.evidence`).
        `scaled` says how it scales with the network, or is None.
    """
    chosen = as_scheme(value)
    return parameter_rows(chosen, sources, None if network is None else links_of(network, chosen))
