"""Archives (tar, also compressed): their regular files, one after the other, within bounds."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator

_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MOST_FILES = 200_000
MOST_BYTES = 256 << 20  # of one file
MOST_IN_ALL = 16 << 30


def is_archive(name: str) -> bool:
    """Does a file's name say that it is an archive?"""
    return name.lower().endswith(_ENDINGS)


def members(path: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents; nothing is written to disk, links and devices are left out, and damage ends the archive."""
    room = MOST_IN_ALL
    try:
        with tarfile.open(path, "r|*") as archive:
            for number, member in enumerate(archive):
                if number >= MOST_FILES or room <= 0:
                    return
                room -= member.size
                if not member.isreg() or member.size > MOST_BYTES:
                    continue
                content = archive.extractfile(member)
                if content is not None:
                    yield member.name.lstrip("./"), content.read(MOST_BYTES)
    except (tarfile.TarError, EOFError, zlib.error, OSError, ValueError):
        return
