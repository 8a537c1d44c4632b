"""The cost of simulating an all-reduce of 1 GB, by number of GPUs and algorithm: the table in docs/background/speed.md.

Nodes have eight GPUs at 400 Gb/s; a leaf has 32 GPUs and 32 uplinks. Each run has its own process.
"""

import multiprocessing
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from rdmacc.cli.bench import Row, peak_memory_bytes
from rdmacc.clusters.cluster import cluster
from rdmacc.show.tables import table
from rdmacc.simulation import simulate

ALGORITHMS = ("ring", "tree", "hierarchical")


def run_cluster(gpus: int, algorithm: str, scheme: str = "dcqcn", size: str = "1GB") -> Row:
    """Simulate one all-reduce in this process; the time includes building the network and computing busbw."""
    small = cluster(1, 2)
    simulate(small.network, small.all_reduce("1MB", channels=1), small.scheme(scheme), progress=False)  # compile first
    begin = time.process_time()
    made = cluster(gpus // 8, 8, fabric="leaf-spine")
    work = made.schedule("all_reduce", size, algorithm=algorithm)
    result = simulate(made.network, work, made.scheme(scheme), progress=False)
    busbw = float(result.collectives["busbw_gbytes"].iloc[0])
    return {
        "gpus": gpus, "algorithm": algorithm, "scheme": scheme, "rows": len(result.plan.rows.computes),
        "busbw_gbytes": busbw,
        "hops": sum(int(result.counters[f"{kind}_packet_hops"]) for kind in ("data", "control")),
        "events": int(result.counters["events"]), "cpu_s": time.process_time() - begin,
        "peak_memory_bytes": peak_memory_bytes(),
    }  # fmt: skip


def run_clusters(counts: Iterable[int]) -> Iterator[Row]:
    """Yield a measurement for each number of GPUs and algorithm, under DCQCN, and of the ring under NSCC."""
    kinds = [(algorithm, "dcqcn") for algorithm in ALGORITHMS] + [("ring", "nscc")]
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        for gpus in counts:
            for kind in kinds:
                yield pool.submit(run_cluster, gpus, *kind).result()


def clusters_text(rows: Iterable[Row]) -> str:
    lines = [
        (
            f"{row['gpus']:,}", f"{row['algorithm']}, {row['scheme']}", f"{row['rows']:,}",
            f"{row['hops'] / 1e6:.0f} M", f"{row['events'] / row['hops']:.2f}", f"{row['cpu_s']:.0f} s",
            f"{row['peak_memory_bytes'] / 1e9:.1f} GB", f"{row['busbw_gbytes']:.0f} GB/s",
        )
        for row in rows
    ]  # fmt: skip
    headers = ("GPUs", "algorithm", "rows", "packet-hops", "events a hop", "CPU", "memory", "busbw")
    return table(headers, lines, "><>>>>>>")
