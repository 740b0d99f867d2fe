"""What the code knows by heart of classes, rules and kinds of evidence are names that exist: a misspelt one is never met."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator, Sequence

import pytest

from rankscope.model.classes import CLASSES
from rankscope.model.evidence import kinds
from rankscope.rules import rules

HOME = pathlib.Path(__file__).resolve().parents[2] / "src" / "rankscope"
FILES = sorted(HOME.rglob("*.py"))
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
KNOWN = {*CLASSES, *kinds(), *(rule.id for rule in rules())}


def named_together(source: str) -> Iterator[str]:
    """The members of sets and tuples, and the keys of dictionaries, that hold nothing but names with dashes."""
    for node in ast.walk(ast.parse(source)):
        held: Sequence[ast.expr | None] = ()
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            held = node.elts
        elif isinstance(node, ast.Dict):
            held = node.keys
        words = list(_words(held))
        if len(words) == len(held) and all(map(NAME.fullmatch, words)):
            yield from words


def named_as_class(source: str) -> Iterator[str]:
    """What is given as the class of a finding, and what one is compared with."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "cls":
            yield from _words([node.value])
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute) and node.left.attr == "cls":
            yield from (word for other in node.comparators for word in _words(ast.walk(other)))


def _words(nodes: Sequence[ast.AST | None] | Iterator[ast.AST]) -> Iterator[str]:
    return (node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_names_that_are_known_by_heart_exist(path: pathlib.Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert set(named_together(source)) - KNOWN == set()
    assert set(named_as_class(source)) - set(CLASSES) == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("_HELD = {'gil-deadlok', 'import-lock'}", {"gil-deadlok"}),
        ("_SAID = {'oom-kil': {'kernel.oom_kill'}}", {"oom-kil"}),
        ("_WORDS = {'import-lock', 'no name'}", set()),
    ],
)
def test_a_misspelt_name_is_found(source: str, found: set[str]) -> None:
    assert set(named_together(source)) - KNOWN == found


@pytest.mark.parametrize("source", ["Finding(cls='oom-kil')", "one.cls == 'oom-kil'", "one.cls in {'oom-kil'}"])
def test_a_misspelt_class_is_found(source: str) -> None:
    assert set(named_as_class(source)) == {"oom-kil"}
