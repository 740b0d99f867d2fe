"""Rank 0 waits for a condition whose only notification came before it waited."""

import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [0], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def load(news):
    with news:
        news.notify_all()
    threading.Event().wait()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        news = threading.Condition()
        loader = threading.Thread(target=load, args=(news,), daemon=True)
        loader.start()
        await_still([loader.native_id])
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        with news:
            news.wait()
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
