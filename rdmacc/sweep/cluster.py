"""Clusters: compute the points of a sweep on the workers of a Dask scheduler.

Needs ``pip install "rdmacc[dask]"`` here and on the workers.
"""

import gc
import platform
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext
from importlib import metadata
from typing import Any

from rdmacc.errors import ConfigError, not_installed
from rdmacc.sweep.fingerprint import versions
from rdmacc.sweep.workers import compile_code

__all__ = ["dask_executor"]

_CONNECT_S = 30


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Provide an executor that runs on the workers of a Dask scheduler.

    Each machine compiles the kernel once, before any point is sent. If a worker dies, Dask gives its point to another.

    Parameters
    ----------
    address : str
        The scheduler, such as ``"tcp://10.0.0.1:8786"``; or ``"local:4"`` for four processes on this machine.

    Yields
    ------
    Executor
        For `sweep` and `study`.

    Raises
    ------
    ConfigError
        If Dask is not installed, the scheduler cannot be reached or has no workers, or a worker has a different version
        of Python, rdmacc or a package that affects results.
    """
    try:
        import distributed
    except ImportError:
        raise not_installed("--dask", "distributed", "dask") from None
    dask: Any = distributed
    place, _, count = address.partition(":")
    cluster: Any = nullcontext()
    if place == "local":
        if not count.isdigit() or int(count) < 1:
            raise ConfigError("--dask", address, "local:N with N workers, or a scheduler's address")
        cluster = dask.LocalCluster(
            n_workers=int(count), threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )
    with cluster as own, _client(dask, address if own is None else own) as client:
        if not client.scheduler_info(n_workers=-1)["workers"]:
            raise ConfigError("--dask", address, "a scheduler with workers; it has none")
        check_alike(client.run(_about))
        workers = client.scheduler_info(n_workers=-1)["workers"].items()
        one_a_host = {str(one["host"]): name for name, one in workers}  # the others find the kernel in its cache
        client.run(compile_code, workers=list(one_a_host.values()))
        yield client.get_executor(pure=False)


def _client(dask: Any, address: Any) -> Any:
    try:
        return dask.Client(address, timeout=_CONNECT_S)
    except (OSError, ValueError, TypeError) as error:
        problem = f"the address of a Dask scheduler ({error})"
    # A garbage-collected client closes itself, which deadlocks in a thread that Dask is starting.
    gc.collect()
    raise ConfigError("--dask", address, problem)


def check_alike(workers: Mapping[str, Mapping[str, str]]) -> None:
    """Raise a ConfigError unless every worker has the versions that this process has."""
    own = _about()
    for worker, theirs in workers.items():
        for name, version in own.items():
            if theirs.get(name) != version:
                found = f"{name} {theirs.get(name, 'missing')}"
                raise ConfigError(f"worker {worker}", found, f"{name} {version}, the version installed here")


def _about() -> dict[str, str]:
    own = {"rdmacc": metadata.version("rdmacc"), "python": platform.python_version()}
    return {**own, **{name: str(version) for name, version in versions().items() if name != "python"}}
