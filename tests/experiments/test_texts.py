"""The texts of claims, and their counterparts in the code."""

import pytest

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.bands import AtLeast
from rdmacc.experiments.framework.claim import OURS, PAPER, Chosen, Outcome
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.texts import FIGURES, SHARED, TEXTS, check_used, claim, read_claims, read_figures
from tests.support import refused

WRITTEN = (
    """
[shared]
few = "Too few messages."

[t-1]
place = "2"
quantity = "n"
published = "1"
by = "rdmacc"
chosen = "by the text"
expect = { quick = "holds", paper = "does not hold" }
why = """
    + '"""\nSo\nit is."""'
    + """
too_small = "{few} And short."

[t-3]
like = "t-1"
published = "3"
by = "the paper"
"""
)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that makes a text the claims of group t."""

    def write(text):
        (tmp_path / "claims.toml").write_text(text)
        monkeypatch.setitem(TEXTS, "t", read_claims(tmp_path / "claims.toml"))

    return write


def one(id="t-1", **written):
    return claim(id, measure=len, band=AtLeast(1), **written)


def test_a_claim_has_its_text_and_its_code(written):
    written(WRITTEN)
    found = one(condition="any")
    assert (found.by, found.chosen, found.condition, found.why) == (OURS, Chosen.BY_TEXT, "any", "So it is.")
    assert found.expect == {"quick": Outcome.HOLDS, "paper": Outcome.FAILS}
    assert found.too_small == "Too few messages. And short."
    assert (one().condition, one().unit, one().quote) == ("", "", "")
    other = one("t-3")
    assert (other.by, other.place, other.published, other.why) == (PAPER, "2", "3", "So it is.")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("t-1", "t-2", r"claim = 't-1': must be a claim in t/claims.toml; did you mean 't-2'"),
        ("published =", "publshed =", r"t-1: publshed = 'publshed': .* did you mean 'published'"),
        ('like = "t-1"', 'like = "t-4"', r"t-3: like = 't-4': must be a claim above it; did you mean 't-1'"),
        ('place = "2"', "place = 2", r"t-1: place = 2: must be a text"),
        ('place = "2"', "", r"t-1: place = None: must be a text in t/claims.toml"),
        ("{few}", "{fex}", r"t-1: too_small = 'fex': must be a text of \[shared\]; did you mean 'few'"),
        ("by the text", "by chance", r"t-1: chosen = 'by chance'"),
        ('"does not hold" }', '"fails" }', r"t-1: expect = 'fails'"),
    ],
)
def test_errors_in_the_text_are_named(written, old, new, message):
    def read():
        written(WRITTEN.replace(old, new))
        return one()

    with pytest.raises(ConfigError, match=message):
        read()


def test_a_text_is_in_one_place_only(written):
    written(WRITTEN)
    refused(lambda: one(published="2"), "t-1: published = '2': must be either here or in t/claims.toml")


def test_a_text_needs_a_figure_that_measures_it(written):
    written(WRITTEN)
    check_used("t", [], ["t-1", "t-3"])
    with pytest.raises(ConfigError, match=r"t/claims.toml = 't-1': must be a claim that one of the figures measures"):
        check_used("t", [], ["t-3"])


def test_a_figure_has_the_texts_of_its_folder(tmp_path, monkeypatch):
    path = tmp_path / "figures.toml"
    monkeypatch.setitem(FIGURES, "t.fig1", {})
    monkeypatch.setitem(SHARED, "t", {})
    path.write_text('[setup]\nsetup = "All."\n[fig1]\ntitle = "T"\ndescription = "D"\nsetup = """\nOne.\n\nTwo.\n"""\n')
    read_figures("t", path)

    class One(Experiment):
        name = "t.fig1"

    assert (One.title, One.description, One.__doc__, One.setup) == ("T", "D", "D", "One.\n\nTwo.\n")
    assert SHARED["t"] == {"setup": "All."}
    refused(lambda: check_used("t", [], []), "t/figures.toml = 't.fig1': must be the name of an experiment in this")
    path.write_text('[fig1]\ntitel = "T"\n')
    refused(lambda: read_figures("t", path), "t.fig1: titel = 'T': must be what is written of a figure: title")
