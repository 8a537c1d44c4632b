"""Points are added to a bundled table as long as the code behaves as the code that computed it did."""

import pytest

from rdmacc.errors import ConfigError
from rdmacc.experiments import Experiment, Point
from rdmacc.experiments.ledger import extend as module
from rdmacc.experiments.ledger import validity
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


def with_canaries(monkeypatch, **digests):
    """Give each scheme a canary, and its digest without a simulation."""
    canaries = [Point(name=f"{one}, soon", labels={"scheme": one}) for one in digests]
    quick = validity.behaviour
    monkeypatch.setattr(Numbers, "canaries", lambda self: canaries)

    def behaviour(one, store=None):
        with monkeypatch.context() as patch:
            patch.setattr(Numbers, "canaries", lambda self: [])
            return quick(one, store) | {f"{name}, soon": value for name, value in digests.items()}

    monkeypatch.setattr(module, "behaviour", behaviour)
    return behaviour


@pytest.mark.parametrize("changes", ["quick rows", "a canary"])
def test_only_schemes_that_behave_differently_are_computed_again(tmp_path, monkeypatch, changes):
    path, one = tmp_path / "numbers.parquet", Numbers()
    monkeypatch.setattr(module, "summary_path", lambda name: path)
    monkeypatch.setattr(Numbers, "schemes", ("a", "b", "c"))
    store = Store(tmp_path / "then")
    then, found = sweep(one, store=store, jobs=1).table, sweep(one, "paper", store=store, jobs=1)
    with monkeypatch.context() as patch:
        behaviour = with_canaries(patch, a="1", b="2", c="3")
        write_table(path, found.table, found.summary() | {"behaviour": behaviour(one, store)})
        assert module.extend(one, store, then=then) == 0
        with pytest.raises(ConfigError, match=r"quick table of extended\.numbers"):
            module.extend(one, store, then=then.assign(value=0))

    is_row = changes == "quick rows"
    behaviour = with_canaries(monkeypatch, a="1", b="2" if is_row else "changed", c="3")
    monkeypatch.setattr(Numbers, "execute", lambda self, point, run: tidy(point.name, {"letter": (
        {"a": 97 if "quick" in point.name else 0, "b": 1 if is_row else 98, "c": 99}[point.labels["scheme"]], ""
    )}))  # fmt: skip
    store = Store(tmp_path / "now")
    assert module.extend(one, store, then=then) == 1
    table, made = read_table(path)
    assert table["value"].tolist() == [97, 1 if is_row else 98, 99]  # "a" would be 0
    assert [part.get("replaced") for part in made["parts"]] == [None, 1]
    assert (made["points"], made["behaviour"]) == (3, behaviour(one, store))

    monkeypatch.setattr(Numbers, "schemes", ("a", "b", "c", "c, more"))
    again = "execute", lambda self, point, run: tidy(point.name, {"letter": (
        {"a": 97, "b": 1 if is_row else 98}.get(point.labels["scheme"], 99), ""
    )})  # fmt: skip
    monkeypatch.setattr(Numbers, *again)
    assert module.extend(one, Store(tmp_path / "later")) == 1  # a table of two parts gets a third
    assert [part["points"] for part in read_table(path)[1]["parts"]] == [3, 1, 1]


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
