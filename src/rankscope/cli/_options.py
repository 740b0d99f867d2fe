"""Options that several commands share: each means the same everywhere because it is written once."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..model.ranks import RankSet
from ..probe.engine import StackOptions
from ..probe.engines import NAMES
from ..probe.sweep import Plan
from ..report.plain import clean
from ._target import DEADLINE_S, Target

if TYPE_CHECKING:
    from ..reach.gather import Remote

_LOOK_S = 8.0  # what the sweeps take besides the time between them
F = TypeVar("F", bound=Callable[..., Any])


class Ranks(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """A set of ranks such as 0-3,7."""

    name = "ranks"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> RankSet:
        if isinstance(value, RankSet):
            return value
        try:
            return RankSet.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Seconds(click.FloatRange):
    """A time within bounds: not NaN, which no comparison finds outside of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found: float = super().convert(value, param, ctx)
        if math.isnan(found):
            self.fail(f"{value!r} is no time.", param, ctx)
        return found


engine_option = click.option(
    "--engine", type=click.Choice(["auto", *NAMES]), default="auto", show_default=True,
    help="What reads the Python stacks.",
)  # fmt: skip


def _deadline(more: str = "") -> Callable[[F], F]:
    return click.option(
        "--deadline", type=Seconds(1, 3600), default=DEADLINE_S, show_default=True, metavar="SECONDS",
        help=f"Give up waiting after this long and report what has come.{more}",
    )  # fmt: skip


deadline_option = _deadline()


def looking(function: F) -> F:
    """How to look at a live job."""
    for option in reversed((
        click.option("--sweeps", type=click.IntRange(1, 20), default=2, show_default=True, help="How often to look."),
        click.option("--interval", type=Seconds(0.0, 600), default=1.0, show_default=True, metavar="SECONDS",
                     help="Time between two looks."),
        engine_option,
        click.option("--allow-pause", is_flag=True, help="Allow pausing a process briefly for a consistent stack."),
        _deadline(" Longer --sweeps and --interval win."),
    )):  # fmt: skip
        function = option(function)
    return function


def reaching(function: F) -> F:
    """How to get to other hosts."""
    for option in reversed((
        click.option("--ssh-options", default="", metavar="TEXT", envvar="PDSH_SSH_ARGS_APPEND",
                     help="Further options for ssh, such as '-l USER'."),
        click.option("--sudo", is_flag=True, help="Look as root on the nodes (sudo -n)."),
        click.option("--remote-python", default="", metavar="PATH", help="The Python 3.9+ to use on the nodes."),
        click.option("--env-setup", default="", metavar="COMMAND", help="Run this first there ('conda activate x')."),
        click.option("--fanout", type=click.IntRange(1, 1024), default=64, show_default=True, envvar="FANOUT",
                     help="Hosts at once."),
        click.option("--tree", is_flag=True, help="Connect through ClusterShell's gateways (topology.conf)."),
        click.option("--send-py-spy/--no-send-py-spy", default=True,
                     help="Send our py-spy where a node's Python needs it."),
    )):  # fmt: skip
        function = option(function)
    return function


def gathering(function: F) -> F:
    """What to do with other hosts besides getting to them."""
    for option in reversed((
        click.option("--raw-dir", type=click.Path(file_okay=False, path_type=Path), help="Keep what each node said."),
        click.option("--follow-hosts", is_flag=True, help="Also ask the hosts that the job itself names (ssh)."),
    )):  # fmt: skip
        function = option(function)
    return function


def reach(target: Target, given: dict[str, Any]) -> Remote | None:
    """The hosts to look at, None for this one."""
    found: Remote | None = where(target, given).get("remote")
    return found


def where(target: Target, given: dict[str, Any]) -> dict[str, Any]:
    """``remote`` (the hosts to look at) or ``follow``, as a look wants them; takes the options of ``reaching`` and
    ``gathering`` out of ``given``."""
    names = ("ssh_options", "sudo", "remote_python", "env_setup", "fanout", "raw_dir", "send_py_spy", "tree")
    chosen = {name: given.pop(name) for name in names if name in given}
    follow = given.pop("follow_hosts", False)
    if target.remote is None and not follow:
        return {}
    from ..reach.gather import Remote
    from ..reach.transport import Options

    options = Options(**chosen, follow=follow)
    return {"remote": Remote(*target.remote, options)} if target.remote is not None else {"follow": options}


def judging(function: F) -> F:
    """How to judge."""
    return click.option(
        "--stuck-after", type=Seconds(0.1, 86400), default=30.0, show_default=True, metavar="SECONDS",
        help="Stillness that counts as stuck.",
    )(function)  # fmt: skip


json_object_option = click.option("--json", "as_json", is_flag=True, help="One object of JSON.")
json_option = click.option("--json", "as_json", is_flag=True, help="JSON Lines, one object per job.")
color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Colour (default: when a terminal)."
)
ranks_option = click.option("--ranks", type=Ranks(), metavar="0-3,7", help="Only these ranks.")


def plan(sweeps: int, interval: float, engine: str, allow_pause: bool, deadline: float, **stack: bool) -> Plan:
    """The sweep plan that these options describe."""
    slept = (sweeps - 1) * interval
    # Sweeps that would hardly fit are meant: they get the time that they take.
    time_s = deadline if slept <= deadline / 2 else max(deadline, slept + _LOOK_S)
    return Plan(sweeps, interval, StackOptions(pause=allow_pause, **stack), engine, deadline_s=time_s)


def use_colour(choice: str) -> bool:
    """--color, then NO_COLOR, then FORCE_COLOR, then the terminal decide."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty()


def width() -> int:
    """The terminal's width, at most 100; 80 where there is no terminal."""
    try:
        return max(60, min(100, os.get_terminal_size(sys.stdout.fileno()).columns))
    except (OSError, ValueError):
        return 80


class Progress:
    """One line on standard error, only on a terminal, rewritten in place."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self._shown:
            sys.stderr.write(f"\r\x1b[Klooking at {clean(text, 200)} …")
            sys.stderr.flush()

    def done(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
