"""Draws the moving picture of the home page: an incast under DCQCN, and below it under HPCC, at one scale."""

from pathlib import Path
from tempfile import TemporaryDirectory

from gallery import is_old
from PIL import Image, ImageSequence

import rdmacc

PICTURE = Path(__file__).parent / "_static" / "moving.gif"
_NETWORK = (0, 0, 900, 288)
"""Where a picture has the network, in pixels; below it are the heaviest flows."""
_FRAME_MS = 150


def draw_moving() -> None:
    """Draw it, if it is not there yet."""
    if not is_old(PICTURE, Path(__file__)):
        return
    network = rdmacc.star(9, rate="100Gbps", delay="1us")
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", size="256kB")
    runs = [rdmacc.simulate(network, work, name, explain=True).animate("4us") for name in ("dcqcn", "hpcc")]
    tallest = max(one.queue_bytes.max() for one in runs)
    frames = []
    with TemporaryDirectory() as folder:
        for number, one in enumerate(runs):
            one.queue_bytes[0, -1] = tallest  # one scale for both; the last period is not shown
            with Image.open(one.save(f"{folder}/{number}.gif")) as moving:
                frames.append([each.convert("RGB").crop(_NETWORK) for each in ImageSequence.Iterator(moving)][:-1])
    width, height = frames[0][0].size
    pictures = []
    for step in range(max(map(len, frames))):
        both = Image.new("RGB", (width, 2 * height))
        for number, each in enumerate(frames):
            both.paste(each[min(step, len(each) - 1)], (0, number * height))
        pictures.append(both.quantize(64, method=Image.Quantize.MAXCOVERAGE))
    pictures[0].save(PICTURE, save_all=True, append_images=pictures[1:], duration=_FRAME_MS, loop=0)
