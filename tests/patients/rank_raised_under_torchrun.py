"""Rank 1 raised, wrote its error file and is gone; the agent waits for the others, which save what they have and do not end."""

import os
import signal
import sys
import time

from _common import start, wait_until

TRUTH = {"class": "dead-rank", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch",)


def load(number):
    if number == 3:
        raise ValueError(f"bad record {number}")


def flush(crew, gone):
    wait_until(lambda: not os.path.exists(f"/proc/{gone}"))
    if crew.rank == 0:
        crew.await_word("there", [2])
        crew.ready()
    time.sleep(10_007)


def train(rank, world, crew):
    from torch.distributed.elastic.multiprocessing.errors import record

    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    crew.arrive()
    crew.await_word("there", range(world))
    if rank == 1:
        os.environ["TORCHELASTIC_ERROR_FILE"] = os.environ.get("TORCHELASTIC_ERROR_FILE") or sys.exit("no error file")
        record(load)(3)
    flush(crew, crew.pid_of(1))


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
