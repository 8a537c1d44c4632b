"""The scorecard: its rule, its lines, known findings, and the command."""

import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import rdmacc
from rdmacc import Case, ConfigError
from rdmacc.cli import scorecard as command
from rdmacc.cli.main import app
from rdmacc.results.explain.walk import KINDS
from rdmacc.schemes.registry import SCHEMES
from rdmacc.searches import case, scorecard
from rdmacc.searches.objectives import OBJECTIVES
from rdmacc.show.tables import filled

pytest.importorskip("optuna")

PAGES = Path(__file__).parents[2] / "docs" / "schemes"


FEW = (4, 2, 2)
"""Runs of a search. Constants of rdmacc are not patched, because code compiled under a patch is not cached."""


def test_a_schemes_lines_reproduce_its_values():
    rows = scorecard.measured("dcqcn", "100 Gb/s", control=True, runs=FEW)
    assert rows["objective"].tolist() == list(scorecard.GRADES)
    for row in rows.to_dict("records"):
        result = eval(row["line"])
        one = eval(row["line"].rsplit(".run", 1)[0])
        assert OBJECTIVES[row["objective"]].measure(one, result) == row["value"]
        sign = OBJECTIVES[row["objective"]].sign
        assert sign * row["searched"] >= sign * row["sampled"]
        assert sign * row["value"] >= sign * row["earlier"]
        assert sign * row["chance_all"] >= sign * row["chance"] >= sign * row["sampled"]
        assert row["kind"] in KINDS
        assert "dcqcn" in row["cause"]


def test_a_finding_is_known_only_if_a_sentence_names_its_scheme_cause_and_objective():
    rows = [("rcp", "own rate", "lost goodput", 0.3), ("rcp", "own rate", "lost goodput", 0.2),
            ("rcp", "queue at a port", "lost goodput", 0.3), ("rcc-pid", "own rate", "Jain", 0.5)]  # fmt: skip
    table = scorecard.pd.DataFrame(rows, columns=["scheme", "kind", "objective", "value"])
    found = scorecard.judged(table)
    assert found["verdict"].tolist() == ["known from elsewhere", "", "found here", "known from its paper"]
    assert found["grade"].tolist() == [2, 1, 2, 3]
    assert found["source"].tolist() == ["this guide, RCP", "", "", "RCC, V-E"]


def test_known_findings_name_schemes_kinds_and_objectives_and_are_documented():
    pages = re.sub(r"\s+", " ", " ".join(page.read_text() for page in sorted(PAGES.glob("*.md"))))
    for row in scorecard.known().itertuples():
        assert set(row.schemes) <= set(SCHEMES)
        assert set(row.kinds) <= set(KINDS)
        assert set(row.objectives) <= set(scorecard.GRADES)
        assert row.origin in scorecard.VERDICTS
        if row.source.startswith("this guide"):
            assert row.sentence in pages


def test_a_case_with_too_many_events_is_stopped_with_a_partial_result():
    scenario = Case(loss=1.0).scenario("dcqcn")
    with pytest.raises(case.TooLongError, match=r"stopped at [\d.]+ .s after 100 events") as found:
        case.quietly(scenario, 100)
    assert 0 < found.value.result.now_ps < Case(loss=1.0).horizon_ps
    few = rdmacc.search("dcqcn", {"loss": (0.9, 1.0)}, "lost goodput", budget=1, most_events=100, progress=False)
    assert "after 100 events" in few.finds[0].problem
    assert case.quietly(scenario).now_ps == Case(loss=1.0).horizon_ps
    assert case.quietly(Case(senders=4).scenario("dcqcn")).digest() == Case(senders=4).run("dcqcn").digest()


def test_a_line_shows_the_changed_parameters():
    scheme = rdmacc.scheme("dcqcn", **{"Red.pmax": 0.5, "cnp_interval_ps": "4us"})
    line = Case(senders=4).line(scheme)
    assert '"Red.pmax": 0.5' in line
    assert eval(line).digest() == Case(senders=4).run(scheme).digest() != Case(senders=4).run("dcqcn").digest()
    assert Case().line("dcqcn") == 'rdmacc.Case().run("dcqcn")'


def test_a_search_can_continue_from_the_runs_of_another():
    space = {"senders": (1, 12), "size_bytes": ("1kB", "32kB")}
    both = rdmacc.search("dcqcn", space, ["peak queue", "Jain"], budget=8, sampler="random", progress=False)
    found = rdmacc.search("dcqcn", space, "Jain", budget=4, after=both, progress=False)
    assert [run.objectives for run in found.runs[:8]] == [run.objectives[1:] for run in both.runs]
    assert [run.number for run in found.runs] == list(range(12))
    with pytest.raises(ConfigError, match="a search of the same space"):
        rdmacc.search("dcqcn", {"senders": (1, 12)}, "Jain", budget=4, after=both, progress=False)
    for other, given in (("hpcc", {}), ("dcqcn", {"cases": Case(loss=0.001)})):
        with pytest.raises(ConfigError, match="the same scheme or model, with the same cases"):
            rdmacc.search(other, space, "Jain", budget=4, after=both, progress=False, **given)
    with pytest.raises(ConfigError, match="a search that measured it"):
        rdmacc.search("dcqcn", space, "pause time", budget=4, after=both, progress=False)


def test_the_page_is_current_and_each_change_removes_most_of_the_harm():
    known = scorecard.finds()
    assert sum(one.status != "stated" for one in known) >= 20
    page = (PAGES.parent / "background" / "scorecard.md").read_text()
    for one in known:
        before, after = (OBJECTIVES[one.objective].badness(run.objectives[0]) for run in one.runs)
        assert after < before / 2, one
    assert page == filled(page, "finds", scorecard.finds_text(known))


def run(*arguments):
    return CliRunner().invoke(app, ["scorecard", *map(str, arguments)])


def test_a_users_scheme_is_scored_and_evaluated_on_held_out_cases(tmp_path, monkeypatch):
    few = vars(scorecard) | {"measured": partial(scorecard.measured, runs=FEW), "RATES": ("100 Gb/s", "400 Gb/s")}
    monkeypatch.setattr(command, "cards", SimpleNamespace(**few))
    path = tmp_path / "gentle_scheme.py"
    path.write_text(
        "import rdmacc\nrdmacc.register_scheme('gentle', lambda: rdmacc.scheme('dcqcn', g=0.1, name='gentle'))\n"
    )
    try:
        scored = run(path, "--out", tmp_path / "rows.parquet")
        assert scored.exit_code == 0, scored.output
        assert '.run("gentle")' in scored.output
        assert len(scorecard.pd.read_parquet(tmp_path / "rows.parquet")) == 10
        compared = run("gentle", "--held-out", "--seed", 3, "--count", 3)
        assert compared.stdout.startswith("gentle against dcqcn in 3 cases drawn by seed 3")
    finally:
        del SCHEMES["gentle"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dcqnc"], "did you mean 'dcqcn'"),
        (["none.py"], "a Python file that registers some"),
        (["dcqcn", "--held-out"], "a seed of your choice"),
        (["dcqcn", "hpcc", "--held-out", "--seed", 1], "one, with --held-out"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ConfigError, match=message):
        raise run(*arguments).exception


def test_the_table_is_printed_and_drawn(tmp_path):
    shown = run("--plot", tmp_path / "map.png")
    assert shown.exit_code == 0, shown.output
    assert "dcqcn" in shown.stdout
    assert (tmp_path / "map.png").stat().st_size > 10_000
    assert run("dcqcn").stdout.count(".run(") == 15


def test_the_bundled_table_has_every_scheme_and_its_lines_reproduce_it():
    table = scorecard.bundled()
    assert len(set(table["scheme"])) == 44
    assert len(table) == 44 * len(scorecard.RATES) * len(scorecard.GRADES)
    assert not table.duplicated(["scheme", "rate_bps", "objective"]).any()
    assert table["commit"].str.fullmatch("[0-9a-f]{40}").all()
    finds = table[table["grade"] >= 2]
    assert (finds["verdict"] != "").all()
    for row in finds[finds["scheme"].isin(["dcqcn", "ren"])].iloc[::5].to_dict("records"):
        one = eval(row["line"].rsplit(".run", 1)[0])
        assert OBJECTIVES[row["objective"]].measure(one, eval(row["line"])) == row["value"]
