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
    assert list(packed.members(str(tmp_path / name))) == [("logs/rank_3.log", FULL)]
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


@pytest.mark.parametrize("how", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_any_damage_is_survived(how: int, tmp_path: Path) -> None:
    """Whatever bytes of a zip are others."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", how) as archive:
        archive.writestr("rank_3.log", FULL * 20)
    whole, draw = (tmp_path / "a.zip").read_bytes(), random.Random(7)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        (tmp_path / "a.zip").write_bytes(bytes(data))
        assert all(
            isinstance(name, str) and len(content) <= packed.MOST_BYTES
            for name, content in packed.members(str(tmp_path / "a.zip"))
        )


def test_an_encrypted_member_is_left_out(tmp_path: Path) -> None:
    """Nobody is asked for a password."""
    zipped(tmp_path / "a.zip")
    data = bytearray((tmp_path / "a.zip").read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags of APPNOTE.TXT 4.3.7 and 4.3.12
        start = -1
        while (start := data.find(mark, start + 1)) >= 0:
            data[start + at] |= 1
    (tmp_path / "a.zip").write_bytes(bytes(data))
    assert list(packed.members(str(tmp_path / "a.zip"))) == []


def test_zstandard_is_named_with_what_unpacks_it(tmp_path: Path) -> None:
    """Python's own library reads it from 3.14 on only."""
    (tmp_path / "a.log.zst").write_bytes(b"\x28\xb5\x2f\xfd\x04\x00")
    (gap,) = gather([tmp_path]).gaps
    assert gap.why is Why.UNSUPPORTED
    assert "zstd -d" in gap.detail
