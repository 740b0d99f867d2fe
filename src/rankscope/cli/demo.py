"""rankscope demo: start a job that hangs, and find out why."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from .. import demo
from ..errors import RankscopeError
from ..model.ranks import RankSet, ranks_phrase
from . import _exit, _options
from .diagnose import show

STUCK_AFTER_S = 2.0
PATIENCE_S = 120.0


@dataclass(frozen=True)
class Show:
    """A job, how to start it, and the verdict it must get."""

    script: str
    launcher: tuple[str, ...]
    cls: str
    ranks: tuple[int, ...]


_TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4")
SHOWS = {
    True: Show("train_torch.py", _TORCHRUN, "collective-missed-by-rank", (3,)),
    False: Show("train_plain.py", (), "rank-stuck-in-user-code", (3,)),
}


@click.command(
    "demo",
    short_help="Hang a small real job, and diagnose it.",
    epilog="""\b
Examples:
  $ rankscope demo             a real torchrun training (needs torch)
  $ rankscope demo --no-torch  the same idea with the standard library""",
)
@click.option("--torch/--no-torch", "torch", default=None, help="Use PyTorch (default: when it is installed).")
@_options.color_option
def command(torch: bool | None, color: str) -> None:
    """Start a small real job that hangs, diagnose it, and compare the verdict with the truth.

    Ends what it started, also on Ctrl-C. Exit code 0 when the verdict is the expected one.
    """
    from .. import pipeline

    chosen = SHOWS[_with_torch(torch)]
    with _running(chosen) as job:
        click.echo(f"$ rankscope diagnose pid:{job.pid} --stuck-after {STUCK_AFTER_S:g}\n", err=True)
        look = pipeline.Look(job.pid)
        told = [diagnosis for _, diagnosis in pipeline.diagnose(look, STUCK_AFTER_S)]
        for diagnosis in told:
            show(diagnosis, as_json=False, color=color, look=look)
    if not told:
        raise RankscopeError("the demo job was not found", "it ended before it was looked at", "rankscope demo")
    verdict = told[-1].verdict
    found = f"{verdict.cls} of {ranks_phrase(verdict.ranks)}" if verdict else "nothing"
    right = verdict is not None and verdict.cls == chosen.cls and tuple(verdict.ranks) == chosen.ranks
    wanted = f"{chosen.cls} of {ranks_phrase(RankSet(chosen.ranks))}"
    click.echo(f"expected {wanted}\nfound    {found}: {'right' if right else 'WRONG'}")
    raise click.exceptions.Exit(_exit.NOTHING_FOUND if right else _exit.FOUND)


def _with_torch(asked: bool | None) -> bool:
    there = importlib.util.find_spec("torch") is not None
    if asked and not there:
        raise RankscopeError(
            "the demo with PyTorch needs torch", "it is not installed here", "rankscope demo --no-torch"
        )
    return there if asked is None else asked


@contextlib.contextmanager
def _running(chosen: Show) -> Iterator[subprocess.Popen[bytes]]:
    """The job, hung; every process of its session is ended afterwards."""
    script = Path(demo.__file__).with_name(chosen.script)
    click.echo(f"starting 4 ranks of {chosen.script}; one of them will leave the common path …", err=True)
    job = subprocess.Popen(
        [sys.executable, *chosen.launcher, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL, start_new_session=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    try:
        _await_hang(job)
        yield job
    finally:
        _end(job)


def _await_hang(job: subprocess.Popen[bytes]) -> None:
    """Until all four ranks have said that they reached the step, and then as long as counts as stuck."""
    assert job.stdout is not None
    os.set_blocking(job.stdout.fileno(), False)
    said, end = b"", time.monotonic() + PATIENCE_S
    while said.count(b"reached step") < 4:
        if job.poll() is not None or time.monotonic() > end:
            raise RankscopeError("the demo job did not start", f"it printed: {said[-200:].decode(errors='replace')!r}")
        said += job.stdout.read() or b""
        time.sleep(0.05)
    time.sleep(STUCK_AFTER_S + 1.0)


def _end(job: subprocess.Popen[bytes]) -> None:
    """End the whole tree: torchrun puts each rank into a session of its own."""
    from ..probe.table import read_table

    table = read_table("")
    for pid in [*(seen.pid for seen in table.below(job.pid)), job.pid]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    job.wait()
