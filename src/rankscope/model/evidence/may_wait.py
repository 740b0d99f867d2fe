"""What a thread may wait on where its system call is not ours to see: what its wait channel leaves possible."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence

TERMINALS = ("/dev/pts/", "/dev/tty")  # how the paths of terminals begin


@dataclass(frozen=True)
class OpenWait:
    """One thread that sleeps in a read, write or poll: ``fds`` are all descriptors of its process that fit.

    ``writes`` says that it waits for room; ``many`` that it waits on all of them at once (epoll), else on some of them.
    """

    tid: int
    fds: tuple[int, ...]
    writes: bool = False
    many: bool = False


@evidence("may-wait")
@dataclass(frozen=True)
class MayWait:
    """The threads of one process that sleep on some pipe, connection or terminal, without a right to see on which.

    ``semaphores`` is how many POSIX semaphores it maps, as multiprocessing's locks are: others may hold and post them.
    """

    waits: tuple[OpenWait, ...]
    semaphores: int = 0
