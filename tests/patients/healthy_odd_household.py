"""Healthy, but looks like much that is not: lock contention, a zombie, a pool, a passing flock, an idle child, a full pipe."""

import fcntl
import multiprocessing
import os
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell", "alone", "forked", "spawned")

gates = (threading.Lock(), threading.Lock())


def turn():
    while True:
        with gates[0], gates[1]:
            time.sleep(0.03)


def square(number):
    time.sleep(0.05)
    return number * number


def map_for_ever(pool):
    while True:
        pool.map(square, range(7))


def idle(orders):
    orders.recv()


def drip(reader):
    while os.read(reader, 1009):
        time.sleep(0.05)


def pour(writer):
    while True:
        os.write(writer, b"\0" * 4099)


def household(crew):
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    context.Process(target=idle, args=(theirs,), daemon=True).start()
    context.Process(target=time.time).start()
    pool = context.Pool(2)
    reader, writer = os.pipe()
    works = ((turn,), (turn,), (map_for_ever, pool), (drip, reader), (pour, writer))
    for work, *args in works:
        threading.Thread(target=work, args=args, daemon=True).start()
    return ours


def train(rank, world, crew):
    kept = household(crew)
    ring = Ring(rank, world)
    with open(crew.place / "index.bin", "a") as index:
        for step in range(1_000_000):
            fcntl.flock(index, fcntl.LOCK_EX)
            time.sleep(0.02)
            fcntl.flock(index, fcntl.LOCK_UN)
            ring.add(step)
            if rank == 0 and step == 11:
                crew.ready()
    kept.close()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
