"""Rank 1 is done and its program is over, but it joins a thread that never ends; the others have ended."""

import threading

from _common import await_still, start, wait_until
from _ring import Ring

TRUTH = {"class": "exit-hang", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def upload(orders):
    orders.wait()


def report(crew, others, main):
    wait_until(lambda: not any(alive(pid) for pid in others))
    await_still([main.native_id])
    crew.ready()


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def train(rank, world, crew):
    ring = Ring(rank, world)
    for number in range(7):
        ring.add(number)
    crew.arrive()
    if crew.sick:
        others = crew.await_word("there", [other for other in range(world) if other != rank])
        threading.Thread(target=upload, args=(threading.Event(),)).start()
        threading.Thread(target=report, args=(crew, others, threading.main_thread()), daemon=True).start()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
