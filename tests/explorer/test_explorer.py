"""The explorer shows the results of its Python script, and no control breaks it."""

import socket

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import rdmacc
from rdmacc.explorer.setup import NETWORKS, WORKS, Setup, movable
from rdmacc.schemes import SCHEMES

ipywidgets = pytest.importorskip("ipywidgets")

from rdmacc import explorer as explorers  # noqa: E402
from rdmacc.explorer import page  # noqa: E402
from rdmacc.explorer.models import SHOWN, ModelExplorer  # noqa: E402
from rdmacc.explorer.widgets import Explorer  # noqa: E402
from rdmacc.models import RenRate  # noqa: E402
from rdmacc.models.explore import slider_fields  # noqa: E402
from tests.support import mostly_at_night, refused  # noqa: E402


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_script_gives_what_is_shown(network, work):
    setup = Setup(
        network=network, work=work, hosts=6, size_kb=8, schemes=("dcqcn",), changes={"dcqcn": {"Dcqcn.g": 0.25}}
    )
    results = setup.run()
    shown, names = results["dcqcn"], {}
    exec(setup.to_python(results).replace("plt.show()", ""), names)
    assert len(plt.gcf().axes) == 3
    assert names["results"]["dcqcn"].flows.equals(shown.flows)
    assert names["results"]["dcqcn"].probes.equals(shown.probes)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMES)
def test_every_slider_of_every_scheme_can_be_dragged_to_its_ends(name):
    for row in movable(name):
        assert row["low"] <= row["value"] <= row["high"]
        if row["component"] in ("Pfc", "DropTail"):
            continue
        for value in (row["low"], row["high"]):
            made = rdmacc.scheme(name).replace(**{row["name"]: value})
            assert getattr(made.owner(row["name"])[0], row["parameter"]) == pytest.approx(value)


@pytest.fixture
def explorer():
    made = Explorer(Setup(hosts=5, size_kb=16, schemes=("dcqcn", "hpcc")))
    return made


def test_dragging_changes_picture_numbers_and_script(explorer):
    before = explorer.pictures["queue"].value
    assert bytes(before).startswith(b"\x89PNG")
    explorer.sliders["dcqcn", "Red.kmin_bytes"].value = 1.0
    assert explorer.setup.changes["dcqcn"]["Red.kmin_bytes"] == 1000
    assert "'Red.kmin_bytes': 1000" in explorer.code.value
    explorer.controls["size_kb"].value = 64
    assert bytes(explorer.pictures["queue"].value) != bytes(before)
    assert "dcqcn" in explorer.table.value
    assert "hpcc" in explorer.table.value


def test_a_step_draws_what_a_new_page_would(explorer):
    for name, value in (("size_kb", 64), ("scheme 3", "ndp"), ("work", "web search"), ("work", "incast")):
        explorer.controls[name].value = value
        fresh = Explorer(explorer.setup)
        for picture, image in explorer.pictures.items():
            assert bytes(image.value) == bytes(fresh.pictures[picture].value), (name, value, picture)


def test_a_chosen_message_is_explained_under_each_scheme(explorer):
    assert explorer.why.children == ()
    explorer.message.value = slowest = explorer.message.options[1][1]
    image, words = explorer.why.children[0].children
    assert bytes(image.value).startswith(b"\x89PNG")
    assert f"Message {slowest} (" in words.value
    assert "hpcc)" in explorer.why.children[1].children[1].value
    explorer.controls["scheme 2"].value = ""
    assert explorer.message.value == slowest
    assert len(explorer.why.children) == 1
    explorer.controls["work"].value = "all-reduce"  # 30 messages to choose from, perhaps without this one
    assert explorer.message.value in ("", *(flow for _, flow in explorer.message.options[1:]))
    explorer.message.value = ""
    assert explorer.why.children == ()


@pytest.mark.slow
def test_an_impossible_value_is_reported_reset_and_the_next_step_works(explorer):
    kmin, kmax = (explorer.sliders["dcqcn", f"Red.{name}_bytes"] for name in ("kmin", "kmax"))
    kmax.value = 12.5
    before, shown = kmin.value, bytes(explorer.pictures["queue"].value)
    kmin.value = 80
    assert "kmin_bytes = 80000: must be at most kmax_bytes" in explorer.notes.text(("dcqcn", "Red.kmin_bytes"))
    assert kmin.value == before
    assert bytes(explorer.pictures["queue"].value) == shown
    kmin.value = 10
    assert "must be" not in explorer.notes.text(("dcqcn", "Red.kmin_bytes"))
    assert explorer.setup.changes["dcqcn"]["Red.kmin_bytes"] == 10_000
    explorer.controls["size_kb"].value = 250
    assert bytes(explorer.pictures["queue"].value) != shown


def positions(control):
    """Return a slider's ends and every third position between them, or all values of a choice."""
    values = list(every_position(control))
    return values if hasattr(control, "options") else [*values[:-1:3], values[-1]]


def every_position(control):
    if hasattr(control, "options"):
        return [one[1] if isinstance(one, tuple) else one for one in control.options]
    if hasattr(control, "base"):
        return 10 ** np.arange(control.min, control.max + control.step / 2, control.step)
    if hasattr(control, "step"):
        return np.arange(control.min, control.max + control.step / 2, control.step).tolist()
    return [control.min, control.max]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    mostly_at_night(["network", "hosts", "rate_gbps", "size_kb", "delay_us", "load", "work", "scheme 1"], every=3),
)
def test_every_control_works_in_every_position(name, monkeypatch):
    monkeypatch.setattr("rdmacc.explorer.widgets.draw", lambda setup, results, figures: {"fct": Figure(figsize=(1, 1))})
    explorer = Explorer(Setup(hosts=6, work="web search" if name == "load" else "two long flows"))
    if name == "hosts":
        explorer.controls["work"].value = "incast"
    control = explorer.controls[name]
    values = positions(control)
    assert len(values) > 2
    for value in values:
        control.value = value
        assert "#b04a00" not in explorer.notes.text(name), (name, value, explorer.notes.text(name))
        assert control.value == (value if isinstance(value, str) else pytest.approx(value))


def test_a_users_scheme_has_a_curve_and_sliders(tmp_path):
    file = tmp_path / "my_ideas.py"
    file.write_text(
        "import rdmacc\n"
        "from rdmacc.protocols.dcqcn import Dcqcn\n"
        "from rdmacc.schemes import Scheme, register_scheme\n"
        "make = lambda: Scheme(name='mine', control=(Dcqcn(g=0.5),), switch=rdmacc.scheme('dcqcn-hpcc').switch)\n"
        "register_scheme('mine', make, about='gentle marking')\n"
    )
    try:
        page([str(file)])
        explorer = Explorer(Setup(hosts=5, schemes=("dcqcn",)))
        assert ("mine: gentle marking", "mine") in explorer.controls["scheme 1"].options
        explorer.controls["scheme 2"].value = "mine"
        assert ("mine", "Dcqcn.g") in explorer.sliders
        assert "gentle marking" in explorer.notes.text("scheme 2")
    finally:
        SCHEMES.pop("mine", None)


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(SHOWN, every=2))
def test_every_model_has_a_picture_and_sliders(name):
    made = ModelExplorer(name)
    assert bytes(made.picture.value).startswith(b"\x89PNG")
    assert made.sliders
    assert f"rdmacc.models.{name}()." in made.code.value


def test_dragging_a_models_slider_changes_its_picture_and_its_python():
    made = ModelExplorer("RccLoop")
    before = bytes(made.picture.value)
    made.sliders["feedback_rtts"].value = 1.0
    assert bytes(made.picture.value) != before
    assert "RccLoop(feedback_rtts=1.0).plot_bode()" in made.code.value
    made.choice.value = "RenRate"
    assert set(made.sliders) == {field.name for field in slider_fields(RenRate())}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"changes": {"dcqnc": {"Dcqcn.g": 0.5}}}, "changes = 'dcqnc': must be the name of a scheme; did you"),
        ({"network": "ring"}, "network = 'ring'"), ({"work": "all"}, "work = 'all'"), ({"hosts": 2}, "hosts = 2"),
        ({"schemes": ()}, "schemes"), ({"load": 1.0}, "load = 1.0"), ({"host": 3}, "did you mean 'hosts'"),
    ],
)  # fmt: skip
def test_invalid_values_are_named(changes, words):
    refused(lambda: rdmacc.explore(**changes), words)


SERVER = """
import socket, sys
path, port, token = sys.stdin.read().split("\\n")
with open({told!r}, "w") as told:
    told.write(" ".join([token, *sys.argv]) + "\\n" + open(path).read())
socket.create_server(("127.0.0.1", int(port))).accept()
sys.exit(3)
"""


def test_only_the_server_and_the_browser_get_the_token(tmp_path, monkeypatch, capsys):
    pytest.importorskip("voila")
    opened, told, mine = [], tmp_path / "told", tmp_path / "mine.py"
    mine.touch()
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(explorers, "_SERVER", SERVER.format(told=str(told)))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(lambda: explorers.serve(port=port), "a free port")
    assert explorers.serve([mine], port) == 3
    first, notebook = told.read_text().split("\n", 1)
    token, *arguments = first.split()
    assert arguments == ["-c"]
    assert opened == [f"http://127.0.0.1:{port}/?token={token}"]
    assert opened[0] in capsys.readouterr().out
    assert str(mine) in notebook


def test_no_browser_opens_if_the_server_does_not_start(monkeypatch):
    pytest.importorskip("voila")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(explorers, "_SERVER", "raise SystemExit(4)")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert explorers.serve(port=port) == 4
    assert opened == []
    refused(lambda: explorers.serve([explorers.Path("nothing.py")]), "a Python file")
