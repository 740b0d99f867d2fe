"""Archives (tar, also compressed, and zip): their regular files, one after the other, within bounds.

What damage, a password or a bound keeps from us is told with the member it is about; all others are read none the less.
"""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
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


def members(path: str) -> Iterator[Member]:
    """What is packed, in order; nothing is written to disk, and links and devices are left out."""
    is_zip, room = path.lower().endswith(_ZIP), MOST_IN_ALL
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
