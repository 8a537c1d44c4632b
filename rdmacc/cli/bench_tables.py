"""The benchmarks' tables, and comparison with a stored run."""

from __future__ import annotations

import json
import math
import os
import platform
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import rdmacc
from rdmacc.cli.bench import FixedCost, Measurement, measure
from rdmacc.cli.bench_cases import CASES, FIXED_GOAL_S
from rdmacc.cli.report import table
from rdmacc.errors import ConfigError
from rdmacc.sources import git_commit
from rdmacc.units import format_size

_ROUNDS = 3


def root() -> Path:
    """Return the folder of the running code."""
    return Path(rdmacc.__file__).resolve().parent.parent


def append_to(path: Path, measured: Iterable[Measurement]) -> None:
    """Append measurements to a file, each as a line of JSON: a history over commits, readable by pandas."""
    about = {
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git_commit(),
        "version": rdmacc.__version__,
        "python": platform.python_version(),
        "numba": metadata.version("numba"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }
    try:
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(about | one.to_dict()) + "\n" for one in measured)
    except OSError as error:
        raise ConfigError("--record", str(path), f"a file that can be written ({error})") from None


@dataclass(frozen=True)
class Stored:
    """Output of ``rdmacc bench --json``: measurements, and the folder of the code that made them."""

    measurements: Sequence[Measurement]
    root: Path | None

    @classmethod
    def load(cls, path: Path) -> Stored:
        """Read a file."""
        try:
            content = json.loads(path.read_text())
            measurements = [Measurement.from_dict(one) for one in content["measurements"]]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ConfigError("--compare", str(path), f"a file that `rdmacc bench --json` wrote ({error})") from None
        made_by = Path(content["root"]) if content.get("root") else None
        return cls(measurements, made_by)

    @property
    def rerun(self) -> Path | None:
        """The checkout that made it, if it still exists and is not this one."""
        is_there = self.root is not None and (self.root / "rdmacc" / "cli" / "bench.py").exists()
        return self.root if is_there and self.root != root() else None


@dataclass(frozen=True)
class Comparison:
    """One case with two versions of the code: packet-hops per second of each, round by round."""

    case: str
    engine: str
    before: Sequence[float]
    after: Sequence[float]

    @property
    def ratio(self) -> float:
        """After over before: the median of the rounds."""
        return statistics.median(new / old for old, new in zip(self.before, self.after, strict=True))


Measure = Callable[[str, str, float, Path | None], Measurement]


def compare(
    stored: Stored, names: Iterable[str], rounds: int = _ROUNDS, measure: Measure = measure
) -> Iterable[Comparison]:
    """Yield each stored case together with the same case run by this code.

    If the checkout that made the stored run still exists, both versions run alternately, so that other load on the
    machine slows down both. Otherwise this code is compared with the stored numbers.
    """
    wanted = set(names)
    for old in stored.measurements:
        if old.case not in wanted:
            continue
        before, after = [], []
        for _ in range(rounds):
            again = measure(old.case, old.engine, old.scale, stored.rerun) if stored.rerun else old
            before.append(again.hops_per_s)
            after.append(measure(old.case, old.engine, old.scale, None).hops_per_s)
        yield Comparison(old.case, old.engine, before, after)


def comparisons_text(stored: Stored, comparisons: Iterable[Comparison]) -> str:
    """Return comparisons as a table."""
    headers = ("case", "engine", "before M/s", "after M/s", "ratio", "rounds")
    rows = [
        (
            f"{one.case}: {CASES[one.case].description}",
            one.engine,
            f"{statistics.median(one.before) / 1e6:.2f}",
            f"{statistics.median(one.after) / 1e6:.2f}",
            f"{one.ratio:.2f}",
            str(len(one.after)),
        )
        for one in comparisons
    ]
    how = f"alternating with {stored.rerun}" if stored.rerun else "against the stored numbers, whose code is gone"
    return table(headers, rows, "<<" + ">" * (len(headers) - 2)) + f"\n{how}"


def fixed_text(costs: Iterable[FixedCost]) -> str:
    """Return the cost of a small simulation, one line per engine."""
    return "\n".join(
        f"a call of simulate, {one.engine}: {one.wall_s * 1e3:.1f} ms, keeps {one.kept_bytes / 1024:.1f} KiB"
        + (f"; {_decibel(FIXED_GOAL_S / one.wall_s)} of the goal" if one.engine == "compiled" else "")
        for one in costs
    )


def _decibel(ratio: float) -> str:
    """Return a ratio in dB, positive where the goal is passed: 3 dB are a factor of 2."""
    return f"{10 * math.log10(ratio):+.1f} dB"


def together_text(alone: Measurement, both: Sequence[Measurement]) -> str:
    """Return the speed of two processes at once, relative to one alone."""
    rates = " and ".join(f"{one.hops_per_s / 1e6:.2f}" for one in both)
    times = sum(one.hops_per_s for one in both) / alone.hops_per_s
    return f"{alone.case} twice at once: {rates} M/s, {times:.2f} times one alone ({alone.hops_per_s / 1e6:.2f} M/s)"


def schemes_text(measurements: Sequence[Measurement]) -> str:
    """Return measurements of schemes as a table."""
    headers = ("scheme", "engine", *_SPEEDS, "events", "run s")
    rows = [(one.scheme, one.engine, *_speeds(one), f"{one.events:,}", f"{one.wall_s:.3f}") for one in measurements]
    return table(headers, rows, "<<" + ">" * (len(headers) - 2))


_SPEEDS = ("data M/s", "control M/s", "total M/s")


def _speeds(one: Measurement) -> tuple[str, str, str]:
    hops = (one.data_hops, one.control_hops, one.data_hops + one.control_hops)
    data, control, total = (f"{count / one.wall_s / 1e6:.2f}" for count in hops)
    return data, control, total


def ratios(measurements: Sequence[Measurement]) -> dict[str, float]:
    """Return the ratio of compiled to SimPy in packet-hops per second, for cases measured on both."""
    speed = {(one.case, one.engine): one.hops_per_s for one in measurements}
    both = [name for name in CASES if {(name, "compiled"), (name, "simpy")} <= set(speed)]
    return {name: speed[name, "compiled"] / speed[name, "simpy"] for name in both}


def table_text(measurements: Sequence[Measurement]) -> str:
    """Return the measurements as a table, with a line for each ratio under it."""
    headers = ["case", "engine", "messages", *_SPEEDS, "to goal", "events", "run s", "set-up s", "memory", "to goal"]
    has_visits = any(one.visits for one in measurements)
    if has_visits:
        headers.append("events a visit")
    has_threads = any(one.threads > 1 for one in measurements)
    if has_threads:
        headers += ["threads", "balance", "CPU s"]
    rows = [
        (
            f"{one.case}: {CASES[one.case].description}",
            one.engine,
            f"{one.messages:,}" + ("" if one.scale == 1.0 else f" ({one.scale:.0%})"),
            *_speeds(one),
            _decibel(one.hops_per_s / CASES[one.case].goals.hops_per_s) if one.engine == "compiled" else "",
            f"{one.events:,}",
            f"{one.wall_s:.2f}",
            f"{one.setup_s:.2f}",
            format_size(one.peak_memory_bytes, 3),
            _decibel(CASES[one.case].goals.memory_bytes / one.peak_memory_bytes)
            if one.engine == "compiled" and one.peak_memory_bytes
            else "",
            *([f"{one.events / one.visits:.1f}" if one.visits else ""] if has_visits else []),
            *([f"{one.threads}", f"{one.balance:.2f}", f"{one.cpu_s:.2f}"] if has_threads else []),
        )
        for one in measurements
    ]
    lines = [table(headers, rows, "<<" + ">" * (len(headers) - 2))]
    lines += [f"{name}: compiled is {ratio:.1f} times as fast as simpy" for name, ratio in ratios(measurements).items()]
    lines += [
        f"{name}: {CASES[name].peer}" for name in dict.fromkeys(one.case for one in measurements) if CASES[name].peer
    ]
    alone = {one.case: one for one in measurements if one.threads == 1 and one.engine == "compiled"}
    lines += [
        f"{one.case}: {one.threads} threads are {alone[one.case].wall_s / one.wall_s:.2f} times as fast as one"
        for one in measurements
        if one.threads > 1 and one.case in alone
    ]
    return "\n".join(lines)
