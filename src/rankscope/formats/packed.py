"""Archives (tar, also compressed, and zip): their regular files, one after the other, within bounds."""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator

_ZIP = ".zip"
_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", _ZIP)
MOST_FILES = 200_000
MOST_BYTES = 256 << 20  # of one file
MOST_IN_ALL = 16 << 30
# What damage raises; of a zip also one that is packed in a way that the library does not know.
_BROKEN = (
    tarfile.TarError, zipfile.BadZipFile, lzma.LZMAError, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
)  # fmt: skip


def is_archive(name: str) -> bool:
    """Does a file's name say that it is an archive?"""
    return name.lower().endswith(_ENDINGS)


def members(path: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents; nothing is written to disk, links and devices are left out, and damage ends the archive."""
    room = MOST_IN_ALL
    try:
        for number, (name, content) in enumerate(_zipped(path) if path.lower().endswith(_ZIP) else _tarred(path)):
            if number >= MOST_FILES or room <= 0:
                return
            room -= len(content)
            yield name.lstrip("./"), content
    except _BROKEN:
        return


def _tarred(path: str) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            if member.isreg() and member.size <= MOST_BYTES and (content := archive.extractfile(member)) is not None:
                yield member.name, content.read(MOST_BYTES)


def _zipped(path: str) -> Iterator[tuple[str, bytes]]:
    """Of a zip; what is encrypted is left out."""
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir() and member.file_size <= MOST_BYTES and not member.flag_bits & 1:
                with archive.open(member) as content:
                    yield member.filename, content.read(MOST_BYTES)
