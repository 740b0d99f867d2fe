"""A test can fail: it asserts something, and not only of what it happens to find, which may be nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))
WAITS = {"wait_until"}  # of tests/harness/waiting.py: fails where what it waits for does not come
WRITTEN_OUT = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Constant)


def vacuous(source: str) -> list[str]:
    """Tests all of whose assertions are about each of something that may be nothing; what hypothesis draws is something."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    return [
        node.name
        for node in functions
        if node.name.startswith("test_") and not _drawn(node) and any(_asserts(node)) and all(_asserts(node))
    ]


def silent(source: str) -> list[str]:
    """Tests that assert nothing, neither themselves nor by a helper of their file; what hypothesis draws is survived at least."""
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    helpers = {node.name for node in functions if list(_asserts(node))} | WAITS
    return [
        node.name
        for node in functions
        if node.name.startswith("test_")
        and not _drawn(node)
        and not list(_asserts(node))
        and not helpers & _called(node)
    ]


def _called(function: ast.FunctionDef) -> set[str]:
    return {ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}


def _drawn(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(one).startswith("given(") for one in function.decorator_list)


def _asserts(function: ast.FunctionDef) -> Iterator[bool]:
    """Of each assertion, and each error that is expected, whether it may never be made or be about nothing."""
    looped = {
        inner
        for loop in ast.walk(function)
        if isinstance(loop, ast.For) and _may_be_empty(loop.iter)
        for inner in ast.walk(loop)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            yield node in looped or _of_each(node.test)
        elif isinstance(node, ast.withitem) and "raises(" in ast.unparse(node.context_expr):
            yield node in looped


def _of_each(test: ast.expr) -> bool:
    """Whether it is ``all`` of what one loop goes through."""
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "all" and test.args):
        return False
    of = test.args[0]
    return not isinstance(of, (ast.GeneratorExp, ast.ListComp)) or _may_be_empty(of.generators[0].iter)


def _may_be_empty(over: ast.expr) -> bool:
    """Whether a loop may go through nothing: not where its items stand in the test, or are counted."""
    if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in ("range", "zip", "enumerate"):
        return over.func.id != "range" and all(_may_be_empty(one) for one in over.args)
    return not isinstance(over, WRITTEN_OUT)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_is_content_with_nothing(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert vacuous(source) == []
    assert silent(source) == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("for one in found(): assert one", ["test_it"]),
        ("assert all(one for one in found())", ["test_it"]),
        ("for one in (1, 2): assert one", []),
        ("assert found()\n for one in found(): assert one", []),
    ],
)
def test_a_test_that_may_say_nothing_is_found(body: str, found: list[str]) -> None:
    assert vacuous(f"def test_it():\n {body}") == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def test_it():\n found()", ["test_it"]),
        ("def same(one): return one\ndef test_it():\n same(1)", ["test_it"]),
        ("def same(one): assert one\ndef test_it():\n same(1)", []),
        ("def test_it():\n with pytest.raises(OSError):\n  found()", []),
        ("def test_it():\n wait_until(found)", []),
        ("@given(any)\ndef test_it(one):\n found(one)", []),
    ],
)
def test_a_test_that_asserts_nothing_is_found(source: str, found: list[str]) -> None:
    assert silent(source) == found
