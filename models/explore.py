"""Sliders for a model, generated from its parameters' metadata; without widgets, a plain plot."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.errors import unknown
from rdmacc.errors.typed import typed
from rdmacc.models.base import Model
from rdmacc.show.style import UNITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_STEPS = 100


def slider_fields(model: Model | type[Model], names: tuple[str, ...] = ()) -> list[dataclasses.Field[Any]]:
    """Return the fields for sliders: the named ones, or all with a range or few values."""
    fields = {field.name: field for field in dataclasses.fields(model)}
    movable = {
        name: field
        for name, field in fields.items()
        if field.metadata.get("slider") or field.metadata.get("choices") or isinstance(field.default, bool)
    }
    for name in names:
        if name not in movable:
            raise unknown("parameter to explore", name, movable)
    return [movable[name] for name in names or movable]


def controls(model: Model, names: tuple[str, ...] = ()) -> dict[str, tuple[Any, Callable[[Any], Any]]]:
    """Return, for each parameter, a widget and the function from the widget's value to the parameter's.

    Needs ipywidgets. A string becomes a drop-down list, a bool a check box, and a number a slider (logarithmic if the
    parameter says so), in the most readable unit.
    """
    widgets: Any = import_module("ipywidgets")
    made: dict[str, tuple[Any, Callable[[Any], Any]]] = {}
    for field in slider_fields(model, names):
        meta, value = field.metadata, getattr(model, field.name)
        factor, unit = UNITS.get(meta["unit"], (1.0, meta["unit"]))
        label = (meta["symbol"] or field.name) + (f" ({unit})" if unit else "")
        common: dict[str, Any] = {
            "description": label, "tooltip": meta["doc"], "continuous_update": False,
            "style": {"description_width": "9em"},
        }  # fmt: skip
        if meta["choices"]:
            del common["continuous_update"]
            made[field.name] = widgets.Dropdown(options=meta["choices"], value=value, **common), str
        elif isinstance(field.default, bool):
            del common["continuous_update"]
            made[field.name] = widgets.Checkbox(value=value, **common), bool
        else:
            made[field.name] = _number(widgets, field, value, factor, common)
    return made


def _number(
    widgets: Any, field: dataclasses.Field[Any], value: float, factor: float, common: dict[str, Any]
) -> tuple[Any, Callable[[Any], Any]]:
    low, high = (end / factor for end in field.metadata["slider"])
    is_whole = isinstance(field.default, int)
    shown = min(max(value / factor, low), high)
    digits = ".3" if high < 1000 else ".6"  # as many digits as fit into the box

    def back(number: float) -> float:
        return round(number * factor) if is_whole else float(number * factor)

    if field.metadata["is_log"]:
        common |= {"min": np.log10(low), "max": np.log10(high), "step": (np.log10(high) - np.log10(low)) / _STEPS}
        return widgets.FloatLogSlider(value=shown, readout_format=digits, **common), back
    if is_whole and factor == 1.0:
        return widgets.IntSlider(value=round(shown), min=round(low), max=round(high), **common), back
    common |= {"min": low, "max": high, "step": (high - low) / _STEPS}
    return widgets.FloatSlider(value=shown, readout_format=digits, **common), back


@typed
def explore(model: Model, *names: str, draw: Callable[[Any], Axes] | None = None) -> Axes:
    """Show a model's plot, with sliders that change it.

    The plot is an ordinary output, so it is kept when a notebook is executed unattended. Without ipywidgets,
    outside a notebook or with ``RDMACC_WIDGETS=0`` there are no sliders.
    """
    slider_fields(model, names)
    drawn = draw or picture
    made = _controls_if_possible(model, names)
    if made is None:
        return drawn(model)
    import matplotlib.pyplot as plt

    widgets: Any = import_module("ipywidgets")
    display: Any = import_module("IPython.display").display

    display(widgets.VBox([widget for widget, _ in made.values()]))
    axes = drawn(model)
    handle = display(_figure(axes), display_id=True)
    plt.close(_figure(axes))

    def update(_: Any) -> None:
        changes = {name: back(widget.value) for name, (widget, back) in made.items()}
        figure = _figure(drawn(model.replace(**changes)))
        handle.update(figure)
        plt.close(figure)

    for widget, _ in made.values():
        widget.observe(update, names="value")
    return axes


def picture(model: Model) -> Axes:
    """Draw the explorer's plot of a model: gain and phase of a control loop, otherwise the model's `plot`."""
    bode = getattr(model, "plot_bode", None)
    return model.plot() if bode is None else bode()[0]


def _controls_if_possible(model: Model, names: tuple[str, ...]) -> dict[str, tuple[Any, Callable[[Any], Any]]] | None:
    if os.environ.get("RDMACC_WIDGETS") == "0":
        return None
    try:
        shell = import_module("IPython").get_ipython()
        return controls(model, names) if getattr(shell, "kernel", None) is not None else None
    except ImportError:
        return None


def _figure(axes: Axes) -> Any:
    return axes.figure
