"""Known cases as files: items begin with ``=== label``, the folder is the class that is right (or ``healthy``).

Lines before the first item begin with ``#``: where the case is from, and ``# also right: CLASS …`` where a reader of the evidence
could not do better.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
FOLDERS = (HOME / "corpus", HOME / "tests/rules/text")


@dataclass(frozen=True)
class KnownCase:
    """One file: the class that is right, others that are right too, the threads it is from, and its items as (label, text)."""

    path: Path
    cls: str
    also: tuple[str, ...]
    links: tuple[str, ...]
    items: tuple[tuple[str, str], ...]

    def lay_out(self, folder: Path) -> None:
        """The evidence as somebody holds it: a file for each item, named by number and label."""
        for number, (label, text) in enumerate(self.items):
            name = re.sub(r"[^A-Za-z0-9_,.+-]+", "_", label)[:80]
            (folder / f"{number:02d}_{name}.txt").write_text(text)


def read(path: Path) -> KnownCase:
    """The case in a file."""
    text = path.read_text()
    head = re.split(r"(?m)^=== ", text, maxsplit=1)[0]
    also = re.search(r"^# also right: (.*)", head, re.MULTILINE)
    links = re.findall(r"^# (https://\S+)", head, re.MULTILINE)
    items = re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^=== |\Z)", text)
    return KnownCase(path, path.parent.name, tuple(also[1].split()) if also else (), tuple(links), tuple(items))


def known() -> Iterator[KnownCase]:
    """All of them, in the order of their paths."""
    for folder in FOLDERS:
        yield from map(read, sorted(folder.glob("*/*.txt")))
