"""Files as people keep them: compressed in any way, cut off, or coming slowly through a pipe."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import pathlib
from collections.abc import Callable

import pytest

from rankscope.formats.files import Source, Tap, head_of, is_text, open_source, text_lines
from rankscope.formats.gather import gather
from rankscope.formats.lines import LINE_LIMIT
from rankscope.model.evidence.events import Events
from rankscope.model.gap import Why

TEXT = "".join(f"line {number}\n" for number in range(20_000))


class Slow(io.RawIOBase):
    """Brings one line at a time, as a pipe does."""

    def __init__(self, text: str) -> None:
        self._lines = iter(text.encode().splitlines(keepends=True))

    def read1(self, _: int = -1) -> bytes:
        return next(self._lines, b"")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_by_content_not_by_name(tmp_path: pathlib.Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(pack(TEXT.encode()))
    stream, tap = open_source(Source("log", str(path)))
    assert "".join(text_lines(stream)) == TEXT
    assert tap.damage is None


def test_what_was_cut_off_is_read_as_far_as_it_goes(tmp_path: pathlib.Path) -> None:
    """The lines before the damage count, and the damage is told."""
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:-2000])
    stream, tap = open_source(Source("log.gz", str(path)))
    lines = list(text_lines(stream))
    assert TEXT.startswith("".join(lines))
    assert len(lines) > 1000
    assert tap.damage is not None
    assert gather([path]).gaps[0].why is Why.DAMAGED


def test_a_slow_pipe_is_looked_at_whole() -> None:
    """What a text is shows in its first kilobytes, not in the first line that arrives."""
    told: list[int] = []
    stream = io.BufferedReader(Tap(Slow(TEXT), told.append), 1 << 20)
    assert head_of(stream).count(b"\n") > 1000
    assert stream.read() == TEXT.encode()
    assert told[-1] == len(TEXT)


def test_how_far_it_is_is_told_of_how_much(tmp_path: pathlib.Path) -> None:
    """Of what is packed nobody knows how much it will be."""
    (tmp_path / "a.log").write_text(TEXT)
    (tmp_path / "b.log.gz").write_bytes(gzip.compress(TEXT.encode()))
    told: list[tuple[str, int, int | None]] = []
    gather([tmp_path], lambda *one: told.append(one))
    assert ("a.log", len(TEXT), len(TEXT)) in told
    assert ("b.log.gz", len(TEXT), None) in told


SAID = "".join(f"2026-02-11 04:10:{number:02d} [rank1]: step {number} café\n" for number in range(40))


@pytest.mark.parametrize(
    "data",
    [
        SAID.encode("utf-16"),
        SAID.encode("utf-16-le"),
        SAID.encode("utf-16-be"),
        SAID.replace("\n", "\r").encode(),
        SAID.replace("\n", "\r\n").encode(),
    ],
    ids=["utf-16", "le", "be", "returns", "crlf"],
)
def test_other_encodings_and_line_ends(data: bytes) -> None:
    """UTF-16 with its mark and without, lines that end in a return alone."""
    lines = list(text_lines(io.BufferedReader(io.BytesIO(data))))
    assert is_text(data)
    assert [line.rstrip("\r\n") for line in lines] == SAID.splitlines()


@pytest.mark.parametrize("data", [b"boom\n" + bytes(4096), b"boom\n" + bytes(500) + b"bang\n"])
def test_blocks_that_were_never_written_do_not_cost_the_text(data: bytes) -> None:
    """What a file system leaves after a crash, at the end of a log or within it."""
    assert is_text(data)


def test_nothing_but_zeros_is_no_text() -> None:
    assert not is_text(bytes(4096))


def test_numbers_are_no_utf16() -> None:
    """Small integers of two bytes have zeros in every other byte as well, and are no text."""
    assert not is_text(b"".join(number.to_bytes(2, "little") for number in range(1, 200) for _ in range(4)))


def test_a_line_of_returns_is_bounded() -> None:
    """A progress bar in one line is as many lines as it has states; none is longer than the limit."""
    data = b"10%|#\r20%|##\r" + b"x" * (3 * LINE_LIMIT) + b"\rend"
    lines = list(text_lines(io.BufferedReader(io.BytesIO(data))))
    assert [line.strip()[:5] for line in lines] == ["10%|#", "20%|#", "xxxxx", "end"]
    assert max(map(len, lines)) <= LINE_LIMIT


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("over", [-1, 0, 1, 2 * LINE_LIMIT])
def test_lines_behind_a_cut_one_keep_their_numbers(over: int, encoding: str, tmp_path: pathlib.Path) -> None:
    """Of a text that is kept in part, whether it goes through the sieve or not."""
    said = ["step 1", "x" * (LINE_LIMIT + over), *(f"step {number}" for number in range(3, 120_000)), "boom"]
    (tmp_path / "log").write_bytes("\n".join(said).encode(encoding))
    records = [item.record for sweep in gather([tmp_path]).sweeps for item in sweep.items]
    kept = [event for one in records if isinstance(one, Events) for event in one.events if event.event == "text.line"]
    assert len(kept) > 1000
    assert kept[-1].text == "boom"
    assert all(said[event.line - 1].startswith(event.text) for event in kept)


def test_a_link_that_is_not_followed_is_told(tmp_path: pathlib.Path) -> None:
    """/var/log/containers holds nothing else; a link to what lies beside it misses nothing."""
    (tmp_path / "pods").mkdir()
    (tmp_path / "pods" / "0.log").write_text("step 1\n")
    inside = tmp_path / "containers"
    inside.mkdir()
    (inside / "a.log").write_text("step 1\n")
    (inside / "latest.log").symlink_to("a.log")
    (inside / "pod.log").symlink_to(tmp_path / "pods" / "0.log")
    (inside / "pods").symlink_to(tmp_path / "pods")
    (inside / "rank3.log").symlink_to("/nonexistent/rank3.log")
    told = {gap.what: gap.why for gap in gather([inside]).gaps}
    assert told == {"pod.log": Why.SKIPPED, "pods": Why.SKIPPED, "rank3.log": Why.MISSING}


@pytest.mark.parametrize("zeros", [64, 70_000, 5 << 20])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_log_that_was_cut_under_its_writer_is_read(
    zeros: int, pack: Callable[[bytes], bytes], tmp_path: pathlib.Path
) -> None:
    """Where its copy has zeros before what was written since (copytruncate of logrotate)."""
    (tmp_path / "train.log").write_bytes(pack(bytes(zeros) + b"RuntimeError: boom\n" * 9))
    verdicts = [one for item in gather([tmp_path]).sweeps[0].items for one in item.record.events]
    assert "text.line" in {one.event for one in verdicts}
    assert not gather([tmp_path]).gaps


def test_a_hole_before_the_text_is_not_read(tmp_path: pathlib.Path) -> None:
    """It may have the size of a disk."""
    with open(tmp_path / "train.log", "wb") as log:
        log.truncate(1 << 42)
        log.seek(0, os.SEEK_END)
        log.write(b"RuntimeError: boom\n")
    assert gather([tmp_path]).sweeps[0].items


def test_nothing_but_zeros_is_no_evidence(tmp_path: pathlib.Path) -> None:
    """A hole to its end, and written zeros."""
    with open(tmp_path / "hole", "wb") as log:
        log.truncate(1 << 42)
    (tmp_path / "zeros").write_bytes(bytes(1 << 20))
    assert not gather([tmp_path]).sweeps[0].items


def test_what_is_compressed_twice_is_read(tmp_path: pathlib.Path) -> None:
    """And where the inner one breaks off, that is told."""
    whole = gzip.compress(TEXT.encode())
    (tmp_path / "log").write_bytes(bz2.compress(whole))
    stream, tap = open_source(Source("log", str(tmp_path / "log")))
    assert ("".join(text_lines(stream)), tap.damage) == (TEXT, None)
    for cut in (3, 12, len(whole) // 2):
        (tmp_path / "log").write_bytes(bz2.compress(whole[:cut]))
        assert [gap.why for gap in gather([tmp_path]).gaps] == [Why.DAMAGED]
