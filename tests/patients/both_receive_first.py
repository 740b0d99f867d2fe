"""Two children of one parent each have an end of one `multiprocessing.Pipe`, which all three keep whole, and both read first."""

import multiprocessing

from _common import await_still, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("alone",)


def talk(number, ends, crew):
    crew.rank = number
    crew.arrive()
    ends[number].send(ends[number].recv())


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    ends = context.Pipe()
    parts = [context.Process(target=talk, args=(number, ends, crew)) for number in range(2)]
    for part in parts:
        part.start()
    await_still(crew.await_word("there", range(2)))
    crew.truth["pids"] = [part.pid for part in parts]
    crew.ready()
    for part in parts:
        part.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
