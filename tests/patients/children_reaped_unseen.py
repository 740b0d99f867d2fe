"""A parent ignores SIGCHLD, and asks again and again whether children have ended, as they have; another one awaits its word."""

import multiprocessing
import signal
import threading
import time

from _common import await_still, start

TRUTH = {"class": "child-dead", "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def render(zone):
    time.sleep(0.02 * zone)


def merge(begin):
    begin.wait()


def report(crew, merger, renderers):
    while any(map(lives, renderers)):
        time.sleep(0.05)
    await_still([merger.pid])
    crew.ready(pids=[merger.pid])


def lives(child):
    try:
        with open(f"/proc/{child.pid}/stat"):
            return True
    except OSError:
        return False


def train(rank, world, crew):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    context = multiprocessing.get_context("fork")
    begin = context.Event()
    merger = context.Process(target=merge, args=(begin,))
    renderers = [context.Process(target=render, args=(zone,)) for zone in range(1, 4)]
    for child in (merger, *renderers):
        child.start()
    threading.Thread(target=report, args=(crew, merger, renderers), daemon=True).start()
    while any(child.is_alive() for child in renderers):
        time.sleep(0.3)
    begin.set()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
