"""A hung job to be looked at: a launcher, ranks that it starts, and loader workers that each rank forks.

    python benchmarks/stacks_job.py RANKS WORKERS [torch]

Prints the pids of all its processes on one line when everybody stands still, and ends when its standard input closes.
"""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import threading

DEPTH = 7
HELPERS = 2


class Hung:
    """What the library below us calls in the end, and never comes back from."""

    def __deepcopy__(self, memo: object) -> None:
        threading.Event().wait()


def wait_for_ever(depth: int) -> None:
    """Stand still as a rank in a collective does: a few frames of our own, many of a library, a wait in C."""
    epoch, steps, rate = 3, depth * 100, 1e-4
    step(epoch, steps, rate, depth)


def step(epoch: int, number: int, rate: float, depth: int) -> None:
    """One training step that does not end."""
    batch: object = Hung()
    for _ in range(depth):
        batch = [batch]
    copy.deepcopy(batch)
    print(epoch, number, rate)


def helpers() -> None:
    """Threads that a rank or worker has besides its main one: queues, pins, watchdogs."""
    for number in range(HELPERS):
        threading.Thread(target=wait_for_ever, args=(5,), name=f"helper-{number}", daemon=True).start()


def worker() -> None:
    """One loader worker: forked, so it shares its rank's memory."""
    helpers()
    wait_for_ever(DEPTH // 2)


def rank(workers: int, heavy: bool) -> None:
    """One rank; says its own pid and those of its workers."""
    if heavy:
        import torch

        torch.zeros(1)
    pids = [os.getpid()]
    for _ in range(workers):
        pid = os.fork()
        if not pid:
            worker()
        pids.append(pid)
    helpers()
    print(*pids, flush=True)
    wait_for_ever(DEPTH)


def launcher(ranks: int, workers: int, heavy: bool) -> None:
    """Start the ranks, gather their pids, and end them all when nobody needs us any more."""
    command = [sys.executable, __file__, "rank", str(workers), *(["torch"] if heavy else [])]
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) for _ in range(ranks)
    ]
    pids = [os.getpid()]
    for child in children:
        assert child.stdout is not None
        pids += map(int, child.stdout.readline().split())
    print(*pids, flush=True)
    sys.stdin.read()
    for child in children:
        os.killpg(child.pid, signal.SIGKILL)


if __name__ == "__main__":
    torch_too = sys.argv[-1] == "torch"
    if sys.argv[1] == "rank":
        rank(int(sys.argv[2]), torch_too)
    else:
        launcher(int(sys.argv[1]), int(sys.argv[2]), torch_too)
