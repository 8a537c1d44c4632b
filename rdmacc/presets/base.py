"""Presets: the schemes of one paper or simulator, with its parameter values and the source of each value.

This module also registers the schemes of `rdmacc/schemes/schemes.toml`, since some of them start from a preset's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.errors.typed import typed
from rdmacc.schemes import SCHEMES, Scheme, as_scheme, register_scheme, tables
from rdmacc.schemes.tables import PARTS, scheme_from, value_of, values_from
from rdmacc.units import Quantity


@dataclass(frozen=True)
class Setting:
    """A parameter value that a preset sets."""

    scheme: str
    parameter: str  # with its component: "Red.kmin_bytes"
    value: Any  # in the parameter's base unit, or a string with a unit
    source: str


@dataclass(frozen=True)
class _Entry:
    base: str | Callable[[], Scheme]
    values: Mapping[str, tuple[Any, str]]


@typed
def _with_sources(values: Mapping[str, tuple[Any, str]]) -> dict[str, tuple[Any, str]]:
    """Return values of a preset, each with its source."""
    for name, given in values.items():
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ConfigError(name, given, "a pair: the value and its source")
    return dict(values)


class Preset(Mapping[str, Scheme]):
    """Schemes by name, for hosts with links of one rate.

    Parameters
    ----------
    name : str
        Such as "hpcc-ns3".
    title : str
        The paper or simulator.
    rate : quantity of rate
        Rate of the hosts' links; values that the source scales with it follow.
    values : mapping, optional
        Values that all schemes share: (value, source) by parameter, as in `add`.

    Examples
    --------
    >>> import rdmacc
    >>> rdmacc.preset("hpcc-ns3")["dcqcn"].ack_bytes
    60
    """

    @typed
    def __init__(
        self, name: str, title: str, *, rate: Quantity, values: Mapping[str, tuple[Any, str]] | None = None
    ) -> None:
        from rdmacc.topology.bounds import checked_rate  # imported late, because it loads networkx

        self.name = name
        self.title = title
        self.line_bps = checked_rate(f"rate of preset {name!r}", rate)
        self._values = _with_sources(values or {})
        self._entries: dict[str, _Entry] = {}
        self._made: dict[str, tuple[_Entry, Any, Scheme]] = {}
        """Cached schemes with their inputs: experiments request each of them thousands of times."""

    def add(
        self,
        name: str,
        base: str | Callable[[], Scheme],
        values: Mapping[str, tuple[Any, str]],
        *,
        replace: bool = False,
    ) -> None:
        """Add a scheme.

        Parameters
        ----------
        name : str
            Name of the scheme in the source.
        base : str or callable
            A registered scheme, or a function that returns one.
        values : mapping
            Values that the source sets: (value, source) by parameter, named as in `Scheme.replace`. A value may be a
            function of the line rate in bit/s. Other parameters keep their default, which has its own source.
        replace : bool
            Replace an existing scheme of that name.

        Raises
        ------
        ConfigError
            If the name is taken, or a value has no source.
        """
        if name in self._entries and not replace:
            allowed = "must not be in the preset yet, unless replace=True"
            raise ConfigError(f"scheme of preset {self.name!r}", name, allowed)
        self._entries[name] = _Entry(base, _with_sources(values))

    def at(self, rate: Quantity) -> Preset:
        """Return the preset for another rate of the hosts' links."""
        other = Preset(self.name, self.title, rate=rate, values=self._values)
        other._entries = self._entries
        return other

    def settings(self, name: str) -> list[Setting]:
        """Return the values that the preset sets for one of its schemes."""
        base, entry = self._base(name)
        found = []
        for parameter, (value, source) in (self._values | dict(entry.values)).items():
            owner, own_name = base.owner(parameter)
            at_rate = value(self.line_bps) if callable(value) else value
            found.append(Setting(name, f"{type(owner).__name__}.{own_name}", at_rate, source))
        return found

    def sources(self, name: str) -> dict[str, str]:
        """Return the sources of the values that the preset sets for a scheme, by parameter, for `scheme_table`."""
        return {one.parameter: one.source for one in self.settings(name)}

    def _entry(self, name: str) -> _Entry:
        if name not in self._entries:
            raise unknown(f"scheme of preset {self.name!r}", name, self._entries)
        return self._entries[name]

    def _base(self, name: str) -> tuple[Scheme, _Entry]:
        entry = self._entry(name)
        return as_scheme(entry.base() if callable(entry.base) else entry.base), entry

    def __getitem__(self, name: str) -> Scheme:
        entry = self._entry(name)
        registered = SCHEMES.get(entry.base) if isinstance(entry.base, str) else entry.base
        then = self._made.get(name)
        if then is None or then[0] is not entry or then[1] is not registered:
            changes = {one.parameter: one.value for one in self.settings(name)}
            made = self._base(name)[0].replace(name=name, preset=self.name, **changes)
            then = self._made[name] = entry, registered, made
        return then[2]

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Preset {self.name!r} at {self.line_bps / 1e9:g} Gb/s: {', '.join(self._entries)}>"


_FOLDER = Path(__file__).parent


class _Presets(Mapping[str, Preset]):
    """Reads a preset's file on first use."""

    def __init__(self) -> None:
        self._files = {path.stem: path for path in sorted(_FOLDER.glob("*.toml"))}
        self._made: dict[str, Preset | None] = dict.fromkeys(self._files)

    def __getitem__(self, name: str) -> Preset:
        made = self._made[name]
        if made is None:
            made = self._made[name] = _read(name, self._files)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._made)

    def __len__(self) -> int:
        return len(self._made)

    def keep(self, one: Preset) -> None:
        self._made[one.name] = one

    def add_file(self, path: Path) -> None:
        self._files[path.stem], self._made[path.stem] = path, None


def _read(name: str, files: Mapping[str, Path]) -> Preset:
    content = _content(name, files)
    made = Preset(name, content["title"], rate=content["rate"], values=_values(content.get("values", {})))
    for scheme, own in content["schemes"].items():
        base = partial(_bare, own.pop("bare")) if "bare" in own else own.pop("base", scheme)
        groups = own.pop("groups", ())
        made.add(scheme, base, {key: one for group in groups for key, one in _values(content["groups"][group]).items()}
                 | _values(own))  # fmt: skip
    return made


def _content(name: str, files: Mapping[str, Path]) -> dict[str, Any]:
    import tomllib  # imported on first use: this takes longer than listing the files

    own = tomllib.loads(files[name].read_text(encoding="utf-8"))
    return _merged(_content(own["like"], files), own) if "like" in own else own


def _merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    both = {key: _merged(base[key], own[key]) for key in base.keys() & own.keys() if isinstance(own[key], dict)}
    return {**base, **own, **both}


def _values(content: Mapping[str, tuple[Any, str]]) -> dict[str, tuple[Any, str]]:
    return {name: (_value(value), source) for name, (value, source) in content.items()}


def _value(value: Any) -> Any:
    if isinstance(value, dict) and "formula" in value:
        return partial(_formula, value["formula"])
    return tuple(value) if isinstance(value, list) else value_of(value)


def _formula(text: str, line_bps: float) -> int | float:
    return eval(text, {"line_bps": line_bps})


PRESETS = _Presets()
"""The presets by name, each at the rate that its source mainly uses."""


@typed
def define(one: Preset, *, replace: bool = False) -> Preset:
    """Add a preset under its name, which must be new unless `replace` is True; return it."""
    if one.name in PRESETS and not replace:
        raise ConfigError("preset name", one.name, "must not be defined yet, unless replace=True")
    PRESETS.keep(one)
    return one


def preset(name: str, rate: Quantity | None = None) -> Preset:
    """Return the preset of that name, a mapping from names to schemes.

    Parameters
    ----------
    name : str
        One of `PRESETS`.
    rate : quantity of rate, optional
        Rate of the hosts' links; default: that of the source.

    Raises
    ------
    ConfigError
        If there is no such preset, or the rate is not one.
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise unknown("preset", name, PRESETS, "the name of a preset")
    return PRESETS[name] if rate is None else PRESETS[name].at(rate)


@cache
def _compositions() -> dict[str, Any]:
    return _content("schemes", {"schemes": Path(tables.__file__).with_name("schemes.toml")})


def _composition(kind: str, name: str) -> dict[str, Any]:
    """Return the table of a registered or bare scheme, with groups and named parts filled in."""
    groups = _compositions()["groups"]
    table = {"name": name, **_compositions()[kind][name]}
    for group in table.pop("groups", ()):
        table = groups[group] | table
    table.pop("about", None)
    for part in table.keys() & set(PARTS):
        one = table[part]
        table[part] = [_named(each) for each in one] if isinstance(one, list) else _named(one)
    return table


def _named(part: Any) -> Any:
    """Look up a part that `schemes.toml` names; return other parts unchanged."""
    return _compositions()["parts"].get(part, part) if isinstance(part, str) else part


def _bare(name: str) -> Scheme:
    return scheme_from(_composition("bare", name))


def _like_another(name: str) -> Scheme:
    """Return a scheme that starts from another one, registered or of a preset."""
    table = _composition("schemes", name)
    *of, other = table.pop("like").split("/")
    base = preset(of[0])[other] if of else as_scheme(other)
    return base.replace(**values_from(table))


def register_all() -> None:
    """Register the schemes of `schemes.toml`."""
    for name, table in _compositions()["schemes"].items():
        make = partial(_like_another, name) if "like" in table else partial(scheme_from, _composition("schemes", name))
        register_scheme(name, make, about=table["about"])
