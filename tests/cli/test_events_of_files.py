"""``rankscope analyze --events`` prints what was read, says what was not, and its exit code tells whether that was all."""

from __future__ import annotations

import gzip
import json
import pathlib
import zipfile

import pytest
from conftest_cli import rankscope

from rankscope.model import wire
from rankscope.model.evidence.log import Logs, LogTail
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.model.snapshot import Item, Job, Snapshot, Sweep

ERROR = 'Traceback (most recent call last):\n  File "train.py", line 3, in main\nValueError: shard 7 is empty\n'
NEITHER = b"\x00\x01\x02\x03" * 40


def saved(path: pathlib.Path, *said: str) -> None:
    """A snapshot of one rank, with the end of its log."""
    rank = Process(ProcessRef("n1", 7, 70), Role.RANK, rank=0)
    item = Item(rank.ref, Logs((LogTail("/job/out.log", 1, 9, 1.0, said),)))
    sweep = Sweep(0, 1.0, (rank.ref,), (item,) if said else ())
    with path.open("w") as file:
        wire.write(Snapshot(Job("srun"), processes=(rank,), sweeps=(sweep,)), "a test", file.write)


def read(out: str) -> list[tuple[str, int, str]]:
    return [(one["file"], one["line"], one["event"]) for one in map(json.loads, out.splitlines())]


def test_all_was_read(tmp_path: pathlib.Path) -> None:
    """Then nothing is said on standard error."""
    (tmp_path / "train.log").write_text(ERROR)
    said = rankscope("analyze", "--events", str(tmp_path))
    assert (said.code, said.err, read(said.out)) == (0, "", [("train.log", 3, "python.exception")])


def test_what_could_not_be_read_is_said_beside_what_was(tmp_path: pathlib.Path) -> None:
    """Whether a file is damaged, of no known kind, or a member of an archive."""
    (tmp_path / "a.log").write_text(ERROR)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(ERROR.encode())[:-9])
    (tmp_path / "c.bin").write_bytes(NEITHER)
    with zipfile.ZipFile(tmp_path / "d.zip", "w") as archive:
        archive.writestr("e.bin", NEITHER)
    said = rankscope("analyze", "--events", str(tmp_path))
    assert said.code == 3
    assert ("a.log", 3, "python.exception") in read(said.out)
    assert [line.split(" ")[:3] for line in said.err.splitlines()] == [
        ["rankscope:", "b.log.gz:", "damaged"], ["rankscope:", "c.bin:", "unsupported"],
        ["rankscope:", "d.zip/e.bin:", "unsupported"],
    ]  # fmt: skip


@pytest.mark.parametrize("option", [["--events"], ["--entries", "0"], []])
def test_nothing_that_could_be_read_is_not_enough(option: list[str], tmp_path: pathlib.Path) -> None:
    """Whatever is asked for, and whomever the file is called after."""
    (tmp_path / "rank_3.bin").write_bytes(NEITHER)
    said = rankscope("analyze", *option, str(tmp_path))
    assert said.code == 3
    assert "rank_3.bin: unsupported (neither text nor a format that is known)" in said.out + said.err


def test_the_logs_in_a_snapshot_are_read(tmp_path: pathlib.Path) -> None:
    """As they are when it is judged."""
    saved(tmp_path / "job.snap", *ERROR.splitlines())
    said = rankscope("analyze", "--events", str(tmp_path / "job.snap"))
    assert (said.code, said.err, read(said.out)) == (0, "", [("/job/out.log", 3, "python.exception")])


def test_a_snapshot_without_words_is_said_to_be_one(tmp_path: pathlib.Path) -> None:
    """Nothing printed is not nothing wrong."""
    saved(tmp_path / "job.snap")
    said = rankscope("analyze", "--events", str(tmp_path / "job.snap"))
    assert (said.code, said.out) == (3, "")
    assert "a snapshot in which no program says anything" in said.err


def test_a_damaged_line_of_a_snapshot_is_said(tmp_path: pathlib.Path) -> None:
    saved(tmp_path / "job.snap", *ERROR.splitlines())
    first, *rest = (tmp_path / "job.snap").read_bytes().splitlines(keepends=True)
    (tmp_path / "job.snap").write_bytes(first + b"{broken\n" + b"".join(rest))
    said = rankscope("analyze", "--events", str(tmp_path / "job.snap"))
    assert said.code == 3
    assert "job.snap: a line of the snapshot: damaged" in said.err
    assert len(read(said.out)) == 1


@pytest.mark.parametrize("option", [["--events"], ["--entries", "3"]])
def test_nothing_to_print_is_said(option: list[str], tmp_path: pathlib.Path) -> None:
    """Of an empty file as of a log in which nothing happens."""
    (tmp_path / "a.log").write_text("hello\n")
    (tmp_path / "b.log").write_text("")
    for given in ("a.log", "b.log"):
        said = rankscope("analyze", *option, str(tmp_path / given))
        assert (said.code, said.out) == (3, "")
        assert "there was nothing to print" in said.err or "it is empty" in said.err


def test_a_file_that_is_named_twice_is_read_once(tmp_path: pathlib.Path) -> None:
    """By itself, by the directory it is in, and by a link to it."""
    log, link = tmp_path / "train.log", tmp_path / "latest.log"
    log.write_text(ERROR)
    link.symlink_to(log)
    said = rankscope("analyze", "--events", str(log), str(link), str(tmp_path), f"{tmp_path}/./train.log")
    assert [event for _, _, event in read(said.out)] == ["python.exception"]
