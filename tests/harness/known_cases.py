"""Known cases as files: items begin with ``=== label``, the folder is the class that is right (or ``healthy``).

Lines before the first item begin with ``#``: where the case is from, ``# also right: CLASS …`` where a reader of the evidence
could not do better, and ``# mechanism: …`` where one has told by what it is recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOME = Path(__file__).resolve().parents[2]
FOLDERS = (HOME / "corpus", HOME / "tests/rules/text")
LESSONS = HOME / "lessons"
MESSAGES = HOME / "tests/rules/messages"


@dataclass(frozen=True)
class KnownCase:
    """One file: the class that is right, others that are right too, the threads it is from, and its items as (label, text)."""

    path: Path
    cls: str
    also: tuple[str, ...]
    links: tuple[str, ...]
    items: tuple[tuple[str, str], ...]
    mechanism: str = ""

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
    mechanism = re.search(r"^# mechanism: (.*)", head, re.MULTILINE)
    links = re.findall(r"^# (https://\S+)", head, re.MULTILINE)
    items = re.findall(r"(?ms)^=== (.*?)\n(.*?)(?=^=== |\Z)", text)
    others = tuple(also[1].split()) if also else ()
    return KnownCase(path, path.parent.name, others, tuple(links), tuple(items), mechanism[1] if mechanism else "")


def known() -> Iterator[KnownCase]:
    """All of them, in the order of their paths."""
    for folder in FOLDERS:
        yield from map(read, sorted(folder.glob("*/*.txt")))


def lessons() -> Iterator[KnownCase]:
    """What was written from general knowledge: each text as a case of its class that is from no thread."""
    for folder in (LESSONS, MESSAGES):
        for path in sorted(folder.glob("*.txt")):
            yield from texts(path)


def texts(path: Path) -> Iterator[KnownCase]:
    """The texts of one file, between which a line ``%%`` stands; one may begin with the other classes that would be right."""
    for text in re.split(r"(?m)^%%\n", path.read_text()):
        also = re.match(r"# also right: (.*)\n", text)
        body = text[also.end() :] if also else text
        yield KnownCase(path, path.stem, tuple(also[1].split()) if also else (), (), (("evidence", body),))
