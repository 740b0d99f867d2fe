"""A child that waited for an item was terminated, with the lock for reading; those in its place wait for that lock."""

import multiprocessing
import queue
import threading

from _common import await_still, start

TRUTH = {"class": "child-dead", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def check(links, results):
    while True:
        results.put(links.get())


def report(crew, workers):
    await_still([worker.pid for worker in workers])
    crew.truth["pids"] = [worker.pid for worker in workers]
    crew.ready()


def launch(context, links, results):
    worker = context.Process(target=check, args=(links, results), daemon=True)
    worker.start()
    return worker


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    links, results = context.Queue(), context.Queue()
    first = launch(context, links, results)
    await_still([first.pid])
    first.terminate()
    first.join()
    workers = [launch(context, links, results) for _ in range(3)]
    for number in range(11):
        links.put(number)
    threading.Thread(target=report, args=(crew, workers), daemon=True).start()
    done = 0
    while done < 11:
        try:
            results.get(timeout=0.7)
            done += 1
        except queue.Empty:
            continue


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
