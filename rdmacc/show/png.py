"""Small PNG pictures, for notebooks, which store pictures as text, and for pages with many pictures."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.show.style import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = 48
"""Colours of the palette: enough for lines with anti-aliasing, and a fifth of the size in true colour.

They are chosen by coverage: by their share of the picture, a curve behind another would lose its colour in the legend.
Each then becomes the mean of what it stands for, which keeps grey lines grey.
"""
_DPI = 100


def png(figure: Figure, dpi: float = _DPI, *, is_packed: bool = True) -> bytes:
    """Return a figure as a PNG, with a palette if it is to be packed.

    What is not packed is shown once, as soon as it can be: packing takes as long as half of the drawing, and
    matplotlib's `savefig` draws a figure twice, to lay it out.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    drawn = io.BytesIO()
    with style():
        if is_packed:
            figure.savefig(drawn, format="png", dpi=dpi, pil_kwargs={"compress_level": 1})
            return packed(drawn.getvalue())
        figure.dpi = dpi
        canvas: Any = FigureCanvasAgg(figure)
        canvas.print_png(drawn, pil_kwargs={"compress_level": 1})
    return drawn.getvalue()


def packed(picture: bytes) -> bytes:
    from PIL import Image  # installed with matplotlib

    small_file = io.BytesIO()
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    small = image.quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    which = np.asarray(small).ravel()
    count = np.maximum(np.bincount(which), 1)
    sums = [np.bincount(which, channel.ravel()) for channel in np.moveaxis(np.asarray(image), 2, 0)]
    small.putpalette((np.stack(sums, axis=1) / count[:, None]).round().astype(np.uint8).tobytes())
    small.save(small_file, "PNG", optimize=True)
    return small_file.getvalue()
