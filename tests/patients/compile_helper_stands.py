"""A helper process of torch's compile pool never finishes its task on rank 1, which waits for the result."""

import threading
import time

from _common import await_still, join_group, start, wait_until

TRUTH = {"class": "compile-worker", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch",)


def workers(pid):
    """The children of a process, once there are some."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def report(crew, pool):
    crew.await_others()
    wait_until(lambda: workers(pool.process.pid))
    await_still([*workers(pool.process.pid), threading.main_thread().native_id])
    crew.ready()


def compile_all(crew):
    from torch._inductor.compile_worker.subproc_pool import SubprocPool

    pool = SubprocPool(1)
    future = pool.submit(time.sleep, 100_000)
    threading.Thread(target=report, args=(crew, pool), daemon=True).start()
    return future.result()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    if rank == 1:
        compile_all(crew)
    crew.arrive()
    dist.all_reduce(torch.ones(3))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
