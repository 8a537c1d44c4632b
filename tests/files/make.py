"""Write one file of each format into a folder named like this version: ``python -m tests.files.make`` at a release.

Later versions must read them (`tests.files.test_old_files`) or refuse them with a message that says what to do.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli.main import app
from rdmacc.experiments import experiment
from rdmacc.experiments.ledger.report import read_verdicts
from rdmacc.results.folders import FRAMES
from rdmacc.results.pcapng import write_pcapng
from rdmacc.sweep.run import sweep
from rdmacc.sweep.store import read_table, write_table

HERE = Path(__file__).parent


def scenario():
    """Three messages, one of which waits for a computation, on lossy links, with a probe of each kind."""
    network = rdmacc.star(3)
    rows = [
        {"src": "h1", "dst": "h0", "size": "20kB", "group": 1},
        {"src": "h2", "dst": "h0", "size": "30kB", "group": 1, "start": "1us"},
        {"src": "h0", "duration": "4us", "after": [0]},
        {"src": "h0", "dst": "h1", "size": "5kB", "after": [2], "delay": ["1us"]},
    ]
    work = rdmacc.messages(rows)
    probes = [rdmacc.probes.queue("s0", "h0"), rdmacc.probes.rate(0, every="2us")]
    return rdmacc.Scenario(
        network=network, workload=work, scheme=rdmacc.scheme("dcqcn", g=1 / 16), seed=7, probes=probes, trace=True,
        faults=[rdmacc.Loss(data=0.02)],
    )  # fmt: skip


def work(seed):
    return rdmacc.random_pairs(rdmacc.star(3), 4, "10kB", seed=seed)


def make(folder: Path) -> None:
    one = scenario()
    result = one.run()
    one.to_toml(folder / "scenario.toml")
    result.save(folder / "result")
    result.packet_trace.to_parquet(folder / "packet_trace.parquet", index=False)
    write_pcapng(result, folder / "s0_h0.pcapng", link=("s0", "h0"), snap_bytes=90)
    rdmacc.study(rdmacc.star(3), work, ["dcqcn", "hpcc"], seeds=2, jobs=1, store=folder / "points").save(
        folder / "study"
    )
    found = sweep(experiment("igbn.table1"), "quick", jobs=1)
    write_table(folder / "table.parquet", found.table, {"experiment": "igbn.table1", "scale": "quick"})
    CliRunner().invoke(app, ["reproduce", "igbn.table1", "--out", str(folder / "report"), "--jobs", "1"])
    shutil.rmtree(folder / "points")
    (folder / "report" / "report.json").replace(folder / "report.json")
    shutil.rmtree(folder / "report")
    (folder / "expected.json").write_text(json.dumps(contents(folder), indent=1) + "\n")


def contents(folder: Path) -> dict[str, Any]:
    """Return what this version reads from the files in a folder."""
    result, study = rdmacc.load(folder / "result"), rdmacc.Study.load(folder / "study")
    frames = {name: getattr(result, name) for name in FRAMES} | {"runs": study.runs, "study flows": study.flows}
    frames["trace"] = pd.read_parquet(folder / "packet_trace.parquet")
    frames["table"], about = read_table(folder / "table.parquet")
    return {
        "columns": {name: list(map(str, frame.columns)) for name, frame in frames.items()},
        "rows": {name: len(frame) for name, frame in frames.items()},
        "fct_ps": [None if value is pd.NA else int(value) for value in result.flows["fct_ps"]],
        "run again": [
            int(value) for value in rdmacc.Scenario.from_toml(folder / "scenario.toml").run().flows["fct_ps"]
        ],
        "summary": str(result.summary()),
        "seed": result.provenance["seed"],
        "watched": [one.name for one in result.watched],
        "study": str(study),
        "table of": about["experiment"],
        "verdicts": read_verdicts(folder / "report.json"),
    }


if __name__ == "__main__":
    target = HERE / rdmacc.__version__
    target.mkdir(exist_ok=True)
    make(target)
