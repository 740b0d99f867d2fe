"""Healthy: rank 1 is in one long call into native code, which lets other threads run; the others wait for it."""

import hashlib
import threading

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "slow", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)


def report(crew):
    crew.await_others()
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == world // 2:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        hashlib.pbkdf2_hmac("sha256", b"seed", b"salt", 2_000_000_011)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
