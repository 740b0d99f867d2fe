"""Healthy: a child looks now and then for work, another makes some once an hour; three wait for it at one queue."""

import multiprocessing
import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def deliver(inbox):
    while True:
        inbox.value += 1
        time.sleep(3607)


def watch(inbox, jobs):
    seen = 0
    while True:
        if inbox.value > seen:
            seen = inbox.value
            jobs.put(seen)
        time.sleep(0.3)


def load(jobs, done):
    while True:
        done.put(jobs.get())


def report(crew, loaders):
    await_still([one.pid for one in loaders])
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    jobs, done, inbox = context.Queue(), context.Queue(), context.Value("i", 0)
    family = [context.Process(target=deliver, args=(inbox,)), context.Process(target=watch, args=(inbox, jobs))]
    loaders = [context.Process(target=load, args=(jobs, done)) for _ in range(3)]
    for one in (*family, *loaders):
        one.start()
    done.get()
    threading.Thread(target=report, args=(crew, loaders), daemon=True).start()
    done.get(timeout=3593)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
