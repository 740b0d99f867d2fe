"""Source files that a job names are read carefully: inside its root, only regular files, and never for long."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from rankscope.model.evidence.source import Place
from rankscope.model.evidence.space import Mount
from rankscope.model.process import ProcessRef
from rankscope.probe import mounts, procfs, source_lines
from rankscope.probe.source_lines import Lines, open_below, walk_below


@pytest.fixture
def process() -> Iterator[ProcessRef]:
    """A living process of ours."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield ProcessRef("here", child.pid, procfs.stat("/proc", child.pid).started)
    child.communicate(b"\n")


def look(ref: ProcessRef, file: pathlib.Path | str, line: int = 2) -> Lines:
    place = Place(ref, str(file), line)
    return source_lines.read([place], around=1)[place]


def test_the_lines_around_a_place_are_read(process: ProcessRef, tmp_path: pathlib.Path) -> None:
    """One line before, one after, with their numbers."""
    tmp_path.chmod(0o755)
    file = tmp_path / "train.py"
    file.write_text("one\ntwo\nthree\nfour\n")
    assert look(process, file).lines == ((1, "one"), (2, "two"), (3, "three"))


def test_a_file_changed_after_the_process_began_is_called_newer(process: ProcessRef, tmp_path: pathlib.Path) -> None:
    """Its line numbers may not fit any more."""
    file = tmp_path / "train.py"
    file.write_text("one\ntwo\n")
    os.utime(file, (2**31, 2**31))
    assert look(process, file).newer


def test_a_pipe_is_not_opened(process: ProcessRef, tmp_path: pathlib.Path) -> None:
    """Opening one could block, or wake somebody."""
    os.mkfifo(tmp_path / "pipe.py")
    assert "no regular file" in look(process, tmp_path / "pipe.py").missing


def test_a_device_is_not_opened(process: ProcessRef) -> None:
    assert "no regular file" in look(process, "/dev/zero").missing


def test_a_huge_file_is_not_read(process: ProcessRef, tmp_path: pathlib.Path) -> None:
    with (tmp_path / "huge.py").open("wb") as file:
        file.truncate(source_lines.SIZE_LIMIT + 1)
    assert "too large" in look(process, tmp_path / "huge.py").missing


@pytest.mark.parametrize("file", ["<string>", "<frozen importlib._bootstrap>", "", "/nowhere/train.py"])
def test_what_has_no_file_says_so(process: ProcessRef, file: str) -> None:
    assert look(process, file).missing


def test_a_line_beyond_the_end_says_so(process: ProcessRef, tmp_path: pathlib.Path) -> None:
    (tmp_path / "short.py").write_text("one\n")
    assert "no line 99" in look(process, tmp_path / "short.py", 99).missing


def test_a_process_that_is_gone_lends_nobody_its_pid(process: ProcessRef) -> None:
    """A later process with the same pid has another root and other files."""
    other = ProcessRef(process.host, process.pid, process.started + 1)
    assert look(other, __file__).missing == "the process ended"


def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files below /slow, which comes from a server, do not answer."""

    def lines(proc: str, place: Place, around: int) -> Lines:
        if place.file.startswith("/slow/"):
            time.sleep(60)
        return Lines(((place.line, "text"),))

    known = mounts.Mounts({1: Mount("/", "ext4", "/dev/sda"), 2: Mount("/slow", "nfs4", "server:/slow")})
    monkeypatch.setattr(source_lines, "_lines", lines)
    monkeypatch.setattr(mounts, "read", lambda path: known)


def test_a_mount_that_does_not_answer_is_waited_for_once(process: ProcessRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of others are read, however many lie there."""
    slow(monkeypatch)
    asked = [Place(process, f"/slow/{number}.py", 3) for number in range(20)] + [Place(process, "/quick/a.py", 3)]
    began = time.monotonic()
    read = source_lines.read(asked)
    assert time.monotonic() - began < source_lines.TOTAL_S
    assert list(read) == asked
    assert "did not end" in read[asked[0]].missing
    assert all("it lies where reading did not end" in read[one].missing for one in asked[1:-1])
    assert read[asked[-1]].lines == ((3, "text"),)


def test_reading_has_an_end_whatever_the_files_do(process: ProcessRef, monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict may wait for it."""
    slow(monkeypatch)
    monkeypatch.setattr(mounts, "read", lambda path: mounts.Mounts({}))
    asked = [Place(process, "/quick/a.py", 3), *(Place(process, f"/slow/{number}.py", 3) for number in range(20))]
    began, told = time.monotonic(), []
    for place, _ in source_lines.each(asked):
        told.append((place, time.monotonic() - began))
    assert [place for place, _ in told] == asked
    assert told[0][1] < 1.0
    assert told[-1][1] < source_lines.TOTAL_S + 1.5
    assert "took too long" in source_lines.read([*asked[2:], asked[0]])[asked[0]].missing


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has more rights than the job")
def test_root_reads_no_more_than_the_jobs_user_may(tmp_path: pathlib.Path) -> None:
    """A job that names /etc/shadow as its source does not get it shown to root."""
    child = subprocess.Popen(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "60"])
    try:
        ref = ProcessRef("here", child.pid, procfs.stat("/proc", child.pid).started)
        secret = pathlib.Path("/etc/shadow")
        from harness.waiting import wait_until

        wait_until(lambda: os.stat(f"/proc/{child.pid}").st_uid == 65534)
        answer = look(ref, secret, 1)
        assert not answer.lines
        assert "ermission denied" in answer.missing
        assert look(ref, "/etc/passwd", 1).lines
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("opener", [open_below, walk_below])
def test_links_never_lead_out_of_the_root(opener: object, tmp_path: pathlib.Path) -> None:
    """Absolute links and dots are resolved as if the root were the whole world."""
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (tmp_path / "secret").write_text("outside")
    (root / "secret").write_text("inside")
    (root / "etc" / "up").symlink_to("../../../../secret")
    (root / "etc" / "absolute").symlink_to("/secret")
    (root / "loop").symlink_to("loop")
    handle = os.open(root, os.O_PATH)
    try:
        for path in ("/secret", "../secret", "etc/up", "/etc/absolute", "etc/../../../secret"):
            found = opener(handle, path)  # type: ignore[operator]
            assert pathlib.Path(f"/proc/self/fd/{found}").read_text() == "inside", path
            os.close(found)
        with pytest.raises(OSError, match="symbolic links"):
            opener(handle, "loop")  # type: ignore[operator]
        with pytest.raises(FileNotFoundError):
            opener(handle, "etc/none")  # type: ignore[operator]
    finally:
        os.close(handle)


def test_a_folder_is_listed_as_the_process_sees_it(process: ProcessRef, tmp_path: pathlib.Path) -> None:
    (tmp_path / "torch-2.11.0.dist-info").mkdir()
    assert source_lines.names_in("/proc", process.pid, str(tmp_path)) == ["torch-2.11.0.dist-info"]
    with pytest.raises(OSError, match="Not a directory"):
        source_lines.names_in("/proc", process.pid, sys.executable)
