"""rankscope completion: let a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from . import _exit


@click.command(
    "completion",
    epilog="""\b
Examples:
  $ eval "$(rankscope completion bash)"              in ~/.bashrc
  $ rankscope completion zsh > ~/.zfunc/_rankscope
  $ rankscope completion fish | source""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what SHELL needs to complete our commands and options."""
    from ._group import cli

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(cli, {}, "rankscope", "_RANKSCOPE_COMPLETE").source())
    raise click.exceptions.Exit(_exit.NOTHING_FOUND)
