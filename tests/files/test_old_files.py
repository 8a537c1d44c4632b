"""Files of every released version are read, as `docs/compatibility.md` promises; a changed one is refused."""

import json
import shutil
from pathlib import Path

import jsonschema
import pytest

import rdmacc
from rdmacc import ConfigError
from tests.files.make import HERE, contents, scenario

VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / "expected.json").exists())
FORMATS = Path(__file__).parents[2] / "docs" / "formats"
SCHEMA = json.loads((FORMATS / "provenance.schema.json").read_text())


@pytest.fixture(params=VERSIONS)
def folder(request, tmp_path):
    return Path(shutil.copytree(HERE / request.param, tmp_path / request.param))


def test_files_are_read_as_they_were_written(folder):
    expected = json.loads((folder / "expected.json").read_text())
    found = json.loads(json.dumps(contents(folder)))
    for name, columns in expected["columns"].items():  # later versions may add some
        assert [one for one in found["columns"][name] if one in columns] == columns
    assert {**found, "columns": None} == {**expected, "columns": None}


@pytest.mark.parametrize(
    ("file", "old", "new", "read"),
    [
        ("result/result.json", '"format": 4', '"format": 5', lambda path: rdmacc.load(path.parent)),
        ("study/study.json", '"format": 4', '"format": 3', lambda path: rdmacc.Study.load(path.parent)),
        ("scenario.toml", "format = 1", "format = 2", rdmacc.Scenario.from_toml),
    ],
)
def test_another_format_is_refused_and_named(tmp_path, file, old, new, read):
    folder = shutil.copytree(HERE / "0.1.0", tmp_path / "changed")
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))
    with pytest.raises(ConfigError, match=rf"in format {old[-1]}, not {new[-1]}"):
        read(folder / file)


def test_provenance_follows_its_schema(folder):
    fresh = scenario().run()
    for provenance in (json.loads(json.dumps(fresh.provenance)), rdmacc.load(folder / "result").provenance):
        jsonschema.validate(provenance, SCHEMA)
    assert fresh.provenance["faults"] == ["Loss(data=0.02, control=0.0, links=None)"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**fresh.provenance, "seed": -1}, SCHEMA)


def test_equal_hashes_mean_equal_inputs():
    def hashes(one):
        return [one.run().provenance[name]["sha256"] for name in ("network", "workload")]

    one, again, other = hashes(scenario()), hashes(scenario()), scenario()
    work = other.workload.assign(size_bytes=other.workload["size_bytes"] * 2)
    faster = rdmacc.Scenario(network=rdmacc.star(3, rate="400Gbps"), workload=work, scheme="dcqcn")
    assert one == again
    assert not {*one} & {*hashes(faster)}
