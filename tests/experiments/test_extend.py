"""Points are added to a bundled table as long as the code behaves as the code that computed it did."""

from __future__ import annotations

import pytest

from rdmacc.errors import ConfigError
from rdmacc.experiments import Experiment, Point
from rdmacc.experiments.ledger import extend as module
from rdmacc.experiments.ledger.validity import behaviour
from rdmacc.sweep import sweep
from rdmacc.sweep.store import Store, read_table, write_table
from rdmacc.sweep.tidy import tidy


class Numbers(Experiment):
    """A point for each scheme, computed without a simulation."""

    name = "extended.numbers"
    claims = ()
    schemes: tuple[str, ...] = ("a",)
    factor = 1

    def points(self, scale="quick", seed=0):
        return [Point(name=f"{one}, {scale}", labels={"scheme": one, "factor": self.factor}) for one in self.schemes]

    def execute(self, point, run):
        return tidy(point.name, {"letter": (ord(point.labels["scheme"]) * self.factor, "")})

    def plot(self, table):
        raise NotImplementedError


def test_a_table_gets_the_points_that_it_lacks_and_only_from_code_that_behaves_the_same(tmp_path, monkeypatch):
    path, store, one = tmp_path / "numbers.parquet", Store(tmp_path / "store"), Numbers()
    monkeypatch.setattr(module, "summary_path", lambda name: path)
    found = sweep(one, "paper", store=store, jobs=1)
    write_table(path, found.table, found.summary())
    monkeypatch.setattr(Numbers, "schemes", ("a", "b"))
    with pytest.raises(ConfigError, match=r"behaviour of extended\.numbers = None: must be known"):
        module.extend(one, store)
    monkeypatch.setattr(Numbers, "schemes", ("a",))
    write_table(path, found.table, found.summary() | {"behaviour": behaviour(one, store)})
    assert module.extend(one, store) == 0

    monkeypatch.setattr(Numbers, "schemes", ("b", "a"))
    assert module.extend(one, store) == 1
    table, made = read_table(path)
    assert dict(zip(table["point"], table["value"], strict=True)) == {"b, paper": 98, "a, paper": 97}
    assert (made["points"], [part["points"] for part in made["parts"]]) == (2, [1, 1])
    assert made["behaviour"] == behaviour(one, store)

    monkeypatch.setattr(Numbers, "schemes", ("a", "c"))
    with pytest.raises(ConfigError, match=r"points of extended\.numbers = 'b, paper'"):
        module.extend(one, store)
    monkeypatch.setattr(Numbers, "schemes", ("a", "b", "c"))
    monkeypatch.setattr(Numbers, "execute", lambda self, point, run: tidy(point.name, {"letter": (0, "")}))
    with pytest.raises(ConfigError, match=r"behaviour of extended\.numbers, quick"):
        module.extend(one, Store(tmp_path / "other"))
    monkeypatch.setattr(Numbers, "factor", 2)
    with pytest.raises(ConfigError, match=r"factor of b, paper = 2: must be as in the table of extended\.numbers: 1"):
        module.extend(one, store)
    assert read_table(path)[1] == made
