"""Changes that once survived are now noticed, each by a fast test."""

import pytest

from tests.mutation.mutants import copied, killer, once_survived
from tests.mutation.trial import Trials


@pytest.mark.parametrize("number", range(len(once_survived())))
def test_former_survivors_still_name_a_place_in_the_code(number):
    mutant = once_survived()[number]
    assert all(stage.tests for stage in mutant.stages)
    assert str(mutant.path) in mutant.name


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_former_survivors_are_noticed(tmp_path):
    trials = Trials(copied(tmp_path / "copy"))
    assert [mutant.name for mutant in once_survived() if not killer(mutant, trials)] == []
