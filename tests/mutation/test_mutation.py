"""The changes that once survived are noticed now, each by a fast test."""

from __future__ import annotations

import pytest

from tests.mutation.mutants import copied, mutants_of, once_survived, survives


@pytest.mark.parametrize("number", range(len(once_survived())))
def test_what_once_survived_still_names_a_place_in_the_code(number):
    mutant = once_survived()[number]
    assert mutant.tests
    assert str(mutant.path) in mutant.name


def test_mutants_are_of_comparisons_sums_and_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.mutation.mutants.ROOT", tmp_path)
    (tmp_path / "a.py").write_text("def f(x, y):\n    return x + 2 <= y and x < 3\n\ndef draw(x):\n    return x + 1\n")
    found = sorted((one.start, one.new) for one in mutants_of(tmp_path / "a.py"))
    assert [new.strip() for _, new in found] == ["-", "3", "<", "or", "<=", "4"]


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_what_once_survived_is_noticed(tmp_path):
    folder = copied(tmp_path / "copy")
    assert [mutant.name for mutant in once_survived() if survives(mutant, folder)] == []
