"""What the tool tells people to type exists."""

from __future__ import annotations

import importlib.util
import pathlib
import re

import click
import pytest

from rankscope.cli._group import cli

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src" / "rankscope"
# A command as it stands in a page or among the next steps: behind a quote, a backtick, a prompt or sudo.
TYPED = re.compile(r"(?:[`\"']|\$ |sudo (?:-E )?)rankscope ([a-z][a-z-]*)((?: --[a-z][a-z-]*)*)")


def typed() -> list[tuple[str, str, str]]:
    return sorted(
        {
            (path.relative_to(SOURCE).as_posix(), found[1], found[2].strip())
            for path in SOURCE.rglob("*.py")
            for found in TYPED.finditer(path.read_text())
        }
    )


@pytest.mark.parametrize(("where", "name", "options"), typed())
def test_commands_in_pages_and_next_steps_exist(where: str, name: str, options: str) -> None:
    """Command and options are those of the command line."""
    command = cli.get_command(click.Context(cli), name)
    assert command is not None, f"{where} names rankscope {name}"
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    assert set(options.split()) <= known, f"{where} names rankscope {name} {options}"


def test_what_pages_say_of_the_package_exists() -> None:
    """``rankscope.NAME`` in the text of a page is a module or a name of the package."""
    named = {
        (path.name, found[1])
        for path in (SOURCE / "rules").rglob("*.py")
        for found in re.finditer(r"`rankscope\.([a-z_]+)", path.read_text())
    }
    missing = [(where, name) for where, name in named if importlib.util.find_spec(f"rankscope.{name}") is None]
    assert not missing
