"""All ranks stand in one all_reduce without a recorder: the library of rank 2 is not woken for what arrives there any more."""

import contextlib
import os
import select
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "stuck-below-program", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell", "torchrun")
NEEDS = ("torch",)


def deafen():
    """Take every connection off the lists of those for which a loop of this process is woken."""
    links = {}
    for fd in map(int, os.listdir("/proc/self/fd")):
        with contextlib.suppress(OSError):
            links[fd] = os.readlink(f"/proc/self/fd/{fd}")
    for queue in (fd for fd, link in links.items() if link == "anon_inode:[eventpoll]"):
        for fd in (fd for fd, link in links.items() if link.startswith("socket:")):
            with contextlib.suppress(OSError):
                select.epoll.fromfd(os.dup(queue)).unregister(fd)


def report(crew):
    await_still(crew.await_word("there", range(crew.world)))
    crew.ready()


def train(rank, world, crew):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "0"
    dist = join_group(rank, world)
    import torch

    total = torch.ones(1009)
    for step in range(7):
        if step == 5:
            crew.arrive()
            dist.barrier()
            if rank == 2:
                deafen()
                threading.Thread(target=report, args=(crew,), daemon=True).start()
        dist.all_reduce(total)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
