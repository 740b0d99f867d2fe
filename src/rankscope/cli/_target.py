"""TARGET: what to look at: nothing (this host), ``pid:N``, hosts (``ssh:node[1-8]``, ``slurm:JOBID`` …), a file or folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import RankscopeError

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE_S = 20.0  # of a look at it, where --deadline is not given
_LONGEST = 10  # digits of a pid, and more


@dataclass(frozen=True)
class Target:
    """A process of this host, saved evidence, a job on other hosts (transport and what follows its colon), or this host."""

    pid: int | None = None
    file: Path | None = None
    remote: tuple[str, str] | None = None


def parse(text: str | None) -> Target:
    """Read a TARGET; raise RankscopeError with what would be right."""
    if text is None:
        return Target()
    kind, colon, rest = text.partition(":")
    if colon and kind == "pid":
        return Target(pid=_pid(rest))
    if colon and kind.isidentifier():
        from ..reach.transport import transports

        if (kind, rest) == ("ssh", "") and os.environ.get("WCOLL"):  # as pdsh has it
            return Target(remote=("hostfile", os.environ["WCOLL"]))
        if kind in transports():
            return Target(remote=(kind, rest))
    if text.isdecimal():
        return Target(pid=_pid(text))
    if os.path.exists(text):
        from pathlib import Path

        return Target(file=Path(text))
    raise _no_target(text)


def _no_target(text: str) -> RankscopeError:
    from ..reach.transport import transports

    hosts = ", ".join(one.example for one in transports().values())
    return RankscopeError(
        f"I do not understand the target {text!r}",
        f"it is neither pid:N, {hosts} nor an existing file or directory",
        "rankscope diagnose   # this host; others: rankscope diagnose 'ssh:node[1-8]'",
    )  # fmt: skip


def _pid(text: str) -> int:
    if not text.isdecimal() or len(text) > _LONGEST or not os.path.isdir(f"/proc/{int(text)}"):
        raise RankscopeError(
            f"there is no process {text[:20]!r} on this host",
            "/proc has no such entry" if text.isdecimal() else "a pid is a number",
            "rankscope diagnose   # finds the jobs by itself",
        )  # fmt: skip
    return _process_of(int(text))


def _process_of(task: int) -> int:
    """The process of a thread: /proc has a folder for every thread's id, though it lists none of them (proc(5))."""
    try:
        with open(f"/proc/{task}/status") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("Tgid:")), task)
    except (OSError, ValueError):
        return task
