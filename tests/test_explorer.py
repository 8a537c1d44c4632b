"""The explorer: what it shows is what its Python does, and nothing that one drags breaks it."""

from __future__ import annotations

import io

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.explorer.picture import draw
from rdmacc.explorer.setup import NETWORKS, WORKS, Setup, movable
from rdmacc.schemes import SCHEMES

ipywidgets = pytest.importorskip("ipywidgets")

from rdmacc.explorer import page  # noqa: E402
from rdmacc.explorer.models import SHOWN, ModelExplorer  # noqa: E402
from rdmacc.explorer.widgets import Explorer  # noqa: E402
from rdmacc.models import RenRate  # noqa: E402
from rdmacc.models.explore import slider_fields  # noqa: E402


@pytest.mark.parametrize("work", WORKS)
@pytest.mark.parametrize("network", NETWORKS)
def test_the_script_does_what_is_shown(network, work):
    setup = Setup(
        network=network, work=work, hosts=6, size_kb=8, schemes=("dcqcn",), changes={"dcqcn": {"Dcqcn.g": 0.25}}
    )
    shown = setup.run()["dcqcn"]
    names = {}
    exec(setup.to_python().replace("plt.show()", ""), names)
    assert len(plt.gcf().axes) == 3
    plt.close("all")
    assert names["results"]["dcqcn"].flows.equals(shown.flows)
    assert names["results"]["dcqcn"].probes.equals(shown.probes)


@pytest.mark.parametrize("name", SCHEMES)
def test_every_slider_of_every_scheme_can_be_dragged_to_its_ends(name):
    for row in movable(name):
        assert row["low"] <= row["value"] <= row["high"]
        if row["component"] in ("Pfc", "DropTail"):
            continue
        for value in (row["low"], row["high"]):
            try:
                made = rdmacc.scheme(name, **{row["name"]: value})
            except ConfigError:  # it contradicts another, such as K_min above K_max
                continue
            assert getattr(made.owner(row["name"])[0], row["parameter"]) == pytest.approx(value)


@pytest.fixture
def explorer():
    made = Explorer(Setup(hosts=5, size_kb=16, schemes=("dcqcn", "hpcc")))
    yield made
    plt.close("all")


def test_dragging_changes_picture_numbers_and_script(explorer):
    before = explorer.picture.value
    assert bytes(before).startswith(b"\x89PNG")
    explorer.sliders["dcqcn", "Red.kmin_bytes"].value = 1.0
    assert explorer.setup.changes["dcqcn"]["Red.kmin_bytes"] == 1000
    assert "'Red.kmin_bytes': 1000" in explorer.code.value
    explorer.controls["size_kb"].value = 64
    assert bytes(explorer.picture.value) != bytes(before)
    assert "dcqcn" in explorer.message.value
    assert "hpcc" in explorer.message.value


def test_axes_stay_until_they_are_fitted(explorer):
    limits = dict(explorer._limits)
    explorer.controls["size_kb"].value = 250
    assert explorer._limits == limits
    explorer.fit.click()
    assert explorer._limits != limits


def test_schemes_bring_their_own_sliders(explorer):
    explorer.controls["schemes"].value = ("timely",)
    assert {scheme for scheme, _ in explorer.sliders} == {"timely"}
    assert explorer.setup.schemes == ("timely",)


def test_what_cannot_be_is_said_and_breaks_nothing(explorer):
    before = explorer.picture.value
    explorer.controls["schemes"].value = tuple(list(SCHEMES)[:4])
    assert "one to 3 different schemes" in explorer.message.value
    explorer.controls["schemes"].value = ("dcqcn",)
    explorer.sliders["dcqcn", "Red.kmax_bytes"].value = explorer.sliders["dcqcn", "Red.kmax_bytes"].min ** 0 * 12.5
    explorer.sliders["dcqcn", "Red.kmin_bytes"].value = 80
    assert "kmin_bytes" in explorer.message.value
    assert explorer.picture.value
    assert before


def test_the_picture_has_three_panels_and_models():
    setup = Setup(hosts=5, size_kb=16)
    figure, limits = draw(setup, setup.run())
    labels = [text.get_text() for ax in figure.axes for text in ax.get_legend().get_texts()]
    assert len(figure.axes) == 3
    assert {"fair share", "max-min fair shares"} <= set(labels)
    assert set(limits) == {"rates", "queue", "fct"}
    figure.savefig(io.BytesIO())


@pytest.mark.parametrize("name", SHOWN)
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


def test_the_page_has_both_explorers():
    tab = page()
    assert tab.titles == ("Schemes", "Models")
    assert len(tab.children) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"network": "ring"}, "network = 'ring'"), ({"work": "all"}, "work = 'all'"), ({"hosts": 2}, "hosts = 2"),
        ({"schemes": ()}, "schemes"), ({"load": 1.0}, "load = 1.0"), ({"host": 3}, "did you mean 'hosts'"),
    ],
)  # fmt: skip
def test_wrong_values_are_named(changes, words):
    with pytest.raises(ConfigError, match=words):
        rdmacc.explore(**changes)
