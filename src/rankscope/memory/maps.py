"""The memory map of a process, from /proc/PID/maps (proc(5)): which file lies where."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

# A process with a million mappings would be at the kernel's own limit many times over.
MAPS_LIMIT = 64 << 20
DELETED = " (deleted)"


@dataclass(frozen=True)
class Mapping:
    """One line of the map. ``path`` is as the process sees it, also of a file that has gone or was replaced."""

    start: int
    end: int
    permissions: str
    offset: int
    device: str
    inode: int
    path: str

    @property
    def identity(self) -> tuple[str, int]:
        """What tells this file from another one at the same path."""
        return (self.device, self.inode)

    @property
    def name(self) -> str:
        """The file's own name."""
        return os.path.basename(self.path)


def parse(raw: bytes) -> Iterator[Mapping]:
    """Yield the mappings in order of address; a line that is none is left out."""
    for line in raw.splitlines():
        fields = line.split(None, 5)
        if len(fields) < 5:
            continue
        try:
            start, _, end = fields[0].partition(b"-")
            path = os.fsdecode(fields[5]) if len(fields) > 5 else ""
            yield Mapping(
                int(start, 16),
                int(end, 16),
                fields[1].decode("ascii"),
                int(fields[2], 16),
                fields[3].decode("ascii"),
                int(fields[4]),
                path.removesuffix(DELETED),
            )
        except ValueError:
            continue


def read(proc: str, pid: int) -> bytes:
    """Read the map of a process as the kernel prints it; takes the target's mmap lock, so it may block."""
    with open(f"{proc}/{pid}/maps", "rb") as file:
        return file.read(MAPS_LIMIT)


def images(mappings: Iterator[Mapping]) -> Iterator[tuple[Mapping, tuple[Mapping, ...]]]:
    """Group neighbouring mappings of one file: the first of them (offset 0, the ELF header), and all."""
    group: list[Mapping] = []
    for mapping in mappings:
        if not mapping.inode:
            continue
        if group and mapping.identity == group[0].identity and mapping.offset:
            group.append(mapping)
            continue
        if group:
            yield group[0], tuple(group)
        group = [mapping] if mapping.offset == 0 else []
    if group:
        yield group[0], tuple(group)


def find(mappings: Iterator[Mapping], fragment: str) -> tuple[Mapping, tuple[Mapping, ...]] | None:
    """Find the first image whose file name contains ``fragment``."""
    return next((image for image in images(mappings) if fragment in image[0].name), None)
