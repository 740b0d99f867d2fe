"""rankscope explain: what a rule, a class or a topic means, how it is recognised, and what to do."""

from __future__ import annotations

import difflib

import click

from ..errors import RankscopeError
from . import _exit


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
    from ..model.classes import CLASSES
    from ..report import pages
    from ..rules import rules

    ruled = [pages.page(rule.id, rule.page, rule.cls) for rule in rules()]
    known = {one.name: one for one in (*ruled, *pages.topics())}
    if name is None:
        click.echo(pages.overview(ruled, pages.topics()), nl=False)
    elif name in CLASSES:
        own = [known[name]] if name in known and known[name].cls != name else []
        click.echo(pages.class_text(name, [*ruled, *own]), nl=False)
    elif name in known:
        click.echo(pages.text(known[name]), nl=False)
    else:
        near = difflib.get_close_matches(name, [*known, *CLASSES], 3, 0.4)
        raise RankscopeError(
            f"there is no page {name[:60]!r}", "it is neither a rule, nor a class, nor a topic",
            f"rankscope explain {near[0]}" if near else "rankscope explain   # lists all pages",
        )  # fmt: skip
    raise click.exceptions.Exit(_exit.NOTHING_FOUND)
