"""Healthy: a service without requests; its workers take from one queue, and one of them holds the lock for reading meanwhile."""

import asyncio
import multiprocessing
import threading

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def answer(requests, answers):
    while True:
        answers.put(requests.get() + 1)


async def serve(requests, answers, workers, crew):
    loop = asyncio.get_running_loop()
    for number in range(11):
        requests.put(number)
        await loop.run_in_executor(None, answers.get)
    threading.Thread(target=report, args=(workers, crew), daemon=True).start()
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        await server.serve_forever()


def report(workers, crew):
    await_still([one.pid for one in workers])
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    context = multiprocessing.get_context("fork")
    requests, answers = context.Queue(), context.Queue()
    workers = [context.Process(target=answer, args=(requests, answers), daemon=True) for _ in range(3)]
    for worker in workers:
        worker.start()
    asyncio.run(serve(requests, answers, workers, crew))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
