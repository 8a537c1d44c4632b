"""Small experiments for the tests of sweeps, and a sweep that is killed again and again.

They are in a separate module because other processes import them.
"""

import json
import os
import random
import signal
import threading
import time
from functools import partial
from pathlib import Path

from tqdm.auto import tqdm

import rdmacc
from rdmacc.experiments import Claim, Experiment, Point, Seeding
from rdmacc.experiments.framework.bands import Each, Exactly
from rdmacc.simulation.scenario import Scenario
from rdmacc.sweep.run import stored, sweep
from rdmacc.sweep.store import Store, write_table
from rdmacc.sweep.tidy import tidy, wide


def incast(k, seed=0, **changes):
    """Return k messages to one receiver, some of whose packets are lost."""
    settings = {
        "network": partial(rdmacc.star, k + 1, rate="100Gbps", delay="1us"),
        "workload": partial(rdmacc.incast, [f"h{i}" for i in range(1, k + 1)], "h0", "4kB"),
        "scheme": "line-rate",
        "seed": seed,
        "probes": [rdmacc.probes.queue("s0", "h0")],
        "faults": [rdmacc.Loss(data=0.05)],
    }
    return Scenario(**(settings | changes))


def _missing(table):
    rows = wide(table)
    return (rows["k"] - rows["finished"]).to_dict()


class Tiny(Experiment):
    """Incasts of two and three senders, with losses by seed."""

    name = "tests.tiny"
    title = "Incasts"
    description = "Tests: incasts with losses"
    claims = (
        Claim(
            "tests-1", "1", "messages that do not finish", "losses", "none", measure=_missing, band=Each(Exactly(0)),
        ),
    )  # fmt: skip
    seeding = Seeding.POOLED
    seeds = 2

    def points(self, scale="quick", seed=0):
        return [
            Point(name=f"k={k} seed={one}", scenario=incast(k, one), labels={"k": k, "seed": one}, cost=k)
            for k in (2, 3)
            for one in range(seed, seed + self.seeds)
        ]

    def measure(self, point, result):
        numbers = {
            "mean FCT": (float(result.flows["fct_ps"].mean()), "ps"),
            "finished": (int((result.flows["status"] == "finished").sum()), ""),
            "lost": (int(result.counters["lost_packets"]), ""),
        }
        return tidy(point.name, numbers, {"queue": (result.samples("queue s0->h0"), "bytes")})

    def plot(self, table):
        import matplotlib.pyplot as plt

        figure, ax = plt.subplots()
        ax.plot(wide(table)["k"], wide(table)["mean FCT"], "o")
        return figure


class Apart(Tiny):
    """The same, with a separate run for each seed."""

    name = "tests.apart"
    seeding = Seeding.SEPARATE

    def points(self, scale="quick", seed=0):
        return [Point(name=f"k={k}", scenario=incast(k, seed), labels={"k": k}, cost=k) for k in (2, 3)]


class Long(Tiny):
    """Takes several steps, and counts the checkpoints in a folder at its end."""

    name = "tests.long"

    def points(self, scale="quick", seed=0):
        work = partial(rdmacc.incast, ["h1", "h2"], "h0", "100MB")
        return [Point(name="long", scenario=incast(2, workload=work, faults=[], probes=[]))]

    def measure(self, point, result):
        kept = [*Path(os.environ["RDMACC_TESTS_FOLDER"]).rglob("*.checkpoint.*")]
        return tidy(point.name, {"checkpoints": (len(kept), "")})


class Many(Tiny):
    """Enough points to kill the sweep between two of them."""

    name = "tests.many"
    seeds = 10


class Troubled(Tiny):
    """One point fails, one kills its process, one returns no table, one a table that Parquet cannot hold."""

    name = "tests.troubled"

    def points(self, scale="quick", seed=0):
        doomed = ("fails", "dies", "gives none", "gives a mixture") if scale == "quick" else ("fails",)
        return [*super().points(), *(Point(name=name) for name in doomed)]

    def execute(self, point, run):
        if point.scenario is not None:
            return super().execute(point, run)
        if point.name == "dies":
            os._exit(3)
        if point.name == "fails":
            return {}[point.name]
        return None if point.name == "gives none" else tidy(point.name, {"n": (1, "")}).assign(x=[object()])


def write_and_die(folder, name):
    """Leave a file; then die if called "always", or if called "once" for the first time."""
    before = len(list(Path(folder).glob(f"{name} *")))
    (Path(folder) / f"{name} {os.getpid()}").touch()
    if name == "always" or (name == "once" and not before):
        os.kill(os.getpid(), signal.SIGKILL)


class Stopped(Tiny):
    """Receives a signal during its last point."""

    name = "tests.stopped"

    def measure(self, point, result):
        if point.name == "k=2 seed=1":
            os.kill(os.getpid(), signal.SIGTERM)
        return super().measure(point, result)


class Announcing(Store):
    """Reports each stored point through a pipe."""

    def __init__(self, folder, pipe):
        super().__init__(folder)
        self.pipe = pipe

    def save(self, table, provenance):
        super().save(table, provenance)
        os.write(self.pipe, f"{provenance['point']}\n".encode())


def _let_forks_draw():
    """Give each fork's progress bars a separate lock, and no thread.

    tqdm's lock is a semaphore shared by forks: one killed while holding it would block all others.
    """
    tqdm.set_lock(threading.RLock())
    tqdm.monitor_interval = 0


def kill_again_and_again(folder, kills, seed):
    """Kill sweeps until that many have died; return the points announced and lost, and the number of completed sweeps.

    Each is killed after up to three more points are stored: every other one at a random time, the rest while a point is
    being written. Each sweep is a fork of this single-threaded process, so that it starts at once.
    """
    _let_forks_draw()
    chance = random.Random(seed)
    root, done, ended, lost, turn = Path(folder), 0, 0, 0, 0
    announced: set[str] = set()
    whole = sweep(Many(), engine="simpy", store=Store(root / "undisturbed"))
    while done < kills:
        store = root / str(turn)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            sweep(Many(), engine="simpy", store=Announcing(store, writer))
            os._exit(0)
        os.close(writer)
        pipe = os.fdopen(reader)
        announced |= {pipe.readline().rstrip("\n") for _ in range(chance.randrange(4))}
        time.sleep(chance.uniform(0, 0.01))
        before, until = _drafts(store), time.monotonic() + 1.0
        while done % 2 and _drafts(store) <= before and time.monotonic() < until:
            pass
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        with pipe:
            announced |= set(pipe.read().split("\n"))
        announced.discard("")
        lost += len(announced - set(stored(Many(), store=Store(store)).tables))
        if os.WIFSIGNALED(status):
            done += 1
        else:  # the sweep was complete before the signal came: start another
            ended, turn, announced = ended + 1, turn + 1, set()
    last = sweep(Many(), engine="simpy", store=Store(root / str(turn)))
    for name, found in (("whole", whole), ("last", last)):
        write_table(root / name, found.table, found.summary())
    return {
        "kills": done, "torn": _drafts(root), "ended": ended, "lost": lost, "announced": len(announced),
        "reused": last.reused, "points": len(last.points),
        "equal": (root / "whole").read_bytes() == (root / "last").read_bytes(),
    }  # fmt: skip


def _drafts(store):
    """Count the files being written now or when a process was killed."""
    return len(list(Path(store).rglob(".*.tmp")))


def run_forever(folder):
    """Sweep over points of which only the first two end; for signals from outside."""
    sweep(Endless(), engine="simpy", store=Store(folder), jobs=2)


def print_missing(folder):
    """Print the points of that sweep that are not stored; programs with the same text have the same key."""
    print(json.dumps([point.name for point in stored(Endless(), store=Store(folder)).missing]))  # noqa: T201


class Endless(Tiny):
    """Two points that end, and others that wait."""

    name = "tests.endless"

    def points(self, scale="quick", seed=0):
        return [*super().points()[:2], *(Point(name=f"waits {number}", cost=0.1) for number in range(3))]

    def execute(self, point, run):
        if point.scenario is None:
            time.sleep(600)
        return super().execute(point, run)
