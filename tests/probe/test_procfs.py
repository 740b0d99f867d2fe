"""The files of /proc are read as the kernel writes them, whatever names processes give themselves."""

from __future__ import annotations

import contextlib
import os
import pathlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankscope.probe import procfs

TAIL = b" S 7 8 9 0 -1 4194304 1 2 3 4 500 60 0 0 20 0 1 0 123456 999 321 0 0"


@given(st.binary(max_size=16).filter(lambda name: b"\n" not in name))
def test_any_name_of_a_process_is_read(name: bytes) -> None:
    """A name may hold blanks and parentheses; the last parenthesis ends it."""
    stat = procfs.parse_stat(b"42 (" + name + b")" + TAIL)
    assert (stat.pid, stat.state, stat.parent, stat.group, stat.session) == (42, "S", 7, 8, 9)
    assert (stat.cpu, stat.started, stat.rss_pages) == (560, 123456, 321)
    assert stat.comm == name.decode("utf-8", "replace")


@given(st.binary(max_size=200))
def test_a_broken_line_is_refused_in_one_of_two_ways(raw: bytes) -> None:
    """Callers take ValueError and IndexError for "gone"."""
    with contextlib.suppress(ValueError, IndexError):
        assert isinstance(procfs.parse_stat(raw), procfs.Stat)


def test_our_own_line_is_read() -> None:
    stat = procfs.stat("/proc", os.getpid())
    assert (stat.pid, stat.parent, stat.session) == (os.getpid(), os.getppid(), os.getsid(0))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=20).map(lambda part: part.replace(b"\0", b"")), max_size=5))
def test_any_command_line_is_read(tmp_path: pathlib.Path, parts: list[bytes]) -> None:
    """Titles set by programs are padded with zeros."""
    (tmp_path / "5").mkdir(exist_ok=True)
    (tmp_path / "5" / "cmdline").write_bytes(b"\0".join(parts) + b"\0\0\0")
    told = procfs.command(str(tmp_path), 5)
    kept = [part.decode("utf-8", "replace") for part in parts]
    while kept and not kept[-1]:
        kept.pop()
    assert [part for part in told if part] == [part for part in kept if part]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_environment_is_read(tmp_path: pathlib.Path, raw: bytes) -> None:
    """What is no assignment is left out."""
    (tmp_path / "5").mkdir(exist_ok=True)
    (tmp_path / "5" / "environ").write_bytes(raw)
    assert all(isinstance(value, str) and "\0" not in value for value in procfs.environ(str(tmp_path), 5).values())


@pytest.mark.parametrize("size", [0, 10, 4095, 4096, 70_000, 200_000])
def test_long_files_are_read_whole_up_to_the_limit(tmp_path: pathlib.Path, size: int) -> None:
    """A folder of files stands in for /proc."""
    (tmp_path / "file").write_bytes(b"x" * size)
    assert len(procfs.read(str(tmp_path / "file"))) == size
    assert len(procfs.read(str(tmp_path / "file"), 5000)) <= max(5000, 4096)
