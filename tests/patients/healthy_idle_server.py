"""Healthy: an idle asyncio server, whose background tasks sleep, wait for work, and hold locks for a while."""

import asyncio

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


async def sweep(lock, pause):
    while True:
        async with lock:
            await asyncio.sleep(pause)
        await asyncio.sleep(pause)


async def work(orders, lock):
    while True:
        order = await orders.get()
        async with lock:
            order.set_result(None)


async def answer(reader, writer):
    writer.write(await reader.readline())
    writer.close()


async def serve(crew):
    orders, lock, other = asyncio.Queue(), asyncio.Lock(), asyncio.Lock()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    tasks = [sweep(lock, 11), sweep(lock, 13), sweep(other, 17), work(orders, other)]
    kept = [asyncio.ensure_future(one) for one in tasks]
    asyncio.get_running_loop().call_later(1, crew.ready)
    async with server:
        await asyncio.gather(server.serve_forever(), *kept)


def train(rank, world, crew):
    asyncio.run(serve(crew))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
