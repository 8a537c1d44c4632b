"""Error bars and logarithmic axes of the experiments: drawn for any numbers, by one helper each."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest

from rdmacc.show.style import draw_spread


@pytest.mark.parametrize("is_upright", [True, False])
@pytest.mark.parametrize(
    ("middle", "least", "most", "lengths"),
    [
        ([2.0], [1.0], [4.0], [(1.0, 4.0)]),
        (2.0, 1.0, 4.0, [(1.0, 4.0)]),
        ([0.1 + 0.2], [0.3], [0.3], [(0.3, 0.3)]),  # outside its ends, by rounding
        ([1.0 - 1e-16, 3.0], [1.0, 3.0], [1.0, 3.0], [(1.0, 1.0), (3.0, 3.0)]),
        ([0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [(0.0, 0.0)] * 2),
        ([np.nan, 2.0], [np.nan, 1.0], [np.nan, np.nan], []),
        ([], [], [], []),
    ],
)
def test_bars_reach_from_the_smallest_to_the_largest(middle, least, most, lengths, is_upright):
    figure, ax = plt.subplots()
    draw_spread(ax, np.arange(np.size(middle)), middle, least, most, is_upright=is_upright)
    (bars,) = ax.collections
    ends = [segment[:, 1 if is_upright else 0] for segment in bars.get_segments() if len(segment)]
    np.testing.assert_allclose(np.reshape(ends, (-1, 2)), np.reshape(lengths, (-1, 2)), atol=1e-15)
    figure.savefig(io.BytesIO())
    plt.close(figure)
