"""Every plug-in keeps the promises of its room: named after its file, documented, known to its page."""

from __future__ import annotations

import importlib
import pathlib
import pkgutil
import re

import click
import pytest

import rankscope.probe.collectors
import rankscope.probe.launchers
from rankscope.cli._group import cli
from rankscope.model.classes import CLASSES
from rankscope.model.evidence import kinds
from rankscope.probe.collector import Collector, collectors
from rankscope.probe.engines import NAMES
from rankscope.probe.launcher import Launcher, launchers
from rankscope.report import pages
from rankscope.rules import Rule, rules, seen, told

REPO = pathlib.Path(__file__).resolve().parents[2]
HEADINGS = ("## What it means", "## How it is recognised", "## What to do", "## How to prevent it")
COMMANDS = cli.list_commands(click.Context(cli))


def files(package: object) -> list[str]:
    return [info.name for info in pkgutil.iter_modules(package.__path__) if not info.name.startswith("_")]  # type: ignore[attr-defined]


def dashes(name: str) -> str:
    return name.replace("_", "-")


@pytest.mark.parametrize("name", [f"{kind.__name__}.{name}" for kind in (seen, told) for name in files(kind)])
def test_a_rule_is_named_after_its_file_and_explains_itself(name: str) -> None:
    """Its docstring is the user's page, with the same four headings everywhere, in this order."""
    module = importlib.import_module(name)
    rule = module.RULE
    assert isinstance(rule, Rule)
    assert rule.id == dashes(name.rpartition(".")[2])
    assert rule.cls in {"", *CLASSES}
    assert rule.page == module.__doc__
    found = re.findall(r"(?m)^## .*$", rule.page)
    assert [heading for heading in found if heading in HEADINGS] == list(HEADINGS)
    title = pages.page(rule.id, rule.page).title
    assert title.endswith(".")
    assert len(title) < 160


def test_rules_that_know_better_speak_earlier() -> None:
    """A rule yields to those that have been asked before it; nothing else would be heard."""
    names = [rule.id for rule in rules()]
    assert [rule.id for rule in rules() if set(rule.yields_to) - set(names[: names.index(rule.id)])] == []


def test_rule_names_are_unique() -> None:
    ids = [rule.id for rule in rules()]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", files(rankscope.probe.collectors))
def test_a_collector_is_named_after_its_file(name: str) -> None:
    """It says what it touches and how long it may take."""
    module = importlib.import_module(f"rankscope.probe.collectors.{name}")
    collector = module.COLLECTOR
    assert isinstance(collector, Collector)
    assert collector.kind == dashes(name)
    assert 0 < collector.deadline_s <= 30
    assert module.__doc__


def test_collectors_come_in_a_fixed_order() -> None:
    """What the kernel says comes before anything that reads memory."""
    order = [collector.kind for collector in collectors()]
    assert order.index("threads") < order.index("python-stacks")
    assert len(order) == len(set(order))


@pytest.mark.parametrize("name", files(rankscope.probe.launchers))
def test_a_launcher_is_named_after_its_file(name: str) -> None:
    module = importlib.import_module(f"rankscope.probe.launchers.{name}")
    assert isinstance(module.LAUNCHER, Launcher)
    assert module.LAUNCHER.name == dashes(name)
    assert module.__doc__


def test_the_plainest_launcher_is_asked_last() -> None:
    """Any Python parent with Python children looks like a job; the others know better."""
    assert [launcher.name for launcher in launchers()][-1] == "plain"


@pytest.mark.parametrize("name", sorted(kinds()))
def test_a_kind_of_evidence_is_a_frozen_record_with_a_sentence(name: str) -> None:
    record = kinds()[name]
    assert record.__dataclass_params__.frozen
    assert name == record.KIND
    assert record.__doc__


@pytest.mark.parametrize("name", sorted(NAMES))
def test_an_engine_can_be_made_by_its_name(name: str) -> None:
    module = importlib.import_module(f"rankscope.probe.engines.{NAMES[name]}")
    assert name == module.NAME
    assert callable(module.make)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_examples_and_a_page(name: str) -> None:
    """Help fits 80 columns and ends with examples; the page shows a real run."""
    context = click.Context(cli, info_name="rankscope")
    command = cli.get_command(context, name)
    assert command is not None
    text = command.get_help(
        click.Context(command, info_name=name, parent=context, terminal_width=80, max_content_width=80)
    )
    assert max(map(len, text.splitlines())) <= 80
    examples = text.partition("Examples:")[2].strip().splitlines()
    assert 2 <= len(examples) <= 8
    assert all(line.strip().startswith("$ ") for line in examples)
    page = (REPO / "docs" / "commands" / f"{name}.md").read_text()
    assert "## A real run" in page
    assert f"$ rankscope {name}" in page


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_has_a_page(name: str) -> None:
    """Its sentence, and every rule that recognises it."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    made = pages.class_text(name, [pages.page(rule.id, rule.page, rule.cls) for rule in rules()])
    assert CLASSES[name] in made
    assert CLASSES[name].endswith(".")


def test_nothing_speaks_of_where_it_was_made() -> None:
    """The project speaks of itself alone."""
    words = re.compile(r"/work/|/home/\w|/root/|/tmp/briefs|\bissue #?\d+\b", re.IGNORECASE)
    rooms = ("src", "docs", "changelog.d", "tools")
    suspects = [
        f"{path.relative_to(REPO)}:{number}"
        for path in [*REPO.glob("*"), *(one for room in rooms for one in (REPO / room).rglob("*"))]
        if (path.suffix in (".py", ".md", ".txt", ".toml") or path.name == "Makefile") and path.is_file()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if words.search(line)
    ]
    assert not suspects
