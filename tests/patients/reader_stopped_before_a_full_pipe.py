"""A parent watches, a child fills a queue, and the child that reads it was stopped by somebody: the feeder waits for room."""

import multiprocessing
import os
import signal
import threading
import time

from _common import await_still, start

TRUTH = {"class": "process-stopped", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def scan(files):
    for number in range(10**6):
        files.put((number, b"7" * 10007))


def pack(files):
    while True:
        files.get()


def report(crew, scanner, packer):
    await_still([packer.pid], "T")
    await_still([scanner.pid])
    crew.ready(pids=[packer.pid])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    files = context.Queue(11)
    scanner, packer = (context.Process(target=task, args=(files,)) for task in (scan, pack))
    scanner.start()
    packer.start()
    os.kill(packer.pid, signal.SIGSTOP)
    threading.Thread(target=report, args=(crew, scanner, packer), daemon=True).start()
    while scanner.is_alive():
        time.sleep(0.2)


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
