"""The models' explorer: one model at a time, with a slider for each parameter and the equivalent Python code."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rdmacc.errors import RdmaccError, not_installed
from rdmacc.explorer.widgets import Notes
from rdmacc.show.png import png

SHOWN = {
    "RccLoop": "When does RCC oscillate?",
    "RccFluid": "How does RCC's window settle?",
    "RccMarginSurface": "Which gains keep RCC stable?",
    "DcqcnFluid": "Where does DCQCN's queue settle?",
    "DcqcnMargin": "With how many flows is DCQCN least stable?",
    "TimelyFluid": "Why does TIMELY never become fair?",
    "PatchedTimelyFluid": "What does TIMELY's patch change?",
    "RcpFluid": "How fast does RCP find the fair rate?",
    "HpccSteady": "How long until HPCC is fair?",
    "DasrIncast": "What does looking ahead gain in an incast?",
    "DasrConvergence": "How fast do Dart's senders learn their share?",
    "RenQueue": "How long are REN's queues?",
    "RenUtilisation": "How full are REN's links as flows leave?",
    "RenRate": "How fast does REN take free bandwidth?",
    "ProcessorSharing": "How long does a message take on a shared link?",
    "GoBackNGoodput": "What does loss cost with go-back-N?",
}
"""Models of `rdmacc.models` that only need parameters, by the question they answer."""


class ModelExplorer:
    """Widgets around a model. ``explorer.view`` is what a notebook shows; the controls are public, for tests."""

    def __init__(self, name: str = next(iter(SHOWN))) -> None:
        try:
            self._widgets: Any = import_module("ipywidgets")
        except ImportError:
            raise not_installed("explore", "ipywidgets", "notebooks") from None
        widgets = self._widgets
        self.choice = widgets.Dropdown(
            options=[(question, name) for name, question in SHOWN.items()],
            value=name,
            layout={"width": "calc(100% - 4px)", "max_width": "28em"},
        )
        self.picture = widgets.Image(
            format="png", layout={"flex": "1 1 36em", "min_width": "0", "max_width": "56em", "object_fit": "contain"}
        )
        self.picture.add_class("picture-first")  # on a narrow page
        self.code = widgets.HTML()
        self.sliders: dict[str, Any] = {}
        self._box = widgets.VBox()
        self._model: Any = None
        self._back: dict[str, Any] = {}
        self.choice.observe(lambda _: self._chosen(), names="value")
        panels = widgets.HBox([self._box, self.picture], layout={"flex_flow": "row wrap", "align_items": "flex-start"})
        self.view = widgets.VBox([self.choice, panels, self.code])
        self._chosen()

    def _chosen(self) -> None:
        from rdmacc.models.explore import controls

        self._model = getattr(import_module("rdmacc.models"), self.choice.value)()
        made = controls(self._model)
        self.sliders = {name: widget for name, (widget, _) in made.items()}
        self._back = {name: back for name, (_, back) in made.items()}
        for widget in self.sliders.values():
            widget.observe(self._update, names="value")
        self.notes = Notes(self._widgets)
        self._box.children = [self.notes.beside(name, widget, widget.tooltip) for name, widget in self.sliders.items()]
        self._update()

    def _update(self, event: Any = None) -> None:
        """Draw the model; if a slider's value is invalid, restore the old one and show the reason."""
        from html import escape

        import matplotlib.pyplot as plt

        from rdmacc.models.explore import picture

        moved = {name: self._back[name](widget.value) for name, widget in self.sliders.items()}
        changes = {name: value for name, value in moved.items() if value != getattr(self._model, name)}
        try:
            figure = picture(self._model.replace(**changes)).figure
        except RdmaccError as error:
            moved_name = next(name for name, widget in self.sliders.items() if widget is event["owner"])
            event["owner"].value = event["old"]  # this triggers a redraw
            self.notes.say(moved_name, str(error))
            return
        self.notes.say(None, "")
        self.picture.value = png(figure, dpi=150, is_packed=False)
        plt.close(figure)
        given = ", ".join(f"{name}={value!r}" for name, value in changes.items())
        plot = "plot_bode" if hasattr(self._model, "plot_bode") else "plot"
        self.code.value = f"<code>rdmacc.models.{self.choice.value}({escape(given)}).{plot}()</code>"
