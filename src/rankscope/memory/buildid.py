"""Which build of a library is loaded, and where its symbols lie: found once per build and machine.

The build id is a note in the image itself (System V gABI, notes; ld(1), --build-id), so it is read from memory.
"""

from __future__ import annotations

import json
import os
import stat
import struct
from collections.abc import Sequence

from . import elf
from .maps import Mapping
from .source import Memory, Unreadable

_PT_NOTE = 4
_GNU_BUILD_ID = 3
_CACHE_LIMIT = 1 << 20


def build_id(memory: Memory, base: int) -> str:
    """The build id of the image whose first byte lies at ``base``; empty where it has none."""
    try:
        head = memory.read(base, 64)
        if head[:4] != b"\x7fELF":
            return ""
        (offset,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        if size != elf.SEGMENT.size or not 0 < count <= 256:
            return ""
        segments = list(elf.SEGMENT.iter_unpack(memory.read(base + offset, size * count)))
        lowest = min((s[3], s[2]) for s in segments if s[0] == elf.PT_LOAD)  # appended segments say nothing (elf.py)
        first = lowest[0] - lowest[1]
        for segment in segments:
            if segment[0] == _PT_NOTE and 0 < segment[6] <= 65536:
                found = _note(memory.read(base + segment[3] - first, segment[6]))
                if found:
                    return found
    except (Unreadable, struct.error, ValueError):
        return ""
    return ""


def _note(notes: bytes) -> str:
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        start = at + 12 + (name_size + 3) // 4 * 4
        if kind == _GNU_BUILD_ID and notes[at + 12 : at + 16] == b"GNU\0" and 4 <= size <= 64:
            return notes[start : start + size].hex()
        at = start + (size + 3) // 4 * 4
    return ""


class SymbolCache:
    """Symbol offsets by build id, in memory and, where it may be written, in the user's cache directory (0600)."""

    def __init__(self, folder: str | None = None) -> None:
        root = folder or os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self._path = os.path.join(root, "rankscope", "symbols.json")
        self._known: dict[str, dict[str, int]] = self._load()

    def find(self, memory: Memory, image: Mapping, proc: str, pid: int, names: Sequence[str]) -> dict[str, int]:
        """Offsets of those names that the image has; raises OSError or elf.BadElf when the file cannot be read."""
        identity = build_id(memory, image.start) or f"{image.device}:{image.inode}"
        known = self._known.get(identity)
        if known is None or not known.keys() >= set(names):
            found = in_image(proc, pid, image, names)
            self._known[identity] = {**(known or {}), **{name: found.get(name, -1) for name in names}}
            if ":" not in identity:
                self._store()
        return {name: at for name, at in self._known[identity].items() if at >= 0 and name in names}

    def _load(self) -> dict[str, dict[str, int]]:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            with open(fd, "rb") as file:
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
                    return {}  # somebody else may write it
                raw = json.loads(file.read(_CACHE_LIMIT))
            return {
                str(identity): {str(name): int(at) for name, at in names.items()} for identity, names in raw.items()
            }
        except (OSError, ValueError, AttributeError, TypeError):
            return {}

    def _store(self) -> None:
        """Keep what is known; a cache that cannot be written is only slower."""
        lasting = {identity: names for identity, names in self._known.items() if ":" not in identity}
        draft = os.path.join(os.path.dirname(self._path), f"symbols.{os.getpid()}.tmp")
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with open(fd, "w", encoding="utf-8") as file:
                json.dump(lasting, file)
            os.replace(draft, self._path)
        except OSError:
            return


def in_image(proc: str, pid: int, image: Mapping, names: Sequence[str]) -> dict[str, int]:
    """Find symbols in the very file that is mapped, not in what may lie at its path now."""
    refused: OSError | None = None
    for path in (f"{proc}/{pid}/map_files/{image.start:x}-{image.end:x}", f"{proc}/{pid}/root{image.path}"):
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError as error:
            refused = error
            continue
        try:
            facts = os.fstat(fd)
            if stat.S_ISREG(facts.st_mode) and facts.st_ino == image.inode:
                return elf.in_file(f"/proc/self/fd/{fd}", names)
        finally:
            os.close(fd)
    raise refused or FileNotFoundError(2, "the library was replaced while it is in use", image.path)
