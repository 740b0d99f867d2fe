"""Archives count as directories of what is packed in them."""

from __future__ import annotations

import io
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rankscope.formats import packed
from rankscope.formats.gather import gather
from rankscope.model.evidence.events import Events
from rankscope.model.gap import Why
from rankscope.pipeline import judge

FULL = b"OSError: [Errno 28] No space left on device: 'checkpoint.pt'\n"


def tarred(path: Path) -> None:
    """One log, and a link that leads out."""
    with tarfile.open(path, "w:gz") as archive:
        log = tarfile.TarInfo("logs/rank_3.log")
        log.size = len(FULL)
        archive.addfile(log, io.BytesIO(FULL))
        link = tarfile.TarInfo("logs/passwd")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)


def zipped(path: Path) -> None:
    """One log and its folder."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("logs/", b"")
        archive.writestr("logs/rank_3.log", FULL)


@pytest.mark.parametrize(("name", "pack"), [("a.tar.gz", tarred), ("a.zip", zipped)])
def test_what_is_packed_is_read(name: str, pack: Callable[[Path], None], tmp_path: Path) -> None:
    """With the names it has in there."""
    pack(tmp_path / name)
    assert list(packed.members(str(tmp_path / name))) == [packed.Member("logs/rank_3.log", FULL)]
    verdict = judge(gather([tmp_path / name])).verdict
    assert verdict is not None
    assert verdict.cls == "storage-full"


@pytest.mark.parametrize("cut", [0, 10, 60])
@pytest.mark.parametrize(("name", "pack"), [("a.tar.gz", tarred), ("a.zip", zipped)])
def test_a_damaged_archive_is_said_to_be_so(name: str, pack: Callable[[Path], None], cut: int, tmp_path: Path) -> None:
    """It is told, and nothing raises."""
    pack(tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:cut])
    diagnosis = judge(gather([tmp_path / name]))
    assert diagnosis.verdict is None
    assert diagnosis.evidence_weak
    if cut and name == "a.zip":
        assert [gap.why for gap in diagnosis.gaps] == [Why.DAMAGED]  # and nothing of archives within it


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_any_damage_is_survived(how: int, tmp_path: Path) -> None:
    """Whatever bytes of a zip are others."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", how) as archive:
        archive.writestr("rank_3.log", FULL * 20)
    whole, draw = (tmp_path / "a.zip").read_bytes(), random.Random(7)
    ends: set[Why | None] = set()
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / "a.zip").write_bytes(bytes(data))
        for member in packed.members(str(tmp_path / "a.zip")):
            assert len(member.data) <= packed.MOST_BYTES
            ends.add(member.why)
    assert {None, Why.DAMAGED} <= ends


def test_an_encrypted_member_is_left_out(tmp_path: Path) -> None:
    """Nobody is asked for a password, and it is said."""
    zipped(tmp_path / "a.zip")
    data = bytearray((tmp_path / "a.zip").read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags of APPNOTE.TXT 4.3.7 and 4.3.12
        start = -1
        while (start := data.find(mark, start + 1)) >= 0:
            data[start + at] |= 1
    (tmp_path / "a.zip").write_bytes(bytes(data))
    (gap,) = gather([tmp_path / "a.zip"]).gaps
    assert (gap.what.rsplit("/", 1)[-1], gap.why) == ("rank_3.log", Why.SKIPPED)
    assert "encrypted" in gap.detail


NAMES = [f"logs/rank_{rank}.log" for rank in range(4)]


def lines_of(rank: int) -> bytes:
    """A log of two pieces, of which each line tells its number."""
    return b"".join(b"rank %d, line %d: loss 2.5\n" % (rank, number) for number in range(1000))


def several(path: Path) -> None:
    """Four logs, packed without compression, so that their bytes can be found."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for rank, name in enumerate(NAMES):
                archive.writestr(name, lines_of(rank))
        return
    with tarfile.open(path, "w") as tar:
        for rank, name in enumerate(NAMES):
            head = tarfile.TarInfo(name)
            head.size = len(lines_of(rank))
            tar.addfile(head, io.BytesIO(lines_of(rank)))


def told(path: Path) -> tuple[set[str], dict[str, Why]]:
    """The members whose last line was read, and what was not."""
    snapshot = gather([path])
    events = [
        event
        for sweep in snapshot.sweeps
        for item in sweep.items
        if isinstance(item.record, Events)
        for event in item.record.events
    ]
    whole = {event.file for event in events if "line 999:" in event.text}
    short = str(path) + "/"
    return {one.removeprefix(short) for one in whole}, {gap.what.removeprefix(short): gap.why for gap in snapshot.gaps}


def broken(path: Path, mark: bytes, by: bytes, nth: int = 0) -> None:
    """Overwrite the bytes at a mark."""
    data, at = bytearray(path.read_bytes()), -1
    for _ in range(nth + 1):
        at = data.index(mark, at + 1)
    data[at : at + len(by)] = by
    path.write_bytes(bytes(data))


def test_a_damaged_member_of_a_zip_costs_only_itself(tmp_path: Path) -> None:
    """Those behind it are read as before."""
    several(tmp_path / "a.zip")
    broken(tmp_path / "a.zip", b"rank 1, line 990", b"\xff")
    assert told(tmp_path / "a.zip") == ({NAMES[0], NAMES[2], NAMES[3]}, {NAMES[1]: Why.DAMAGED})


def test_a_member_whose_own_head_is_damaged_is_said_too(tmp_path: Path) -> None:
    """The list at the end of a zip still names it."""
    several(tmp_path / "a.zip")
    broken(tmp_path / "a.zip", b"PK\x03\x04", b"XXXX", 2)
    assert told(tmp_path / "a.zip") == ({NAMES[0], NAMES[1], NAMES[3]}, {NAMES[2]: Why.DAMAGED})


def test_a_tar_with_a_damaged_head_inside_is_said_to_end_early(tmp_path: Path) -> None:
    """The library would end there as if nothing followed."""
    several(tmp_path / "a.tar")
    broken(tmp_path / "a.tar", NAMES[2].encode(), b"\xff\xff")
    assert told(tmp_path / "a.tar") == ({NAMES[0], NAMES[1]}, {str(tmp_path / "a.tar"): Why.DAMAGED})


def test_a_cut_tar_keeps_what_came_before_within_a_member_too(tmp_path: Path) -> None:
    """Both the member that was cut and the archive are said to end early."""
    several(tmp_path / "a.tar")
    whole = (tmp_path / "a.tar").read_bytes()
    (tmp_path / "a.tar").write_bytes(whole[: whole.index(b"rank 1, line 998")])
    (member,) = (one for one in packed.members(str(tmp_path / "a.tar")) if one.name == NAMES[1])
    assert lines_of(1).startswith(member.data)
    assert b"line 800:" in member.data
    assert told(tmp_path / "a.tar") == ({NAMES[0]}, {NAMES[1]: Why.DAMAGED, str(tmp_path / "a.tar"): Why.DAMAGED})


@pytest.mark.parametrize("name", ["a.tar", "a.zip"])
def test_a_member_beyond_the_bound_is_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are read."""
    several(tmp_path / name)
    monkeypatch.setattr(packed, "MOST_BYTES", len(lines_of(0)) - 1)
    assert told(tmp_path / name) == (set(), dict.fromkeys(NAMES, Why.CUT))


def test_what_lies_behind_the_last_file_that_is_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive of too many files is read as far as the bound."""
    several(tmp_path / "a.tar")
    monkeypatch.setattr(packed, "MOST_FILES", 2)
    assert told(tmp_path / "a.tar") == ({NAMES[0], NAMES[1]}, {str(tmp_path / "a.tar"): Why.CUT})


def test_a_log_that_is_only_called_an_archive_is_read(tmp_path: Path) -> None:
    """Content decides, not the name."""
    (tmp_path / "a.zip").write_bytes(FULL)
    verdict = judge(gather([tmp_path / "a.zip"])).verdict
    assert verdict is not None
    assert verdict.cls == "storage-full"


def test_zstandard_is_named_with_what_unpacks_it(tmp_path: Path) -> None:
    """Python's own library reads it from 3.14 on only."""
    (tmp_path / "a.log.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04\x00")
    (gap,) = gather([tmp_path]).gaps
    assert gap.why is Why.UNSUPPORTED
    assert "zstd -d" in gap.detail


@pytest.mark.parametrize("name", ["bundle", "bundle.2026", "bundle.bak", "bundle.log"])
@pytest.mark.parametrize("how", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_is_known_whatever_its_name(name: str, how: str, tmp_path: Path) -> None:
    """It was called no text, and nothing in it was read."""
    (tmp_path / "rank_3.log").write_bytes(FULL)
    with tarfile.open(tmp_path / name, how) as archive:
        archive.add(tmp_path / "rank_3.log", "rank_3.log")
    (tmp_path / "rank_3.log").unlink()
    for given in (tmp_path, tmp_path / name):
        verdict = judge(gather([given])).verdict
        assert verdict is not None
        assert verdict.cls == "storage-full"


@pytest.mark.parametrize(
    ("name", "read"), [("bundle", True), ("bundle.1", True), ("weights.pt", False), ("some.whl", False)]
)
def test_a_zip_is_known_where_its_name_says_nothing_else(name: str, read: bool, tmp_path: Path) -> None:
    """Weights are zips of gigabytes in which nothing is evidence."""
    zipped(tmp_path / name)
    assert (judge(gather([tmp_path])).verdict is not None) is read


def test_an_archive_that_is_not_opened_is_called_one(tmp_path: Path) -> None:
    """It is packed in another one."""
    zipped(tmp_path / "inner")
    with tarfile.open(tmp_path / "outer.tar", "w") as archive:
        archive.add(tmp_path / "inner", "inner")
    (gap,) = gather([tmp_path / "outer.tar"]).gaps
    assert "archive within an archive" in gap.detail
