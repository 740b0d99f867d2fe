"""Rank 1 waits for a flock whose taker has ended; a program that the taker started inherited the open file and keeps the lock."""

import fcntl
import os
import subprocess
import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "file-lock-stale", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def take(crew):
    """Lock the file in a process that starts another one and ends."""
    if os.fork() == 0:
        index = os.open(crew.place / "index.bin", os.O_RDWR | os.O_CREAT)
        fcntl.flock(index, fcntl.LOCK_EX)
        env = {name: value for name, value in os.environ.items() if not name.endswith(("RANK", "WORLD_SIZE"))}
        keeper = subprocess.Popen(["setsid", "sleep", "1009"], env=env, pass_fds=[index])
        (crew.place / "keeper").write_text(str(keeper.pid))
        os._exit(0)
    os.wait()
    return int((crew.place / "keeper").read_text())


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        keeper = take(crew)
        wait_until(lambda: os.readlink(f"/proc/{keeper}/exe").endswith("sleep"))
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        with open(crew.place / "index.bin") as index:
            fcntl.flock(index, fcntl.LOCK_EX)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
