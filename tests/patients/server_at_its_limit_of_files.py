"""A server in a child keeps the connections of callers that are gone, and is at its limit; the next ones are not accepted."""

import asyncio
import multiprocessing
import resource

from _common import await_still, start

TRUTH = {"class": "resource-limit", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)

kept = []


async def answer(reader, writer):
    kept.append(writer)
    writer.write(await reader.readline())


async def serve(place):
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    resource.setrlimit(resource.RLIMIT_NOFILE, (41, 41))
    place.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def gateway(place):
    asyncio.run(serve(place))


async def ask(port, crew):
    for _ in range(1_000_003):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"seven\n")
        asking = asyncio.ensure_future(reader.readline())
        if not (await asyncio.wait([asking], timeout=2))[0]:
            crew.arrive()
        await asking
        writer.close()


def agent(port, crew, number):
    crew.rank = number
    asyncio.run(ask(port, crew))


def train(rank, world, crew):
    context = multiprocessing.get_context("spawn")
    place, told = context.Pipe(duplex=False)
    server = context.Process(target=gateway, args=(told,), daemon=True)
    server.start()
    port = place.recv()
    agents = [context.Process(target=agent, args=(port, crew, number), daemon=True) for number in range(2)]
    for one in agents:
        one.start()
    await_still(crew.await_word("there", range(2)))
    crew.ready(pids=[server.pid])
    for one in agents:
        one.join()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
