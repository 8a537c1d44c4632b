"""Common to all models: metadata, checks, frames, plots, sliders; and the frame of `compare`."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import rdmacc
from rdmacc.models import explore as exploring
from rdmacc.models.alpha_beta import AlphaBeta
from rdmacc.models.base import Model
from rdmacc.models.comparison import compare
from rdmacc.models.dasr import DasrConvergence, DasrIncast
from rdmacc.models.dcqcn import DcqcnFluid
from rdmacc.models.dcqcn_stability import DcqcnMargin
from rdmacc.models.go_back_n import GoBackNGoodput
from rdmacc.models.hpcc import HpccSteady
from rdmacc.models.ideal import ProcessorSharing
from rdmacc.models.max_min import MaxMin
from rdmacc.models.rcc import RccFluid
from rdmacc.models.rcc_stability import RccLoop, RccMarginSurface, tune
from rdmacc.models.rcp import RcpFluid
from rdmacc.models.ren_figures import RenQueue, RenRate, RenUtilisation
from rdmacc.models.timely import PatchedTimelyFluid, TimelyFluid
from rdmacc.simulation.scenario import Scenario
from tests.support import refused

MODELS = [
    DasrConvergence(), DasrIncast(step_ps="400ns"), DcqcnFluid(duration_ps="5ms"), DcqcnMargin(), GoBackNGoodput(),
    HpccSteady(rounds=50), ProcessorSharing(), RccFluid(duration_ps="200us"), RccLoop(), RccLoop(feedback_rtts=0.5),
    RccMarginSurface(points=21), RcpFluid(duration_ps="2ms"), RenQueue(trials=20), RenRate(), RenUtilisation(trials=20),
    TimelyFluid(duration_ps="2ms"), PatchedTimelyFluid(duration_ps="2ms"),
    MaxMin(network=rdmacc.star(3), workload=rdmacc.incast(["h1", "h2"], "h0", "8kB")),
]  # fmt: skip


def name_of(model):
    return type(model).__name__


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_convention(model):
    assert dataclasses.is_dataclass(model)
    assert type(model).__dataclass_params__.frozen
    assert model.title
    frames = [getattr(model, name)() for name in ("solve", "evaluate") if hasattr(model, name)]
    assert frames
    assert all(isinstance(frame, pd.DataFrame) and len(frame) for frame in frames)
    table = model.parameters()
    assert (table["doc"] != "").all()


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_sliders_have_allowed_ranges_and_return_what_they_show(model):
    pytest.importorskip("ipywidgets")
    sliders = {field.name: field.metadata["slider"] for field in exploring.slider_fields(model)}
    for name, (widget, back) in exploring.controls(model).items():
        value, slider = getattr(model, name), sliders[name]
        for end in slider or ():
            model.replace(**{name: end})
        if not slider or isinstance(value, bool) or slider[0] <= value <= slider[1]:
            assert back(widget.value) == (value if isinstance(value, str | bool) else pytest.approx(value, rel=0.02))


def test_explore_with_a_notebook_shows_sliders_and_updates(monkeypatch):
    shown = []

    class Handle:
        def update(self, figure):
            shown.append(figure)

    def display(thing, display_id=False):
        shown.append(thing)
        return Handle() if display_id else None

    IPython = pytest.importorskip("IPython")
    pytest.importorskip("ipywidgets")
    plt.figure()  # a mocked shell has no events for pyplot's first figure

    monkeypatch.setattr(IPython, "get_ipython", lambda: type("Shell", (), {"kernel": object()})())
    monkeypatch.setattr(IPython.display, "display", display)
    exploring.explore(RccLoop(), "kp")
    box, figure = shown
    box.children[0].value = 100.0
    assert len(shown) == 3
    assert shown[2] is not figure
    monkeypatch.setenv("RDMACC_WIDGETS", "0")
    assert isinstance(exploring.explore(RccLoop(), "kp"), Axes)
    assert len(shown) == 3


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"kp": -1.0}, "RccLoop.kp"), ({"kp": float("nan")}, "RccLoop.kp"), ({"kp": "1"}, "RccLoop.kp"),
        ({"base_rtt_ps": "3 apples"}, "RccLoop.base_rtt_ps"), ({"delta": 2.0}, "RccLoop.delta"), ({"gain": 1}, "gain"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_errors_that_name_the_field(changes, field):
    refused(lambda: RccLoop().replace(**changes), field)


def model_of(senders):
    work = rdmacc.incast([f"h{i}" for i in range(1, senders + 1)], "h0", "1kB")
    return MaxMin(network=rdmacc.star(senders + 1), workload=work)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: AlphaBeta(settings="x"), "AlphaBeta.settings = 'x': must be a Nccl"),
        (lambda: AlphaBeta().evaluate([-1]), "sizes = -1.0: must be from 0"),
        (lambda: ProcessorSharing().evaluate([-1]), "sizes = -1.0"),
        (lambda: GoBackNGoodput().evaluate([0.1, 2]), "losses = 2.0: must be from 0 to 1"),
        (lambda: RenQueue().evaluate([float("nan")]), "strengths = nan"),
        (lambda: RenUtilisation().evaluate([-1]), "strengths = -1.0"),
        (lambda: DasrIncast(senders=10**18), "DasrIncast.senders"),
        (lambda: DasrIncast(payload_bytes=2**50), "DasrIncast.payload_bytes"),
        (lambda: PatchedTimelyFluid(flows=10**18), "PatchedTimelyFluid.flows"),
        (lambda: RcpFluid(step_ps=1).solve(), "at most 5000000 steps"),
        (lambda: RccLoop().discrete_radius(delay=-1), "delay = -1"),
        (lambda: RccLoop().plot_bode([1, 2]), "axes"),
        (lambda: tune("0us"), "rtt = '0us'"),
        (lambda: tune("12us", ratio=0), "ratio = 0.0"),
        (lambda: tune("12us", margin="x"), "margin = 'x'"),
        (lambda: compare(HpccSteady), "model = "),
        (lambda: compare(HpccSteady(), scenaro=None), "did you mean 'scenario'"),
        (lambda: exploring.explore(RccLoop(), "k_p"), "did you mean 'kp'"),
        (lambda: exploring.explore(RccLoop), "model = "),
        (lambda: compare(model_of(2), model_of(3).scenario()), "result = '3 messages'"),
    ],
)
def test_what_a_model_cannot_compute_is_an_error(call, words):
    refused(call, words)


class Line(Model):
    """A model with a known difference from the measurement."""

    def __init__(self, x):
        self.x = np.asarray(x, np.float64)

    def scenario(self):
        return Scenario(network=rdmacc.star(3), workload=rdmacc.incast(["h1", "h2"], "h0", "8kB"), scheme="line-rate")

    def predict(self, result):
        return pd.DataFrame({"quantity": "level", "unit": "bytes", "x": self.x, "value": self.x})

    def measure(self, result):
        return pd.DataFrame({"quantity": "level", "unit": "bytes", "x": [0.0, 10.0], "value": [2.0, 12.0]})


def test_compare_interpolates_and_gives_one_frame():
    found = compare(Line([0.0, 5.0, 10.0, 20.0]))
    assert found.frame["x"].tolist() == [0.0, 5.0, 10.0]  # there is no measurement at 20
    assert found.frame["simulation"].tolist() == [2.0, 7.0, 12.0]
    assert found.frame["difference"].tolist() == [2.0, 2.0, 2.0]
    assert found.frame["relative"].tolist()[1:] == [0.4, 0.2]
    assert found.summary(1.0).loc["level", ["model", "simulation"]].tolist() == [5.0, 7.0]
    assert "level" in found._repr_html_()
    refused(lambda: found.plot(quantity="queue"), "quantity")


def test_compare_takes_scenarios_simulations_and_results():
    model = Line([0.0, 10.0])
    scenario = model.scenario()
    simulation = rdmacc.Simulation(scenario.network, scenario.workload, scenario.scheme)
    for given in (None, scenario, simulation, scenario.run()):
        assert len(compare(model, given).frame) == 2
    refused(lambda: compare(model, 3), "scenario")
    refused(lambda: compare(RccLoop()), "model")
