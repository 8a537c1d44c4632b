"""Probes in the kernel: samples of what a scenario watches. Mirrors `rdmacc.engine.reference.probes`."""

from rdmacc.engine.compiled.kernel.rows import *
from rdmacc.engine.compiled.tables.layout import SAMPLE, WATCH

WATCH_BYTES = WATCH.itemsize
_SAMPLE_BYTES = SAMPLE.itemsize


@jit
def value_of(watch):
    if watch.code == 0:
        return float(load_i8(watch.address))
    if watch.code == 1:
        return float(load_i4(watch.address))
    if watch.code == 2:
        return float(load_i1(watch.address))
    return load_f8(watch.address)


@cold
def record_sample(g, number, value, now):
    sample = sample_at(g.samples + g.sample_count * _SAMPLE_BYTES)
    sample.time_ps = now
    sample.value = value
    sample.watch = number
    g.sample_count += 1


@cold
def look_at_changes(g, now):
    for number in range(g.n_watches):
        watch = watch_at(g.watches + number * WATCH_BYTES)
        if watch.every_ps == 0:
            value = value_of(watch)
            if value != watch.last:
                watch.last = value
                record_sample(g, number, value, now)
