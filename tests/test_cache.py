"""The cache of compiled code: nothing damaged, foreign or stale is ever run, and nothing of others is removed."""

from __future__ import annotations

import os

import numba
import pytest
from numba.core.caching import IndexDataCacheFile

from rdmacc.engine.compiled import cache
from rdmacc.engine.select import why_not_compiled
from rdmacc.errors import ConfigError

pytestmark = pytest.mark.skipif(bool(why_not_compiled()), reason="no compiled engine")

SMALL = """
def unit_value(x):
    return x + 1
"""
"""A unit that compiles in a moment. Numba names its files after that of the source, `small`."""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a call that compiles or loads the small unit: its value, what came from the cache, whether it is kept."""
    source = tmp_path / "small.py"
    source.write_text(SMALL)
    folder = tmp_path / "cache"
    monkeypatch.setenv("RDMACC_CACHE_DIR", str(folder))

    def make(is_cached):
        namespace = {"__name__": "small"}
        exec(compile(SMALL, str(source), "exec"), namespace)
        return numba.njit("int64(int64)", cache=is_cached)(namespace["unit_value"])

    def run():
        cache.cache_folder.cache_clear()
        made = cache.kept("small", make)
        return made(41), made.stats.cache_hits.total(), cache.is_kept("small")

    run.folder = folder
    yield run
    cache.cache_folder.cache_clear()


def test_a_unit_is_compiled_once(small):
    assert small() == (42, 0, True)
    assert small() == (42, 1, True)


@pytest.mark.parametrize("name", ["*.nbi", "*.nbc", "small.json"])
@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "text", "gone"])
def test_what_is_damaged_is_compiled_anew(small, name, damage):
    small()
    (path,) = small.folder.rglob(name)
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        middle = len(content) // 2
        flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
        path.write_bytes({"cut": content[:middle], "empty": b"", "flipped": flipped, "text": b"hello"}[damage])
    assert small() == (42, 0, True)
    assert small() == (42, 1, True)


def test_without_a_folder_that_can_be_written_code_is_compiled_into_memory(small, caplog):
    small.folder.write_text("a file")
    assert small() == (42, 0, False)
    assert "compiled code is not kept" in caplog.text


def test_what_cannot_be_written_costs_time_alone(small, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(IndexDataCacheFile, "save", full)
    assert small() == (42, 0, False)
    assert "No space left on device" in caplog.text


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners")
def test_a_folder_that_others_may_write_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("RDMACC_CACHE_DIR", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(ConfigError, match="writable by you alone.*chmod go-w"):
        cache.cache_folder.__wrapped__()
    tmp_path.chmod(0o700)
    assert cache.cache_folder.__wrapped__().stat().st_mode & 0o077 == 0
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(ConfigError, match="owned by you"):
        cache.cache_folder.__wrapped__()


def test_the_folder_is_never_taken_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDMACC_CACHE_DIR", "here")
    with pytest.raises(ConfigError, match="RDMACC_CACHE_DIR = 'here': must be an absolute path"):
        cache.cache_folder.__wrapped__()
    monkeypatch.setenv("RDMACC_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert tmp_path not in cache._root().parents
    assert cache._root().is_absolute()


def test_another_processor_has_another_folder(monkeypatch):
    own = cache.kernel_hash.__wrapped__()
    monkeypatch.setattr(cache.binding, "get_host_cpu_name", lambda: "another")
    assert cache.kernel_hash.__wrapped__() != own
