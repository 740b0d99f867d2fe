"""What threads may wait on whose system calls the kernel keeps from us: another user's, or where Yama restricts ptrace."""

from __future__ import annotations

from ..model.evidence.files import OpenFiles
from ..model.evidence.may_wait import TERMINALS, MayWait, OpenWait
from ..model.evidence.threads import KernelThread, Threads
from ..model.process import Process
from .case import Member

# Waiting on many descriptors at once is what servers and agents do all day; and of many that fit, none is meant.
MAX_FDS = 8


def hidden(member: Member) -> bool:
    """Whether a thread of it sleeps in a system call that we may not see."""
    tasks = (task for look in member.over_time(Threads) for task in look.threads)
    return any(task.state == "S" and task.wchan and not task.syscall for task in tasks)


def is_python(process: Process) -> bool:
    """Whether it runs a Python interpreter, as the name of its executable tells."""
    return (process.executable or "").rsplit("/", 1)[-1].startswith(("python", "pypy"))


def open_waits(member: Member) -> dict[int, OpenWait]:
    """What each thread may wait on, by its id; those that may wait on nothing, or on too much, are left out."""
    found = member.latest(MayWait)
    return {wait.tid: wait for wait in (found.waits if found else ()) if 0 < len(wait.fds) <= MAX_FDS}


def terminal(member: Member) -> str:
    """The terminal that its main thread may read from, empty where there is none."""
    files, wait = member.latest(OpenFiles), open_waits(member).get(member.ref.pid)
    names = {one.fd: one.target for one in files.files} if files else {}
    fds = wait.fds if wait is not None and not wait.writes else ()
    return next((names[fd] for fd in fds if names.get(fd, "").startswith(TERMINALS)), "")


def unsure(member: Member) -> bool:
    """Whether its main thread sleeps in a call that we may not see, and several descriptors fit."""
    wait = open_waits(member).get(member.ref.pid)
    return wait is not None and len(wait.fds) > 1


def writes(member: Member) -> bool:
    """Whether a thread of it waits for room in a pipe or connection."""
    return any(wait.writes for wait in open_waits(member).values())


def slept(member: Member, task: KernelThread | None) -> bool:
    """Whether a thread slept through all looks."""
    if task is None:
        return False
    tasks = [one for look in member.over_time(Threads) for one in look.threads if one.tid == task.tid]
    counts = {(one.voluntary, one.involuntary, one.cpu_s) for one in tasks}
    return len(tasks) > 1 and len(counts) == 1 and all(one.state == "S" for one in tasks)
