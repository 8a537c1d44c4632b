"""Named schemes, and presets: the values that a paper or a simulator sets, one TOML file each, with their sources.

A preset's file has its `title`, the `rate` of its hosts' links, `values` that all of its schemes share, and `schemes`.
A scheme's `base` is a registered scheme (default: the one of the same name), or `bare` names one of those in
`rdmacc/schemes/schemes.toml`. The scheme's values follow, ``parameter = [value, source]``; several schemes may share
`groups` of values. A table as value is `Scaled`, or a `formula` of `line_bps`, the rate of the hosts' links. A file
that is `like` another inherits everything that it does not set.
"""

from rdmacc.presets.base import PRESETS, Preset, Setting, define, preset, register_all

__all__ = ["PRESETS", "Preset", "Setting", "define", "preset"]

register_all()
