"""A rule that looks at living processes says whom each command is meant for; text is for commands about the whole job."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import pytest

from rankscope.analysis.commands import typed

RULES = pathlib.Path(__file__).resolve().parents[2] / "src" / "rankscope" / "rules" / "seen"


def bare() -> Iterator[tuple[str, str]]:
    """Texts among the next steps of findings that are made of live evidence."""
    for path in sorted(RULES.glob("*.py")):
        calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        tuples = [
            word.value
            for call in calls
            for word in call.keywords
            if word.arg == "next" and isinstance(word.value, ast.Tuple)
        ]
        for one in (element for made in tuples for element in made.elts):
            text = ast.unparse(one)
            yield (
                path.name,
                text.removeprefix("f").strip("'\"") if isinstance(one, (ast.Constant, ast.JoinedStr)) else "",
            )


@pytest.mark.parametrize(("where", "text"), sorted({(where, text) for where, text in bare() if text}))
def test_a_command_about_a_process_names_it(where: str, text: str) -> None:
    about_the_job = (
        text.startswith(("rankscope diagnose", "rankscope stacks --", "rankscope explain")) and "pid:" not in text
    )
    assert about_the_job or not typed(text)
