"""The far end: runs on a node as one file, looks at the jobs there, writes what it saw to its standard output, and ends.

Nothing is written to the node; an alarm ends the agent even when nobody listens any more.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Iterator
from typing import Callable, NoReturn

from ..model import wire
from ..model.evidence.source import Excerpt, Place, SourceLines
from ..model.gap import Gap, Why
from ..model.process import Process
from ..model.snapshot import Effort, Host, Job
from . import discover, host
from .discover import Found
from .errand import Errand
from .post import MARK, OUTPUT_LIMIT, PROTOCOL, Post, Send
from .sweep import Plan, run
from .table import Table, read_table

MEMORY_LIMIT = 4 << 30  # of address space: the agent may live inside the memory limit of the job it looks at
_MOST_PLACES = 200


def look(errand: Errand, send: Send) -> None:
    """Do the errand: find the jobs, sweep over all their processes, send everything as it comes."""
    began = time.monotonic()
    plan = errand.plan(time.time())
    here = host.describe(errand.proc)
    post = Post(send)
    post.begin(here.name, errand.installation)
    table = read_table(here.name, errand.proc)
    found = tuple(wanted(errand, table))
    if errand.slurm_job and not found:
        table = _with_epilogs(table)
    _introduce(post, here, table, found)
    post.flush()
    processes = tuple(process for one in found for process in one.processes)
    took = time.monotonic() - began
    plan = dataclasses.replace(plan, deadline_s=max(1.0, plan.deadline_s - took))
    for lines in _seen(errand, plan, processes, functools.partial(_idle, errand, post)) if processes else ():
        post.text(lines)
        if post.full:
            break
    writer = wire.Writer(post.text)
    if post.full:
        post.full = False
        writer.gap(Gap("sweep", Why.CUT, f"the answer of {here.name} grew beyond {OUTPUT_LIMIT >> 20} MiB"))
    writer.end(Effort(round(time.monotonic() - began, 3)))
    post.end()


def _seen(errand: Errand, plan: Plan, processes: tuple[Process, ...], idle: Callable[[], None]) -> Iterator[str]:
    """The lines of the look, or of the sources that were asked for instead."""
    return _sources(errand, processes, idle) if errand.source else run(plan, processes, idle)


def _idle(errand: Errand, post: Post) -> None:
    """While the sweeps pause: send what is there; end when the sender, or the connection to it, is gone, since its end of
    our standard input closes then."""
    post.flush()
    if errand.line and select.select([0], [], [], 0)[0] and not os.read(0, 1):
        _stop()


def _sources(errand: Errand, processes: tuple[Process, ...], idle: Callable[[], None]) -> Iterator[str]:
    """The lines around the places that the errand names in processes of this host, each as soon as it is read."""
    from . import source_lines  # seldom asked for

    lines: list[str] = []
    writer = wire.Writer(lines.append)
    writer.sweep(0, time.time())
    writer.present(tuple(process.ref for process in processes))
    places = {
        Place(process.ref, file, line)
        for process in processes for key, file, line in errand.source[:_MOST_PLACES] if key == process.ref.key
    }  # fmt: skip
    yield "".join(lines)
    lines.clear()
    for place, said in source_lines.each(tuple(places), errand.around, errand.proc, idle):
        excerpt = Excerpt(place.file, place.line, said.lines, said.missing, said.newer)
        writer.evidence(place.ref, SourceLines((excerpt,)))
        yield "".join(lines)
        lines.clear()


def wanted(errand: Errand, table: Table) -> tuple[Found, ...]:
    """The jobs on this node that the errand is about, with the processes that it is about."""
    found = _jobs(errand, table)
    if errand.refs is None:
        return found
    chosen = (tuple(one for one in each.processes if one.ref.key in (errand.refs or ())) for each in found)
    return tuple(dataclasses.replace(each, processes=some) for each, some in zip(found, chosen) if some)


def _jobs(errand: Errand, table: Table) -> tuple[Found, ...]:
    table = _without_us(table)
    if errand.pid is not None:
        one = discover.job_of(table, errand.pid)
        return (one,) if one else ()
    if errand.slurm_job:
        from . import slurm_job

        return slurm_job.jobs(table, errand.slurm_job, errand.proc)
    if errand.mpi_job:
        from . import mpi_job

        return mpi_job.jobs(table, errand.mpi_job)
    return discover.jobs(table)


def _with_epilogs(table: Table) -> Table:
    """The table with what keeps a Slurm job that has no process here any more."""
    from . import slurm_job

    return dataclasses.replace(table, gaps=(*table.gaps, *slurm_job.epilogs(table)))


def _without_us(table: Table) -> Table:
    """The table without this process and its children: inside a Slurm job we look like one of its tasks."""
    ours = {os.getpid(), *(seen.pid for seen in table.below(os.getpid()))}
    return dataclasses.replace(table, seen={pid: seen for pid, seen in table.seen.items() if pid not in ours})


def _introduce(post: Post, here: Host, table: Table, found: tuple[Found, ...]) -> None:
    """One header for each job, its processes and gaps behind it; a host without a job says so."""
    writer = wire.Writer(post.text)
    for one in discover.with_gaps(table, found or (Found(Job("none"), ()),)):
        writer.header("rankscope-agent", one.job, (here,))
        for process in one.processes:
            writer.process(process)
        for gap in one.gaps:
            writer.gap(gap)
    for gap in discover.closed(table) if not found else ():
        writer.gap(gap)


def bound(alarm_s: int) -> None:
    """Limits that hold whatever happens: time, memory, no core file, no trace on disk, a low claim on the job's CPU."""
    # What is looked up here is forgotten with us; a home on a dead server would hold us up besides.
    os.environ["XDG_CACHE_HOME"] = os.devnull
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(max(1, alarm_s))
    for which, limit in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, MEMORY_LIMIT)):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (limit, resource.getrlimit(which)[1]))
    with contextlib.suppress(OSError):
        os.nice(5)


def _stop(*_: object) -> NoReturn:
    """Time is up: end with everybody we started."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    if os.getpgid(0) == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(124)


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def main(text: str | None = None) -> None:
    """Do the errand given as JSON: by our loader, as the first argument, or on standard input."""
    try:
        errand = Errand.parse(text or (sys.argv[1] if len(sys.argv) > 1 else sys.stdin.readline(1 << 20)))
    except (ValueError, TypeError) as error:
        sys.exit(f"{MARK}: not an errand: {error}")
    bound(errand.alarm_s)
    if errand.py_spy:
        from .engines import pyspy

        pyspy.brought = errand.py_spy
    try:
        look(errand, _write)
    except BrokenPipeError:
        os._exit(0)  # nobody listens any more; nothing is left to say
    except Exception as error:
        _write(f"\n{MARK} {PROTOCOL} failed {json.dumps(f'{type(error).__name__}: {error}'[:300])}\n".encode())
        sys.exit(1)


if __name__ == "__main__":
    main()
