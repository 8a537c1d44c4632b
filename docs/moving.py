"""Draws what moves: four pages for the how-to; run as a script, the README's incast under DCQCN and under HPCC."""

from pathlib import Path
from tempfile import TemporaryDirectory

from gallery import is_old
from PIL import Image, ImageSequence

import rdmacc
from rdmacc.experiments.ledger import moving

PICTURE = Path(__file__).with_name("moving.gif")
SCENES = PICTURE.parent / "_static" / "moving"
_NETWORK = (0, 0, 900, 288)
"""Where a picture has the network, in pixels; below it are the heaviest flows."""
_FRAME_MS = 150
_WIDTH = 640
_COLOURS = 32


def draw_moving() -> None:
    """Draw the pages, if they are not there yet."""
    if any(is_old(SCENES / f"{one.name}.html", Path(moving.__file__)) for one in moving.SCENES):
        moving.write_scenes(SCENES)


def draw_incast() -> None:
    """Draw the picture, small enough for a README."""
    network = rdmacc.star(9, rate="100Gbps", delay="1us")
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", size="256kB")
    runs = [rdmacc.simulate(network, work, name, explain=True).animate("4us") for name in ("dcqcn", "hpcc")]
    tallest = max(one.queue_bytes.max() for one in runs)
    frames = []
    with TemporaryDirectory() as folder:
        for number, one in enumerate(runs):
            one.queue_bytes[0, -1] = tallest  # one scale for both; the last period is not shown
            with Image.open(one.save(f"{folder}/{number}.gif")) as pictures:
                frames.append([each.convert("RGB").crop(_NETWORK) for each in ImageSequence.Iterator(pictures)][:-1])
    width, height = frames[0][0].size
    shown = []
    for step in range(max(map(len, frames))):
        both = Image.new("RGB", (width, 2 * height))
        for number, each in enumerate(frames):
            both.paste(each[min(step, len(each) - 1)], (0, number * height))
        small = both.resize((_WIDTH, both.height * _WIDTH // width), Image.Resampling.LANCZOS)
        shown.append(small.quantize(_COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE))
    shown[0].save(PICTURE, save_all=True, append_images=shown[1:], duration=_FRAME_MS, loop=0)


if __name__ == "__main__":
    draw_incast()
