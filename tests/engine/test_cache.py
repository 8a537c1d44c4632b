"""The cache of compiled code: nothing damaged, foreign or stale ever runs, and others' files are never removed."""

import os
import zipfile

import pytest

from rdmacc.engine.compiled.machine_code import cache
from rdmacc.engine.compiled.machine_code.units import MachineCode, object_code
from rdmacc.engine.select import why_not_compiled
from rdmacc.errors import ConfigError
from tests.support import refused, without_home

pytestmark = pytest.mark.skipif(bool(why_not_compiled()), reason="no compiled engine")


def unit_value(x):
    """A unit that compiles in a moment."""
    return x + 1


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Return a call that compiles or loads the small unit: its value, whether it was compiled, whether it is cached."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("RDMACC_CACHE_DIR", str(folder))

    def run():
        cache._folder.cache_clear()
        compiled = []

        def make():
            compiled.append("value")
            return {"value": object_code({"value": unit_value}, "int64(int64)")}

        value = MachineCode(cache.kept("small", make).values(), ["value"]).function("value", "int64(int64)")
        return value(41), bool(compiled), cache.is_kept("small")

    run.folder = folder
    yield run
    cache._folder.cache_clear()


def test_a_unit_is_compiled_once(small):
    assert small() == (42, True, True)
    assert small() == (42, False, True)


@pytest.mark.parametrize("damage", ["cut", "empty", "text", "gone", "folder"])
def test_damaged_code_is_compiled_again(small, damage):
    small()
    (path,) = small.folder.rglob("small.zip")
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
        assert small() == (42, True, False)
        return
    if damage != "gone":
        path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "text": b"hello"}[damage])
    assert small() == (42, True, True)
    assert small() == (42, False, True)


def test_without_a_writable_folder_code_is_compiled_into_memory(small, caplog):
    small.folder.write_text("a file")
    assert small() == (42, True, False)
    assert "cannot cache compiled code" in caplog.text


def test_an_unwritable_cache_only_costs_time(small, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    assert small() == (42, True, False)
    assert "No space left on device" in caplog.text
    assert not list(small.folder.rglob("*.tmp"))


@pytest.mark.parametrize(
    "code", [lambda code: code[: len(code) // 2], lambda code: b"", lambda code: b"\x7fELF" + bytes(400)],
    ids=["cut", "empty", "zeros"],
)  # fmt: skip
def test_a_damaged_object_never_reaches_the_linker(small, code):
    """The archive's checksums are correct, and the linker would crash the process."""
    small()
    (path,) = small.folder.rglob("small.zip")
    with zipfile.ZipFile(path) as archive:
        comment, whole = archive.comment, archive.read("value")
    with zipfile.ZipFile(path, "w") as archive:
        archive.comment = comment
        archive.writestr("value", code(whole))
    assert small() == (42, True, True)
    assert small() == (42, False, True)


@pytest.mark.parametrize("damage", ["gone", "short", "another", "readable"])
def test_code_signed_with_another_key_is_compiled_again(small, damage):
    small()
    (key,) = small.folder.rglob("key")
    assert key.stat().st_mode & 0o777 == 0o600
    if damage == "gone":
        key.unlink()
    elif damage == "readable":
        key.chmod(0o644)
        next(small.folder.rglob("small.zip")).unlink()
    else:
        key.write_bytes(b"x" * {"short": 5, "another": 32}[damage])
    assert small() == (42, True, True)
    assert small() == (42, False, True)
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners")
def test_a_folder_that_anyone_may_replace_is_refused(tmp_path, monkeypatch):
    (tmp_path / "open" / "own").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "open" / "own")
    for name in ("open/own/cache", "link/cache"):
        monkeypatch.setenv("RDMACC_CACHE_DIR", str(tmp_path / name))
        (tmp_path / "open").chmod(0o777)
        with pytest.raises(
            ConfigError, match=f"folders that other users cannot write to.*chmod o-w {tmp_path / 'open'}$"
        ):
            cache._folder.__wrapped__("version")
        (tmp_path / "open").chmod(0o1777)  # like /tmp
        assert cache._folder.__wrapped__("version")


def test_the_folder_is_never_taken_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RDMACC_CACHE_DIR", "here")
    refused(lambda: cache._folder.__wrapped__("version"), "RDMACC_CACHE_DIR = 'here': must be an absolute path")
    monkeypatch.setenv("RDMACC_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert tmp_path not in cache._root().parents
    assert cache._root().is_absolute()
    without_home(monkeypatch)
    assert cache._folder.__wrapped__("version") is None
