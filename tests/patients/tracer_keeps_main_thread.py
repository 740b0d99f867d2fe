"""A collector of the program itself has attached to a child's main thread and does not let go; its other thread rests."""

import ctypes
import multiprocessing
import os
import threading

from _common import await_still, start

TRUTH = {"class": "process-stopped", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)
ATTACH, ALL = 16, 0x40000000  # PTRACE_ATTACH of ptrace(2), __WALL of waitpid(2)


def evaluate(items, results):
    while True:
        results.put(items.get() + 1)


def collect(requests):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    while True:
        pid = requests.recv()
        libc.ptrace(ATTACH, pid, None, None)
        os.waitpid(pid, ALL)
        requests.send(pid)


def report(crew, child):
    await_still([os.getpid()])
    await_still([child.pid], states="t")
    crew.ready(pids=[child.pid])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    items, results, (mine, theirs) = context.Queue(), context.Queue(), context.Pipe()
    child = context.Process(target=evaluate, args=(items, results))
    collector = context.Process(target=collect, args=(theirs,), daemon=True)
    child.start()
    collector.start()
    for number in range(7):
        items.put(number)
        results.get()
    mine.send(child.pid)
    mine.recv()
    threading.Thread(target=report, args=(crew, child), daemon=True).start()
    items.put(7)
    results.get()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
