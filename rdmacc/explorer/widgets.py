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
from rdmacc.explorer.picture import draw, draw_message
from rdmacc.explorer.setup import MOST_SCHEMES, NETWORKS, WORKS, Setup, movable
from rdmacc.interface.parameters import fields_of
from rdmacc.results.result import Result
from rdmacc.schemes import SCHEMES, about
from rdmacc.show.png import png
from rdmacc.show.style import UNITS, time_unit
from rdmacc.show.tables import html_table

_STEPS = 120
_RATES_GBPS = (10.0, 25.0, 40.0, 100.0, 200.0, 400.0)
_LOSSES = (0.0, 1e-4, 1e-3, 1e-2)
_LABEL = {"description_width": "9em"}
_WIDE = {"width": "auto", "max_width": "27em"}
_ROWS = {"flex_flow": "row wrap", "align_items": "flex-start", "overflow": "visible"}
_HELP = {one.name: one.metadata.get("doc", "") for one in fields_of(Setup)}
_SIZES = {
    "all-reduce": "of the buffer that every host reduces",
    "web search": "has no effect: sizes are drawn",
    "permutation": "of each message",
    "incast": "of each message",
}
_SLOWEST = 30
"""Messages to choose from."""


class Notes:
    """A line under each control: what it means, or why a value is invalid or has no effect."""

    def __init__(self, widgets: Any) -> None:
        self._widgets = widgets
        self._by_control: dict[Any, tuple[Any, str]] = {}

    def beside(self, key: Any, control: Any, meaning: str = "") -> Any:
        """Return a control with a line under it."""
        line = self._widgets.HTML(layout={"margin": "-2px 0 4px calc(9em + 10px)"})
        self._by_control[key] = line, meaning
        self._write(key, meaning, "#666")
        return self._widgets.VBox([control, line], layout={"overflow": "visible", "width": "100%", "max_width": "27em"})

    def say(self, key: Any, text: str, colour: str = "#b04a00") -> None:
        """Show a note under one control, and the meanings under the others."""
        for other, (_, meaning) in self._by_control.items():
            self._write(other, *((text, colour) if other == key and text else (meaning, "#666")))

    def mean(self, key: Any, meaning: str) -> None:
        """Change the meaning shown under a control."""
        self._by_control[key] = self._by_control[key][0], meaning
        self._write(key, meaning, "#666")

    def text(self, key: Any) -> str:
        return str(self._by_control[key][0].value)

    def _write(self, key: Any, text: str, colour: str) -> None:
        line = self._by_control[key][0]
        line.value = (
            f"<div style='color:{colour}; font-size:85%; line-height:1.25'>{escape(text)}</div>" if text else ""
        )
        line.layout.display = "" if text else "none"


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
        self._figures: dict[str, Any] = {}
        self._is_quiet = False
        self.notes = Notes(widgets)
        self.sliders: dict[tuple[str, str], Any] = {}
        self.controls = self._controls()
        self.pictures = {
            name: widgets.Image(format="png", layout={"flex": "1 1 27em", "min_width": "0", "max_width": "38em"})
            for name in ("goodput", "queue", "fct")
        }
        self.table = widgets.HTML(layout={"max_width": "100%", "min_width": "0", "overflow": "auto"})
        self.message = widgets.Dropdown(description="why slow?", **{"style": _LABEL, "layout": _WIDE})
        self.message.observe(lambda _: self._explain(), names="value")
        self.why = widgets.VBox(layout={"overflow": "visible"})
        self.code = widgets.Textarea(layout={"width": "100%", "height": "24em"}, disabled=True)
        self._parameters = widgets.Accordion()
        controls = [self.notes.beside(key, control, _HELP.get(key, "")) for key, control in self.controls.items()]
        scenario = widgets.VBox(controls, layout={"flex": "0 1 28em", "min_width": "0"})
        meaning = "where the time of a message went: the slowest, in times of its time alone"
        told = widgets.VBox([self.table, self.notes.beside("why", self.message, meaning), self.why])
        told.layout = {"flex": "1 1 27em", "min_width": "0", "overflow": "visible"}
        shown = widgets.HBox([*self.pictures.values(), told], layout={"flex": "1 1 36em", "min_width": "0", **_ROWS})
        code = widgets.Accordion(children=[self.code], titles=("As Python",))
        self.view = widgets.VBox([widgets.HBox([scenario, shown], layout=_ROWS), self._parameters, code])
        self._show_parameters()
        self._show()

    def _controls(self) -> dict[str, Any]:
        widgets, setup = self._widgets, self.setup
        named: dict[str, Any] = {"style": _LABEL, "layout": _WIDE}
        common: dict[str, Any] = {"continuous_update": False, **named}
        made = {
            "network": widgets.Dropdown(options=NETWORKS, value=setup.network, description="network", **named),
            "hosts": widgets.IntSlider(value=setup.hosts, min=4, max=32, description="hosts", **common),
            "rate_gbps": widgets.Dropdown(
                options=[(f"{rate:g}", rate) for rate in sorted({*_RATES_GBPS, setup.rate_gbps})],
                value=setup.rate_gbps, description="links (Gb/s)", **named,
            ),
            "delay_us": widgets.FloatLogSlider(
                value=setup.delay_us, min=-1, max=1, step=0.05, description="link delay (us)", readout_format=".3",
                **common,
            ),
            "work": widgets.Dropdown(options=WORKS, value=setup.work, description="messages", **named),
            "size_kb": widgets.FloatLogSlider(
                value=setup.size_kb, min=0, max=3.3, step=0.05, description="size (kB)", readout_format=".4",
                **common,
            ),
            "load": widgets.FloatSlider(
                value=setup.load, min=0.05, max=0.95, step=0.05, description="load", **common
            ),
            "loss": widgets.Dropdown(
                options=[(f"{one:.3g}" if one else "none", one) for one in sorted({*_LOSSES, setup.loss})],
                value=setup.loss, description="packets lost", **named,
            ),
            "seed": widgets.BoundedIntText(value=setup.seed, min=0, max=10**6, description="seed", **named),
        }  # fmt: skip
        for name, widget in made.items():
            self._on_change(widget, name, partial(self._with, name))
        schemes = [(f"{name}: {about(name)}", name) for name in SCHEMES]
        for number in range(MOST_SCHEMES):
            key = f"scheme {number + 1}"
            options = schemes if number == 0 else [("none", ""), *schemes]
            value = setup.schemes[number] if number < len(setup.schemes) else ""
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
            parts: dict[str, list[Any]] = {}
            for row in movable(scheme):
                key = scheme, row["name"]
                self.sliders[key] = self._slider(scheme, row)
                shown = self.notes.beside(key, self.sliders[key], row["doc"])
                parts.setdefault(row["component"], []).append(shown)
            boxes = []
            for part, shown in parts.items():
                boxes.append(self._widgets.HTML(f"<b>{escape(part)}</b>"))
                boxes.append(self._widgets.HBox(shown, layout={"flex_flow": "row wrap"}))
            pages.append(self._widgets.VBox(boxes))
        self._parameters.children = pages
        self._parameters.selected_index = 0
        self._parameters.titles = tuple(f"{scheme}: parameters" for scheme in self.setup.schemes)

    def _slider(self, scheme: str, row: dict[str, Any]) -> Any:
        factor, unit = UNITS.get(row["unit"], (1.0, row["unit"]))
        name, is_whole = row["name"], isinstance(row["value"], int)
        value = self.setup.changes.get(scheme, {}).get(name, row["value"])
        low, high = np.log10(row["low"] / factor), np.log10(row["high"] / factor)
        words = row["parameter"].removesuffix(f"_{row['unit']}").replace("_", " ")
        words += f", {row['symbol']}" if row["symbol"] not in ("", words) else ""
        slider = self._widgets.FloatLogSlider(
            value=value / factor, min=low, max=high, step=(high - low) / _STEPS,
            readout_format=".3" if high < 3 else ".6", tooltip=row["doc"],
            description=words + (f" ({unit})" if unit else ""),
            continuous_update=False, style={"description_width": "13em"}, layout=_WIDE,
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
            self._show()
            self.notes.say(key, "" if has_effect else "no effect on this scenario", "#666")

        widget.observe(changed, names="value")

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        self._is_quiet = True
        try:
            yield
        finally:
            self._is_quiet = False

    def _show(self) -> None:
        setup, idle = self.setup, self.setup.idle()
        for name in ("size_kb", "load", "hosts"):
            self.controls[name].disabled = name in idle
        with self._quietly():
            self.controls["hosts"].value = setup.hosts
        self._figures = draw(setup, self._results, self._figures)
        for name, figure in self._figures.items():
            self.pictures[name].value = png(figure, dpi=110, is_packed=False)
        self.code.value = setup.to_python(self._results)
        self.notes.mean("size_kb", _SIZES.get(setup.work, _HELP["size_kb"]))
        for number in range(MOST_SCHEMES):
            value = self.controls[f"scheme {number + 1}"].value
            self.notes.mean(f"scheme {number + 1}", about(value) if value else "")
        rows = []
        unit_ps, unit = time_unit(max(result.now_ps for result in self._results.values()))
        for name, result in self._results.items():
            summary, flows = result.summary(), result.flows
            times_ps = (summary.fct_median_ps, summary.fct_p99_ps, (flows["start_ps"] + flows["fct_ps"]).max())
            rows.append([
                name, *(f"{float(time) / unit_ps:,.5g}" for time in times_ps), f"{summary.peak_queue_bytes / 1e3:,.5g}",
                str(summary.pfc_pauses), str(summary.drops),
            ])  # fmt: skip
        times = [f"{words} ({unit})" for words in ("FCT median", "FCT p99", "all done")]
        columns = ["scheme", *times, "longest queue (kB)", "pauses", "drops"]
        self.table.value = (
            f"<div class='cells' style='font-size:85%; line-height:1.4'>{html_table(columns, rows)}</div>"
        )
        slowest = next(iter(self._results.values())).flows.sort_values("slowdown", ascending=False, kind="stable")
        chosen = [(f"{row.flow}: {row.src} to {row.dst}, {row.slowdown:.3g} times", row.flow)
                  for row in slowest[:_SLOWEST].itertuples()]  # fmt: skip
        with self._quietly():
            kept = self.message.value
            self.message.options = [("choose a message", ""), *chosen]
            self.message.value = kept if kept in slowest["flow"][:_SLOWEST].array else ""
        self._explain()

    def _explain(self) -> None:
        """Show where the time of the chosen message went, under each scheme."""
        if self._is_quiet:
            return
        shown = []
        for result in self._results.values() if self.message.value != "" else ():
            why = result.explain(self.message.value)
            image = self._widgets.Image(format="png", value=png(draw_message(why, result.scheme_name), dpi=110))
            image.layout = {"width": "100%", "max_width": "38em", "margin": "0"}
            words = self._widgets.HTML(f"<p style='line-height:1.4'>{escape(why.title)}</p>")
            shown.append(self._widgets.VBox([image, words], layout={"max_width": "38em", "overflow": "visible"}))
        self.why.children = shown


def _differ(old: Mapping[str, Result], new: Mapping[str, Result]) -> bool:
    return list(old) != list(new) or any(
        not (old[name].flows.equals(new[name].flows) and old[name].probes.equals(new[name].probes)) for name in new
    )
