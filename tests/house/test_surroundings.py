"""Nothing below the command line reads the environment or speaks to the terminal behind our back, but for what is listed here."""

from __future__ import annotations

import ast
import pathlib
from collections.abc import Iterator

import pytest

HOME = pathlib.Path(__file__).resolve().parents[2] / "src" / "rankscope"
FILES = sorted(HOME.rglob("*.py"))
SURROUNDINGS = {
    "os.environ", "os.getenv", "os.environb", "os.path.expanduser", "Path.home", "shutil.which", "os.getcwd", "Path.cwd",
    "os.get_terminal_size", "shutil.get_terminal_size", "sys.stdin", "sys.stdout", "sys.stderr", "sys.argv", "print", "input",
}  # fmt: skip


def used(source: str) -> set[str]:
    """What a file knows of its surroundings."""
    return {name for node in ast.walk(ast.parse(source)) for name in _named(node) if name in SURROUNDINGS}


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield ast.unparse(node)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        yield node.func.id


# Programs of their own, which run on a node or inside a job, and what they may know; and what else is rightly there.
PROGRAMS = ("cli/", "demo/", "prepare/", "probe/agent.py", "reach/loader.py")
ALLOWED = {
    "formats/files.py": {"sys.stdin"},  # the file that is called -
    "formats/sieve.py": {"shutil.which"},  # grep
    "memory/buildid.py": {"os.environ", "os.path.expanduser"},  # the user's cache directory; the agent turns it off
    "probe/access.py": {"shutil.which"},  # py-spy and pystack, which are programs
    "probe/engines/pyspy.py": {"shutil.which"},
    "reach/hostfile.py": {"os.path.expanduser"},  # hostfile:~/hosts, which no shell expands
    "reach/slurm_queue.py": {"os.environ", "shutil.which"},  # Slurm's own commands run in the user's environment
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_only_the_command_line_knows_its_surroundings(path: pathlib.Path) -> None:
    """Below it they are parameters; what is allowed here is written in ARCHITECTURE.md as well."""
    name = str(path.relative_to(HOME))
    if not name.startswith(PROGRAMS):
        assert used(path.read_text(encoding="utf-8")) == ALLOWED.get(name, set())


def test_what_is_allowed_is_written_down() -> None:
    said = (HOME.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert [name for name in (*ALLOWED, *PROGRAMS) if f"`{name}`" not in said] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\nos.environ.get('X')", {"os.environ"}),
        ("print(1)", {"print"}),
        ("from os import environ as e", {"os.environ"}),
    ],
)
def test_what_a_file_knows_of_its_surroundings_is_found(source: str, found: set[str]) -> None:
    assert used(source) == found
