"""A server has two connections to its data base; each of two calls has taken one and waits for a second one."""

import asyncio
import multiprocessing
import os
import socket
import threading

from _common import await_still, start, wait_until

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


async def query(connection, text):
    await asyncio.sleep(0.1)
    return len(text) + connection


async def rows(free, user):
    events = await free.get()
    try:
        count = await query(events, "select * from events")
        users = await free.get()
        try:
            return count + await query(users, user)
        finally:
            free.put_nowait(users)
    finally:
        free.put_nowait(events)


async def serve(listener):
    free = asyncio.Queue()
    for connection in range(2):
        free.put_nowait(connection)

    async def answer(reader, writer):
        user = await reader.readline()
        writer.write(b"%d\n" % await rows(free, user.decode()))
        writer.close()

    server = await asyncio.start_server(answer, sock=listener)
    async with server:
        await server.serve_forever()


def run(listener):
    asyncio.run(serve(listener))


def fetch(address, user, into):
    with socket.create_connection(address) as link:
        link.sendall(b"%s\n" % user)
        into.append(link.recv(100))


def report(crew, server):
    await_still([os.getpid(), server])
    crew.ready(pids=[server])


def train(rank, world, crew):
    listener = socket.create_server(("127.0.0.1", 0))
    address = listener.getsockname()
    server = multiprocessing.get_context("spawn").Process(target=run, args=(listener,), daemon=True)
    server.start()
    wait_until(server.is_alive)
    for step in range(1_009):
        answers, users = [], [b"me", b"you"][: 1 + step // 5]
        asking = [threading.Thread(target=fetch, args=(address, user, answers), daemon=True) for user in users]
        for thread in asking:
            thread.start()
        if step == 5:
            threading.Thread(target=report, args=(crew, server.pid), daemon=True).start()
        for thread in asking:
            thread.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
