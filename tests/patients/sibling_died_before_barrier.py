"""Three children of one parent meet at a barrier of multiprocessing; the second has died, the first one is joined."""

import multiprocessing
import os
import threading

from _common import await_still, start, wait_until

TRUTH = {"class": "child-dead", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def simulate(number, gate, mains):
    mains[number] = os.getpid()
    gate.wait()
    if number == 1:
        os._exit(3)
    gate.wait()


def zombie(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def report(crew, mains):
    wait_until(lambda: all(mains) and zombie(mains[1]))
    await_still([mains[0], mains[2], os.getpid()])
    crew.ready(pids=[mains[1]])


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    gate, mains = context.Barrier(3), context.Array("i", 3)
    children = [context.Process(target=simulate, args=(number, gate, mains)) for number in range(3)]
    for child in children:
        child.start()
    threading.Thread(target=report, args=(crew, mains), daemon=True).start()
    for child in children:
        child.join()


if __name__ == "__main__":
    start(train, TRUTH, world=1, launchers=LAUNCHERS)
