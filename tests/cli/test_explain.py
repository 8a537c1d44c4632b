"""``rdmacc explain``."""

import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc.cli.main import app
from rdmacc.errors import ConfigError


@pytest.fixture
def scenario(tmp_path):
    work = rdmacc.incast(2, "h0", "20kB", hosts=rdmacc.star(3))
    one = rdmacc.Scenario(network=rdmacc.star(3), workload=work, scheme="line-rate", engine="simpy")
    return str(one.to_toml(tmp_path / "one.toml"))


def test_it_explains_the_slowest_message_or_one_by_its_label(scenario, tmp_path):
    assert CliRunner().invoke(app, ["explain", scenario]).output.startswith("Message 1 (h2 to h0, 20 kB, line-rate): ")
    path = tmp_path / "why.png"
    found = CliRunner().invoke(app, ["explain", scenario, "--message", "0", "--plot", str(path)])
    assert found.output.startswith("Message 0 (h1 to h0")
    assert found.output.endswith(f"Saved {path}\n")
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_message_that_is_not_there(scenario):
    error = CliRunner().invoke(app, ["explain", scenario, "--message", "7"]).exception
    assert isinstance(error, ConfigError)
    assert "--message = '7': must be a message of the workload, such as 0" in str(error)
