"""The explorer's controls: network, messages, up to three schemes and a slider for each of their parameters."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from rdmacc.errors import RdmaccError, not_installed
from rdmacc.explorer.picture import draw
from rdmacc.explorer.setup import NETWORKS, WORKS, Setup, movable
from rdmacc.plotting.png import png
from rdmacc.schemes import SCHEMES

__all__ = ["Explorer"]

_UNITS = {"ps": (1e6, "µs"), "bps": (1e9, "Gb/s"), "bytes": (1e3, "kB")}
_STEPS = 120


class Explorer:
    """Widgets around a `Setup`. ``explorer.view`` is what a notebook shows; the controls are public, for tests.

    Parameters
    ----------
    setup : Setup
        Where to start.

    Attributes
    ----------
    setup : Setup
        What is shown.
    view : ipywidgets.Widget
        Everything.
    controls : dict
        Widgets of the scenario, by the field of `Setup` that they set.
    sliders : dict
        Widgets of the schemes' parameters, by (scheme, parameter).
    picture : ipywidgets.Image
        The picture, as PNG.
    code : ipywidgets.Textarea
        The same as Python.
    message : ipywidgets.HTML
        What is wrong, or how the schemes did.

    Raises
    ------
    ConfigError
        If ipywidgets is not installed.
    """

    def __init__(self, setup: Setup) -> None:
        try:
            ipywidgets: Any = import_module("ipywidgets")
        except ImportError:
            raise not_installed("explore", "ipywidgets", "notebooks") from None
        self._widgets = ipywidgets
        self.setup = setup
        self._limits: dict[str, Any] | None = None
        self.sliders: dict[tuple[str, str], Any] = {}
        self.controls = self._controls()
        self._parameters = ipywidgets.Accordion()
        self.picture = ipywidgets.Image(format="png", layout={"width": "100%", "max_width": "1250px"})
        self.message = ipywidgets.HTML()
        self.code = ipywidgets.Textarea(layout={"width": "100%", "height": "18em"}, disabled=True)
        self.fit = ipywidgets.Button(description="Fit the axes", tooltip="Axes stay as they are until this is pressed")
        self.fit.on_click(lambda _: self._fit())
        code = ipywidgets.Accordion(children=[self.code], titles=("As Python",))
        scenario = ipywidgets.HBox(
            [ipywidgets.VBox(list(self.controls.values())[:5]), ipywidgets.VBox(list(self.controls.values())[5:])],
            layout={"flex_flow": "row wrap"},
        )
        self.view = ipywidgets.VBox([scenario, self.picture, self.message, self.fit, self._parameters, code])
        self._show_parameters()
        self._update()

    def _controls(self) -> dict[str, Any]:
        widgets, setup = self._widgets, self.setup
        common: dict[str, Any] = {"continuous_update": False, "style": {"description_width": "8em"}}
        named: dict[str, Any] = {"style": {"description_width": "8em"}}
        made = {
            "network": widgets.Dropdown(options=NETWORKS, value=setup.network, description="network", **named),
            "hosts": widgets.IntSlider(value=setup.hosts, min=4, max=32, description="hosts", **common),
            "rate_gbps": widgets.SelectionSlider(
                options=[10.0, 25.0, 40.0, 100.0, 200.0, 400.0], value=setup.rate_gbps, description="links (Gb/s)",
                **common,
            ),
            "delay_us": widgets.FloatLogSlider(
                value=setup.delay_us, min=-1, max=1.5, step=0.05, description="link delay (µs)", readout_format=".5",
                **common,
            ),
            "seed": widgets.BoundedIntText(value=setup.seed, min=0, max=10**6, description="seed", **named),
            "work": widgets.Dropdown(options=WORKS, value=setup.work, description="messages", **named),
            "size_kb": widgets.FloatLogSlider(
                value=setup.size_kb, min=0, max=3.3, step=0.05, description="size (kB)", readout_format=".5", **common
            ),
            "load": widgets.FloatSlider(
                value=setup.load, min=0.05, max=0.95, step=0.05, description="load", **common
            ),
            "schemes": widgets.SelectMultiple(
                options=list(SCHEMES), value=setup.schemes, description="schemes (≤ 3)", rows=7, **named
            ),
        }  # fmt: skip
        for widget in made.values():
            widget.observe(lambda _: self._changed(), names="value")
        return made

    def _changed(self) -> None:
        values = {name: widget.value for name, widget in self.controls.items()}
        schemes = tuple(values["schemes"])
        try:
            self.setup = replace(self.setup, **{**values, "schemes": schemes})
        except RdmaccError as error:
            self._say(error)
            return
        if {scheme for scheme, _ in self.sliders} != set(schemes):
            self._show_parameters()
        self._update()

    def _show_parameters(self) -> None:
        """Make a slider for each parameter of the chosen schemes."""
        self.sliders = {}
        pages = []
        for scheme in self.setup.schemes:
            rows = movable(scheme)
            for row in rows:
                self.sliders[scheme, row["name"]] = self._slider(scheme, row)
            pages.append(self._widgets.VBox([self.sliders[scheme, row["name"]] for row in rows]))
        self._parameters.children = pages
        self._parameters.titles = tuple(f"{scheme}: parameters" for scheme in self.setup.schemes)

    def _slider(self, scheme: str, row: dict[str, Any]) -> Any:
        factor, unit = _UNITS.get(row["unit"], (1.0, row["unit"]))
        value = self.setup.changes.get(scheme, {}).get(row["name"], row["value"])
        low, high = np.log10(row["low"] / factor), np.log10(row["high"] / factor)
        symbol = f"{row['symbol']} " if row["symbol"] else ""
        slider = self._widgets.FloatLogSlider(
            value=value / factor, min=low, max=high, step=(high - low) / _STEPS, readout_format=".5",
            description=f"{symbol}{row['name']}" + (f" ({unit})" if unit else ""), tooltip=row["doc"],
            continuous_update=False, style={"description_width": "20em"}, layout={"width": "40em"},
        )  # fmt: skip
        is_whole = isinstance(row["value"], int)

        def moved(change: Any) -> None:
            number = change["new"] * factor
            own = {**self.setup.changes.get(scheme, {}), row["name"]: round(number) if is_whole else float(number)}
            self.setup = replace(self.setup, changes={**self.setup.changes, scheme: own})
            self._update()

        slider.observe(moved, names="value")
        return slider

    def _fit(self) -> None:
        self._limits = None
        self._update()

    def _update(self) -> None:
        """Run the setup, and show it."""
        try:
            results = self.setup.run()
        except (RdmaccError, MemoryError) as error:
            self._say(error)
            return
        figure, limits = draw(self.setup, results, self._limits)
        self._limits = self._limits or limits
        self.picture.value = png(figure, dpi=95)
        self.code.value = self.setup.to_python()
        lines = []
        for name, result in results.items():
            summary = result.summary()
            lines.append(
                f"<b>{name}</b>: FCT median {summary.fct_median_ps / 1e6:.4g} µs,"
                f" p99 {summary.fct_p99_ps / 1e6:.4g} µs,"
                f" queue {summary.peak_queue_bytes / 1e3:.4g} kB, {summary.drops} drops, {result.wall_s * 1e3:.0f} ms"
            )
        self.message.value = "<br>".join(lines)

    def _say(self, error: BaseException) -> None:
        from html import escape

        self.message.value = f"<b style='color:#b04a00'>{escape(str(error))}</b>"
