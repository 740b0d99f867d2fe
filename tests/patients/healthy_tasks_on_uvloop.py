"""Healthy: rank 1 answers the others from tasks of a uvloop, which acquire locks outright and wait for requests in between."""

import asyncio
import os
import socket
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "idle"]}
LAUNCHERS = ("shell",)
NEEDS = ("uvloop",)


async def serve(listener, lock):
    async def answer(reader, writer):
        while line := await reader.readline():
            await lock.acquire()
            try:
                await asyncio.sleep(0.05)
                writer.write(line)
                await writer.drain()
            finally:
                lock.release()

    async with await asyncio.start_server(answer, sock=listener) as server:
        await server.serve_forever()


def train(rank, world, crew):
    address = "\0" + f"uvloop-{os.environ['MASTER_PORT']}"
    if rank == 1:
        import uvloop

        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        uvloop.run(serve(listener, asyncio.Lock()))
    asked = socket.socket(socket.AF_UNIX)
    while True:
        try:
            asked.connect(address)
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
    for step in range(1_000_003):
        asked.sendall(b"%d\n" % step)
        asked.recv(64)
        if step == 3 and rank == 0:
            crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
