"""rankscope explain: what a rule, a class or a topic means, how it is recognised, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from ..errors import RankscopeError
from ..model.classes import CLASSES
from . import _exit

if TYPE_CHECKING:
    from ..report.pages import Page


@click.command(
    "explain",
    epilog="""\b
Examples:
  $ rankscope explain                     everything there is, one line each
  $ rankscope explain dead-rank           a class, with all its rules
  $ rankscope explain process-stopped     a rule
  $ rankscope explain ptrace              who may look into a process""",
)
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Show the page of a rule, of a class of causes, or of a topic.

    Without NAME, the list of all pages. Exit code: 0 shown, 2 there is no such page.
    """
    from ..report import pages
    from ..rules import rules

    ruled = [pages.page(rule.id, rule.page, rule.cls) for rule in rules()]
    known = {one.name: one for one in (*ruled, *pages.topics())}
    name = name.strip().lower().replace("_", "-").replace(" ", "-") if name is not None else None
    if name is None:
        click.echo(pages.overview(ruled, pages.topics()), nl=False)
    elif name in CLASSES:
        own = [known[name]] if name in known and known[name].cls != name else []
        click.echo(pages.class_text(name, [*ruled, *own]), nl=False)
    elif name in known:
        click.echo(pages.text(known[name]), nl=False)
    else:
        raise RankscopeError(
            f"there is no page {name[:60]!r}", "it is neither a rule, nor a class, nor a topic", _nearest(name, known)
        )
    raise click.exceptions.Exit(_exit.NOTHING_FOUND)


def _nearest(name: str, known: Mapping[str, Page]) -> str:
    """The command for a name that is spelt alike, else for the pages that have the word, the one that has it most first."""
    if near := difflib.get_close_matches(name, [*known, *CLASSES], 1, 0.7):
        return f"rankscope explain {near[0]}"
    texts = {one.name: f"{one.title} {one.body}".lower() for one in known.values()}
    texts |= {cls: f"{told} {texts.get(cls, '')}".lower() for cls, told in CLASSES.items()}
    speak = [one for one in texts if name in one or name in texts[one]]
    speak.sort(key=lambda one: (name not in one, -texts[one].count(name)))
    if not speak:
        return "rankscope explain   # lists all pages"
    others = f"   # so do {', '.join(speak[1:4])}{' …' if len(speak) > 4 else ''}" if len(speak) > 1 else ""
    return f"rankscope explain {speak[0]}{others}"
