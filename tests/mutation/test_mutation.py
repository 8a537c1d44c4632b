"""The changes that once survived are noticed now, each by a fast test."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.mutation.mutants import copied, killer, mutants_of, named, once_survived, tried
from tests.mutation.trial import Trials, ended
from tests.mutation.tries import changed_functions


@pytest.mark.parametrize("number", range(len(once_survived())))
def test_what_once_survived_still_names_a_place_in_the_code(number):
    mutant = once_survived()[number]
    assert all(stage.tests for stage in mutant.stages)
    assert str(mutant.path) in mutant.name


def test_mutants_are_of_comparisons_sums_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutation.mutants.ROOT", tmp_path)
    (tmp_path / "a.py").write_text(
        """\
LIMIT = "10kB"
@dataclass(frozen=True)
class A:
    \"""8 of 10.\"""
    def f(self, x: Literal[7]):
        return x + 2 <= y and not any(x) < 3, f"{x * 5}"
    def draw(self, x):
        return x + 1
"""
    )
    found = sorted((one.start, one.new) for one in mutants_of(tmp_path / "a.py"))
    assert [new.strip() for _, new in found] == ['"12.5kB"', "-", "3", "<", "or", "any(x) < 3", "all", "<=", "4"]


def test_in_an_experiment_a_comparison_is_reversed(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutation.mutants.ROOT", tmp_path)
    (tmp_path / "experiments").mkdir()
    (tmp_path / "experiments" / "a.py").write_text("held = low <= measured < high\n")
    assert [one.new.strip() for one in mutants_of(tmp_path / "experiments" / "a.py")] == [">", ">="]


def test_a_change_of_a_function_is_put_into_it_and_one_of_the_module_is_imported(tmp_path):
    path, text = tmp_path / "a.py", "X = 1\ndef f(y):\n    return y + X\n"
    path.write_text(text)
    assert [code.co_name for code in changed_functions(path, text.replace("y + X", "y - X")).values()] == ["f"]
    assert not changed_functions(path, text.replace("X = 1", "X = 2"))


def test_what_waits_is_ended_with_the_processes_it_started():
    with subprocess.Popen(["sh", "-c", "sleep 99 & wait"], start_new_session=True, stdout=subprocess.PIPE) as shell:
        assert ended(shell.pid, 0.2) is None
        assert shell.stdout.read() == b""  # nobody holds its other end
    assert ended(os.posix_spawn("/bin/sh", ["sh", "-c", "exit 3"], {}, setsid=True), 9) == 3


@pytest.mark.slow
def test_a_change_of_a_function_that_lives_is_noticed(tmp_path):
    trials = Trials(copied(tmp_path / "copy"))
    change = named("rdmacc/bits.py", "bits[psn] != 0", "bits[psn] == 0")
    ((_, test),) = tried([change], trials, ["tests/engine/test_bits.py"], tmp_path / "answers", 4.0)
    assert test.startswith("tests/engine/test_bits.py::")


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_what_once_survived_is_noticed(tmp_path):
    trials = Trials(copied(tmp_path / "copy"))
    assert [mutant.name for mutant in once_survived() if not killer(mutant, trials)] == []
