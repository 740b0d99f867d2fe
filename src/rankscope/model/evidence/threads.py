"""What the kernel says of a process and each of its threads (proc(5)); readable without stopping anybody."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class KernelThread:
    """One thread as the kernel sees it.

    ``state`` is the letter of proc(5): R running, S sleeping, D uninterruptible, T stopped, t traced, Z zombie.
    ``still_s`` is the time since it last ran, in seconds; None where the kernel does not tell.
    ``syscall`` holds the number and its arguments, or is empty; ``kernel_stack`` is outermost last, as the kernel prints it.
    """

    tid: int
    comm: str
    state: str
    wchan: str = ""
    syscall: tuple[int, ...] = ()
    kernel_stack: tuple[str, ...] = ()
    cpu_s: float = 0.0
    voluntary: int = -1  # context switches; -1 where unreadable
    involuntary: int = -1
    still_s: float | None = None
    ran_s: float = -1.0  # of a thread that wants the CPU: how long it had one since it started, to the nanosecond
    delayed_s: float = -1.0  # and for how long it was kept waiting for one


@evidence("threads")
@dataclass(frozen=True)
class Threads:
    """A process and its threads at one moment. The main thread is the one whose tid equals the pid."""

    threads: tuple[KernelThread, ...]
    tracer: int = 0  # pid of the tracer, 0 for none
    frozen: bool = False  # its cgroup is frozen
    ns_pid: int | None = None  # its pid inside its own pid namespace, when that differs
    uptime_s: float | None = None  # since the process started
    rss_bytes: int | None = None
    read_bytes: int = -1  # by read calls of any kind, since it started; -1 where we may not know
    written_bytes: int = -1
    read_calls: int = -1  # how often it asked for bytes by such calls, whether or not any came
    exit_status: int | None = None  # of a zombie, as wait(2) gives it; 0 also stands for "we may not know"
    exact_ages: bool = False  # each ``still_s`` was told by the clock of the CPU on which the thread last ran
    forked: bool = False  # made by fork alone: it has run no other program since
    caught: tuple[int, ...] | None = None  # signals for which it has a handler of any kind; None where unreadable
    held_back: tuple[int, ...] = ()  # signals sent to it that its main thread blocks
    ignores_children: bool = False  # SIGCHLD is ignored: its children leave no status behind when they end (wait(2))
    reaped_faults: int = -1  # page faults of children that were waited for: more with each; -1 where not looked at
    below_cpu_s: float = -1.0  # CPU time of its descendants, dead or alive; -1 where not looked at
