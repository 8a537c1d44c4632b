"""Draws what moves: four pages for the how-to; run as a script, the README's incast under DCQCN and under HPCC."""

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
from gallery import is_old
from PIL import Image

import rdmacc
from rdmacc.experiments.ledger import moving
from rdmacc.show.png import png

PICTURE = Path(__file__).with_name("moving.gif")
SCENES = PICTURE.parent / "_static" / "moving"
_FRAME_MS = 150


def draw_moving() -> None:
    """Draw the pages, if they are not there yet."""
    if any(is_old(SCENES / f"{one.name}.html", Path(moving.__file__)) for one in moving.SCENES):
        moving.write_scenes(SCENES)


def draw_incast() -> None:
    """Draw the picture: small enough for a README, with words large enough for a phone."""
    network = rdmacc.star(9, rate="100Gbps", delay="1us")
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", size="256kB")
    runs = {
        name: rdmacc.simulate(network, work, name.lower(), explain=True).animate("4us") for name in ("DCQCN", "HPCC")
    }
    tallest = max(one.queue_bytes.max() for one in runs.values())
    steps = [len(one.edges_ps) - 2 for one in runs.values()]
    for one in runs.values():
        one.queue_bytes[0, -1] = tallest  # one scale for both; the last period is not shown
    figure, axes = plt.subplots(2, 1, figsize=(4.4, 3.9))
    figure.subplots_adjust(0.01, -0.02, 0.99, 0.94, hspace=0.1)
    frames = []
    for step in range(max(steps)):
        for ax, (name, one), count in zip(axes, runs.items(), steps):
            ax.clear()
            one.draw(min(step, count - 1), ax)
            ax.texts[-1].remove()
            if ax.get_legend():
                ax.get_legend().remove()
            ax.set_title(f"{name}, {ax.get_title('left').partition(', ')[2]}", loc="left")
        frames.append(Image.open(BytesIO(png(figure, dpi=150))))
    plt.close(figure)
    frames[0].save(PICTURE, save_all=True, append_images=frames[1:], duration=_FRAME_MS, loop=0)


if __name__ == "__main__":
    draw_incast()
