"""News is written for users: a fragment has a kind in its name, and is a few sentences."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

import pytest

REPO = pathlib.Path(__file__).resolve().parents[2]
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|fixed)\.md")
MOST_WORDS = 80


def faults(name: str, text: str) -> Iterator[str]:
    """What is wrong with a fragment."""
    if not NAME.fullmatch(name):
        yield f"{name}: not WORDS.KIND.md, KIND being added, changed or fixed"
    if not text.strip().endswith((".", ".)")):
        yield f"{name}: no sentence, or not a whole one"
    if any(line.startswith(("-", "*", "#")) for line in text.splitlines()):
        yield f"{name}: a list or a heading"
    if len(text.split()) > MOST_WORDS:
        yield f"{name}: more than {MOST_WORDS} words"


def test_every_fragment_has_its_form() -> None:
    """changelog.d/README.md says how one is written."""
    files = [path for path in sorted((REPO / "changelog.d").iterdir()) if path.name != "README.md"]
    assert [fault for path in files for fault in faults(path.name, path.read_text(encoding="utf-8"))] == []


def test_the_news_begin_with_the_release_that_is_built() -> None:
    version = re.search(r'^version = "(.+)"$', (REPO / "pyproject.toml").read_text(encoding="utf-8"), re.M)
    first = re.search(r"^## (\S+)", (REPO / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert version is not None
    assert first is not None
    assert first.group(1) == version.group(1)


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("left-early.fixed.md", "The rank that left early is named.\n", 0),
        ("left-early.md", "The rank that left early is named.\n", 1),
        ("left_early.fixed.md", "- The rank that left early is named\n", 3),
        ("long.added.md", "word " * MOST_WORDS + "more.\n", 1),
        ("empty.added.md", "\n", 1),
    ],
)
def test_a_fragment_of_another_form_is_found(name: str, text: str, count: int) -> None:
    assert len(list(faults(name, text))) == count
