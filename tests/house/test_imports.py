"""Which room may use which: imports point towards ``model``. This test is also the description of the directions."""

from __future__ import annotations

import ast
import functools
import pathlib
import sys
from collections.abc import Iterator

import pytest

HOME = pathlib.Path(__file__).resolve().parents[2] / "src" / "rankscope"

# A room may import itself and these. The two wings, evidence and judgement, meet only in steps, pipeline and above.
MAY_USE = {
    "model": set(),
    "errors": set(),
    "memory": {"model"},
    "probe": {"model", "memory"},
    "formats": {"model", "errors"},
    "reach": {"model", "errors", "probe", "formats"},
    "analysis": {"model"},
    "rules": {"model", "analysis"},
    "report": {"model", "analysis"},
    "demo": set(),
    "prepare": {"model"},  # lives inside the job
}
# Rooms that no other room may use: they stand at the top.
TOP = {"cli", "pipeline", "steps", "demo"}
# Rooms that are sent to a bare node, or that only think, stand on the standard library alone.
STANDARD_LIBRARY_ONLY = ("model", "memory", "probe", "analysis", "rules", "report", "errors", "prepare")
OTHERS = {"formats": {"msgspec"}, "reach": {"ClusterShell", "msgspec"}, "cli": {"click", "msgspec", "ClusterShell"}}
OLD_SYNTAX = ("model", "memory", "probe", "prepare")

FILES = sorted(HOME.rglob("*.py"))


def room(path: pathlib.Path) -> str:
    return path.relative_to(HOME).parts[0].removesuffix(".py")


@functools.cache
def imports(path: pathlib.Path) -> tuple[str, ...]:
    """The absolute names of everything a file imports, also inside functions."""
    return tuple(_imports(path))


def _imports(path: pathlib.Path) -> Iterator[str]:
    package = ("rankscope", *path.relative_to(HOME).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            name = ".".join(part for part in (base, node.module or "") if part)
            # "from .. import pipeline" names a module, "from ..errors import X" a thing inside one.
            yield from (f"{name}.{alias.name}" for alias in node.names)


def ours(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """(room, what inside it) of our own modules that a file imports."""
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "rankscope" and len(parts) > 1 and parts[1] != "__version__":
            yield parts[1], ".".join(parts[1:3])


def foreign(path: pathlib.Path) -> set[str]:
    tops = {name.split(".")[0] for name in imports(path)}
    return {top for top in tops if top != "rankscope" and top not in sys.stdlib_module_names}


def test_every_room_has_a_direction() -> None:
    """A new room is written down here before it is used."""
    known = {*MAY_USE, *TOP, "__init__", "__main__"}
    assert {room(path) for path in FILES} - known == set()


@pytest.mark.parametrize("name", sorted(MAY_USE))
def test_a_room_uses_only_what_lies_towards_the_model(name: str) -> None:
    """Nothing imports against the direction."""
    wrong = [
        f"{path.relative_to(HOME)} imports {target}"
        for path in FILES
        if room(path) == name
        for used, target in ours(path)
        if used not in MAY_USE[name] | {name}
    ]
    assert not wrong


@pytest.mark.parametrize(("name", "other"), [("seen", "told"), ("told", "seen")])
def test_rules_about_what_is_seen_and_what_is_told_do_not_know_each_other(name: str, other: str) -> None:
    """What they share lies above them."""
    wrong = [
        f"{path.relative_to(HOME)} imports {target}"
        for path in sorted((HOME / "rules" / name).glob("*.py"))
        for target in imports(path)
        if target.startswith(f"rankscope.rules.{other}")
    ]
    assert not wrong


@pytest.mark.parametrize("name", ["seen", "told"])
def test_no_rule_asks_another_rule(name: str) -> None:
    """What several need is analysis, or a module with an underscore; who knows better is said by ``yields_to``."""
    found = sorted((HOME / "rules" / name).glob("[a-z]*.py"))
    names = {f"rankscope.rules.{name}.{path.stem}" for path in found}
    asked = {path.name: {part for name in imports(path) for part in (name, name.rpartition(".")[0])} for path in found}
    assert [name for name, parts in asked.items() if names & parts] == []


def test_nothing_uses_the_command_line() -> None:
    """Only the entry point of the package starts the command line."""
    wrong = [
        path for path in FILES if room(path) not in ("cli", "__main__") and any(to == "cli" for to, _ in ours(path))
    ]
    assert not wrong


@pytest.mark.parametrize("name", STANDARD_LIBRARY_ONLY)
def test_a_room_that_travels_or_thinks_needs_nothing_installed(name: str) -> None:
    """These rooms run wherever a Python is."""
    wrong = {str(path.relative_to(HOME)): foreign(path) for path in FILES if room(path) == name and foreign(path)}
    allowed = {"probe/engines/pystack.py": {"pystack"}}  # an extra, imported in a child where it is installed
    assert {path: names for path, names in wrong.items() if names != allowed.get(path)} == {}


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_dependencies_stay_in_their_rooms(name: str) -> None:
    """A room uses the libraries that the record of decisions names for it, and no others."""
    there = [path for path in FILES if room(path) == name]
    assert there
    for path in there:
        assert foreign(path) <= OTHERS[name], path


def test_torch_is_never_imported_by_us() -> None:
    """PyTorch is a peer that is looked at; only the demo's own job imports it."""
    assert [path for path in FILES if "torch" in foreign(path) and room(path) != "demo"] == []


@pytest.mark.parametrize("name", OLD_SYNTAX)
def test_rooms_that_travel_keep_to_old_syntax(name: str) -> None:
    """The oldest interpreter that a node may offer can read these files."""
    there = [path for path in FILES if room(path) == name and path.read_text().strip()]
    assert there
    for path in there:
        tree = ast.parse(path.read_text(), str(path), feature_version=(3, 9))
        future = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
        code = any(not isinstance(node, ast.Expr) for node in tree.body)
        assert future or not code, f"{path} needs from __future__ import annotations"
