"""A supervisor blocks SIGTERM to wait for it, and its workers begin with that mask; it ends them by SIGTERM, and waits."""

import multiprocessing
import os
import queue
import signal
import threading

from _common import await_still, start

TRUTH = {"class": "exit-hang", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def serve(orders):
    while True:
        try:
            orders.get(timeout=0.7)
        except queue.Empty:
            continue


def report(crew, workers):
    await_still([os.getpid()])
    crew.ready(pids=[workers[0].pid])


def train(rank, world, crew):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    context = multiprocessing.get_context("fork")
    orders = context.Queue()
    workers = [context.Process(target=serve, args=(orders,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    os.kill(os.getpid(), signal.SIGTERM)
    signal.sigwait([signal.SIGTERM])
    threading.Thread(target=report, args=(crew, workers), daemon=True).start()
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
