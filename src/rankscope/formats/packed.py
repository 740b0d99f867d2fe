"""Archives (tar, also compressed, and zip): their regular files, one after the other, within bounds.

What damage, a password or a bound keeps from us is told with the member it is about; all others are read none the less.
"""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from ..model.gap import Why

_ZIP = ".zip"
_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", _ZIP)
MOST_FILES = 200_000
MOST_BYTES = 256 << 20  # of one file
MOST_IN_ALL = 16 << 30
# What comes before damage is kept, all but the last piece.
_PIECE = 4 << 10
_ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")
_MAGIC: tuple[tuple[bytes, Callable[[str], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]], ...] = (
    (b"\x1f\x8b", gzip.GzipFile), (b"BZh", bz2.BZ2File), (b"\xfd7zXZ\x00", lzma.LZMAFile),
)  # fmt: skip
_SAY_NOTHING = (".gz", ".bin", ".dat", ".bak", ".old", ".orig", ".tmp", ".part", ".download")
# What damage raises; of a zip also one that is packed in a way that the library does not know.
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
)  # fmt: skip
_TOO_LARGE = f"it is larger than {MOST_BYTES >> 20} MB, which is too much for memory; unpack the archive first"
_ENCRYPTED = "it is encrypted; unpack the archive first"
_TOO_MANY = f"only its first {MOST_FILES} files and {MOST_IN_ALL >> 30} GB were read; unpack it first"
# zip(1) -FF goes by what stands before every member, where the list at the end is lost.
_REPAIR = "zip -FF may repair it"


@dataclass(frozen=True)
class Member:
    """One packed file with what could be read of it; ``why`` and ``detail`` tell why that is not all of it.

    One without a name stands for all that follows in the archive.
    """

    name: str
    data: bytes = b""
    why: Why | None = None
    detail: str = ""


def is_archive(name: str) -> bool:
    """Does a file's name say that it is an archive?"""
    return name.lower().endswith(_ENDINGS)


def holds_archive(path: str) -> bool:
    """Is a file an archive by what is in it, where its name does not say so? Other things are zips too (weights, wheels,
    documents), but those have names."""
    head = begin(path)
    return _is_tar(_unpacked(path, head)) or (head[:4] in _ZIPPED and not _says_what(path))


def _says_what(path: str) -> bool:
    ending = os.path.splitext(path)[1].lower()
    return bool(ending) and not ending[1:].isdecimal() and ending not in _SAY_NOTHING


def begins_like_one(head: bytes) -> bool:
    """Do these first bytes belong to an archive that is not compressed itself (tar(5), APPNOTE.TXT of zip)?"""
    return head[:4] in _ZIPPED or _is_tar(head)


def _is_tar(head: bytes) -> bool:
    return head[257:262] == b"ustar"


def _unpacked(path: str, head: bytes) -> bytes:
    """The first bytes of a file without its compression."""
    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)
    if kind is not None:
        with contextlib.suppress(*_BROKEN), kind(path) as unpacked:
            return unpacked.read(_BLOCK)
    return head


_BLOCK = 512  # of a tar


def begin(path: str) -> bytes:
    """The first bytes of a regular file; of anything else they would be lost for who reads it."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return b""
        with open(path, "rb", buffering=0) as file:
            return file.read(_BLOCK)
    except OSError:
        return b""


def members(path: str) -> Iterator[Member]:
    """What is packed, in order; nothing is written to disk, and links and devices are left out."""
    is_zip, room = path.lower().endswith(_ZIP) or begin(path)[:4] in _ZIPPED, MOST_IN_ALL
    try:
        for number, member in enumerate(_zipped(path) if is_zip else _tarred(path)):
            if number >= MOST_FILES or room <= 0:
                yield Member("", b"", Why.CUT, _TOO_MANY)
                return
            room -= len(member.data)
            yield member
    except _BROKEN as error:
        yield Member("", b"", Why.DAMAGED, f"{_said(error)}; {_REPAIR}" if is_zip else f"it ends early: {_said(error)}")


class _Header(tarfile.TarInfo):
    """The head of a member. Where it is damaged the library would end as if the archive did (TarFile.next)."""

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Header:
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]  # a block of zeros, the end as tar(5) wants it
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error


def _tarred(path: str) -> Iterator[Member]:
    with tarfile.open(path, "r|*", tarinfo=_Header) as archive:
        for member in archive:
            if not member.isreg():
                continue
            name = _plain(member.name)
            if member.size > MOST_BYTES:
                yield Member(name, b"", Why.CUT, _TOO_LARGE)
            elif (content := archive.extractfile(member)) is not None:
                yield _read(name, content)


def _zipped(path: str) -> Iterator[Member]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = _plain(member.filename)
            if member.is_dir():
                continue
            if member.flag_bits & 1:
                yield Member(name, b"", Why.SKIPPED, _ENCRYPTED)
            elif member.file_size > MOST_BYTES:
                yield Member(name, b"", Why.CUT, _TOO_LARGE)
            else:
                yield _opened(archive, member, name)


def _opened(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> Member:
    try:
        with archive.open(member) as content:
            return _read(name, content)
    except _BROKEN as error:  # its own head
        return Member(name, b"", Why.DAMAGED, _said(error))


def _read(name: str, content: IO[bytes]) -> Member:
    """A member up to its end, or to where it is damaged."""
    held = io.BytesIO()
    try:
        while piece := content.read1(_PIECE):  # type: ignore[attr-defined]
            held.write(piece)
    except _BROKEN as error:
        return Member(name, held.getvalue(), Why.DAMAGED, f"it ends early: {_said(error)}")
    return Member(name, held.getvalue())


def _plain(name: str) -> str:
    return name.lstrip("./")


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
