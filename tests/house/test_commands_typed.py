"""What is offered as a command line is one: a shell takes it, and our own command line knows its words."""

from __future__ import annotations

import ast
import pathlib
import re
import shlex
from collections.abc import Iterator

import click
import pytest

from rankscope.cli._group import cli

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src" / "rankscope"
OURS = re.compile(r"(?:sudo (?:-u \S+ )?(?:-E )?)?rankscope (?=[a-z…])")


def offered() -> Iterator[tuple[str, str]]:
    """Each text of the code that begins with a command of ours, docstrings aside; what is filled in later is an X."""
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, (ast.Constant, ast.JoinedStr)) and not {id(node)} & (prose | inner):
                text = written(node)
                if OURS.match(text):
                    yield path.relative_to(SOURCE).as_posix(), text


def written(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(map(written, node.values))
    if isinstance(node, ast.FormattedValue):
        return written(node.value.body) if isinstance(node.value, ast.IfExp) else "X"
    return "X"


@pytest.mark.parametrize(("where", "line"), sorted(set(offered())))
def test_a_shell_takes_the_line(where: str, line: str) -> None:
    """A remark stands behind ``#``, and every option is known."""
    name, *words = shlex.split(OURS.sub("", line, count=1), comments=True)
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"{where}: rankscope {name}"
    _, left, _ = command.make_parser(click.Context(command)).parse_args(words)
    assert not left, f"{where}: {left} of: {line}"
