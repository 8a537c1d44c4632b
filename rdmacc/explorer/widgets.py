"""The explorer's controls: network, messages, up to three schemes, and sliders for their parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from html import escape
from importlib import import_module
from typing import Any

import numpy as np

from rdmacc.errors import RdmaccError, not_installed
from rdmacc.explorer.picture import draw
from rdmacc.explorer.setup import MOST_SCHEMES, NETWORKS, WORKS, Setup, movable
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES, about
from rdmacc.show.png import png
from rdmacc.show.tables import html_table

_UNITS = {"ps": (1e6, "us"), "bps": (1e9, "Gb/s"), "bytes": (1e3, "kB")}
_STEPS = 120
_LABEL = {"description_width": "9em"}
_WIDE = {"width": "27em"}


class Notes:
    """Notes next to controls: why a value is invalid, or that it had no effect."""

    def __init__(self, widgets: Any) -> None:
        self._widgets = widgets
        self._by_control: dict[Any, Any] = {}

    def beside(self, key: Any, control: Any) -> Any:
        """Return a control with room for a note under it."""
        note = self._by_control[key] = self._widgets.HTML(layout={"display": "none", "margin": "0 0 4px 9em"})
        return self._widgets.VBox([control, note], layout={"overflow": "visible"})

    def say(self, key: Any, text: str, colour: str = "#b04a00") -> None:
        """Show a note next to one control, and clear the others."""
        for other, note in self._by_control.items():
            shown = text if other == key else ""
            note.value = f"<span style='color:{colour}'>{escape(shown)}</span>" if shown else ""
            note.layout.display = "" if shown else "none"

    def text(self, key: Any) -> str:
        """Return the note next to a control, as HTML; empty if there is none."""
        return str(self._by_control[key].value)


class Explorer:
    """Widgets around a `Setup`. ``explorer.view`` is what a notebook shows; the controls are public, for tests.

    An invalid value is reset, and the reason appears next to its control.
    """

    def __init__(self, setup: Setup) -> None:
        try:
            self._widgets: Any = import_module("ipywidgets")
        except ImportError:
            raise not_installed("explore", "ipywidgets", "notebooks") from None
        widgets = self._widgets
        self.setup = setup
        self._results = setup.run()
        self._is_quiet = False
        self.notes = Notes(widgets)
        self.sliders: dict[tuple[str, str], Any] = {}
        self.controls = self._controls()
        self.picture = widgets.Image(format="png", layout={"width": "100%", "margin": "0"})
        self.table = widgets.HTML()
        self.code = widgets.Textarea(layout={"width": "100%", "height": "24em"}, disabled=True)
        self._parameters = widgets.Accordion()
        scenario = widgets.VBox(
            [self.notes.beside(key, control) for key, control in self.controls.items()], layout={"flex": "0 0 28em"}
        )
        shown = widgets.VBox(
            [self.picture, self.table], layout={"flex": "1 1 36em", "min_width": "0", "overflow": "visible"}
        )
        code = widgets.Accordion(children=[self.code], titles=("As Python",))
        self.view = widgets.VBox(
            [
                widgets.HBox(
                    [scenario, shown],
                    layout={"flex_flow": "row wrap", "align_items": "flex-start", "overflow": "visible"},
                ),
                self._parameters,
                code,
            ]
        )
        self._show_parameters()
        self._show()

    def _controls(self) -> dict[str, Any]:
        widgets, setup = self._widgets, self.setup
        named: dict[str, Any] = {"style": _LABEL, "layout": _WIDE}
        common: dict[str, Any] = {"continuous_update": False, **named}
        made = {
            "network": widgets.Dropdown(options=NETWORKS, value=setup.network, description="network", **named),
            "hosts": widgets.IntSlider(value=setup.hosts, min=4, max=32, description="hosts", **common),
            "rate_gbps": widgets.SelectionSlider(
                options=[10.0, 25.0, 40.0, 100.0, 200.0, 400.0], value=setup.rate_gbps, description="links (Gb/s)",
                **common,
            ),
            "delay_us": widgets.FloatLogSlider(
                value=setup.delay_us, min=-1, max=1, step=0.05, description="link delay (us)", readout_format=".3",
                **common,
            ),
            "work": widgets.Dropdown(options=WORKS, value=setup.work, description="messages", **named),
            "size_kb": widgets.FloatLogSlider(
                value=setup.size_kb, min=0, max=3.3, step=0.05, description="size (kB)", readout_format=".6", **common
            ),
            "load": widgets.FloatSlider(
                value=setup.load, min=0.05, max=0.95, step=0.05, description="load", **common
            ),
            "seed": widgets.BoundedIntText(value=setup.seed, min=0, max=10**6, description="seed", **named),
        }  # fmt: skip
        for name, widget in made.items():
            self._on_change(widget, name, partial(self._with, name))
        schemes = [(f"{name}: {about(name)}", name) for name in SCHEMES]
        for number in range(MOST_SCHEMES):
            key = f"scheme {number + 1}"
            value = setup.schemes[number] if number < len(setup.schemes) else ""
            options = schemes if number == 0 else [("none", ""), *schemes]
            made[key] = widgets.Dropdown(options=options, value=value, description=key, **named)
            self._on_change(made[key], key, lambda _: replace(self.setup, schemes=self._chosen()))
        return made

    def _with(self, name: str, value: Any) -> Setup:
        setup = replace(self.setup, **{name: value})
        # The same number of hosts under each leaf.
        return replace(setup, hosts=setup.hosts // 2 * 2) if setup.network == "leaf-spine" else setup

    def _chosen(self) -> tuple[str, ...]:
        values = (self.controls[f"scheme {number + 1}"].value for number in range(MOST_SCHEMES))
        return tuple(dict.fromkeys(value for value in values if value))

    def _show_parameters(self) -> None:
        """Make a slider for each parameter of the chosen schemes."""
        self.sliders = {}
        pages = []
        for scheme in self.setup.schemes:
            rows = movable(scheme)
            for row in rows:
                self.sliders[scheme, row["name"]] = self._slider(scheme, row)
            boxes = [self.notes.beside((scheme, row["name"]), self.sliders[scheme, row["name"]]) for row in rows]
            pages.append(self._widgets.HBox(boxes, layout={"flex_flow": "row wrap"}))
        self._parameters.children = pages
        self._parameters.selected_index = 0
        self._parameters.titles = tuple(f"{scheme}: parameters" for scheme in self.setup.schemes)

    def _slider(self, scheme: str, row: dict[str, Any]) -> Any:
        factor, unit = _UNITS.get(row["unit"], (1.0, row["unit"]))
        name, is_whole = row["name"], isinstance(row["value"], int)
        value = self.setup.changes.get(scheme, {}).get(name, row["value"])
        low, high = np.log10(row["low"] / factor), np.log10(row["high"] / factor)
        symbol = f"{row['symbol']} " if row["symbol"] else ""
        slider = self._widgets.FloatLogSlider(
            value=value / factor, min=low, max=high, step=(high - low) / _STEPS, readout_format=".6",
            description=f"{symbol}{name}" + (f" ({unit})" if unit else ""), tooltip=row["doc"],
            continuous_update=False, style={"description_width": "17em"}, layout={"width": "32em"},
        )  # fmt: skip

        def changed(shown: float) -> Setup:
            number = shown * factor
            kept = min(max(round(number) if is_whole else float(number), row["low"]), row["high"])
            own = {**self.setup.changes.get(scheme, {}), name: kept}
            return replace(self.setup, changes={**self.setup.changes, scheme: own})

        self._on_change(slider, (scheme, name), changed)
        return slider

    def _on_change(self, widget: Any, key: Any, change: Callable[[Any], Setup]) -> None:
        """Run with a control's new value; if it is invalid, reset it and show the reason."""

        def changed(event: Any) -> None:
            if self._is_quiet:
                return
            try:
                setup = change(event["new"])
                results = setup.run()
            except (RdmaccError, MemoryError) as error:
                with self._quietly():
                    widget.value = event["old"]
                self.notes.say(key, str(error))
                return
            has_effect = _differ(self._results, results)
            self._results, before, self.setup = results, self.setup, setup
            if before.schemes != setup.schemes:
                self._show_parameters()
            self.notes.say(key, "" if has_effect else "no effect on this scenario", "#666")
            self._show()

        widget.observe(changed, names="value")

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Set values without running anything."""
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False

    def _show(self) -> None:
        """Show the setup that has run."""
        setup, idle = self.setup, self.setup.idle()
        for name in ("size_kb", "load", "hosts"):
            self.controls[name].disabled = name in idle
        with self._quietly():
            self.controls["hosts"].value = setup.hosts
        self.picture.value = png(draw(setup, self._results), dpi=100)
        self.code.value = setup.to_python()
        rows = []
        for name, result in self._results.items():
            summary = result.summary()
            rows.append([
                f"{name}: {about(name)}", f"{summary.fct_median_ps / 1e6:.4g}", f"{summary.fct_p99_ps / 1e6:.4g}",
                f"{summary.peak_queue_bytes / 1e3:.4g}", str(summary.pfc_pauses), str(summary.drops),
            ])  # fmt: skip
        columns = ["scheme", "FCT median (us)", "FCT p99 (us)", "queue (kB)", "PFC pauses", "drops"]
        self.table.value = html_table(columns, rows)


def _differ(old: Mapping[str, Result], new: Mapping[str, Result]) -> bool:
    """Return whether any flow or sample changed."""
    return list(old) != list(new) or any(
        not (old[name].flows.equals(new[name].flows) and old[name].probes.equals(new[name].probes)) for name in new
    )
