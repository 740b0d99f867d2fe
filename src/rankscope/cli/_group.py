"""The commands: one file of this folder each, loaded when it is asked for."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re

import click

from .. import __version__
from . import _exit

_OWN = {"main"}
_TARGET = re.compile(r"[a-z]\w{1,15}:")


class Commands(click.Group):
    """Loads a command's module only when it is asked for, so that ``--help`` and completion are quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from .. import cli

        names = (info.name for info in pkgutil.iter_modules(cli.__path__))
        return sorted(name.replace("_", "-") for name in names if name not in _OWN and not name.startswith("_"))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"rankscope.cli.{name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is named; a word that is none is refused with what was likely meant."""
        if meant := self._meant(ctx, args[0]):
            ctx.fail(f"No such command {args[0][:60]!r}. Did you mean this?\n  rankscope {meant}")
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: click.Context, word: str) -> str:
        """What a word that is no command likely stands for: one that is spelt alike, a target, evidence; empty if unknown."""
        known = self.list_commands(ctx)
        if word in known or word.startswith("-"):
            return ""
        import difflib
        import shlex  # what commands that are there need not pay for

        if near := difflib.get_close_matches(word, known, 1):
            return near[0]
        if os.path.exists(word):
            return f"analyze {shlex.quote(word)}"
        return f"diagnose {shlex.quote(word)}" if word.isdecimal() or _TARGET.match(word) else ""


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  $ rankscope diagnose                 every distributed Python job on this host
  $ rankscope diagnose pid:4587        the job that this process belongs to
  $ rankscope snapshot -o job.snap     keep the evidence; judge it anywhere
  $ rankscope analyze job.snap""",
)
@click.version_option(__version__, prog_name="rankscope")
def cli() -> None:
    """Find the rank that hangs, kills or slows a distributed Python job, and why."""


def run() -> int:
    """Do what the command line says; the exit code."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.Abort as abort:
        raise _exit.again(abort.__cause__) from None
    except click.ClickException as error:
        error.show()
        code = _exit.COULD_NOT
    return code if isinstance(code, int) else 0
