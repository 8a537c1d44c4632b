"""Small pictures look as they were drawn."""

import io

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from rdmacc.show.png import png
from rdmacc.show.style import COLOURS


def test_small_pictures_keep_their_colours_also_of_a_curve_that_others_hide():
    """A palette by the share of the picture gave its line in the legend another curve's colour."""
    figure, ax = plt.subplots()
    for colour in COLOURS.values():
        ax.plot(np.sin(np.arange(3000) / 400), color=colour, label=colour)
    ax.legend()
    plain = io.BytesIO()
    figure.savefig(plain, format="png", dpi=100)
    as_drawn, small = (np.asarray(Image.open(one).convert("RGB"), int) for one in (plain, io.BytesIO(png(figure))))
    assert np.abs(small - as_drawn).sum(axis=2).max() < 60
    plt.close(figure)
