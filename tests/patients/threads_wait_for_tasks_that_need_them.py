"""All threads of an event loop's executor wait for coroutines, each of which needs a thread of it."""

import asyncio
import concurrent.futures
import os
import threading

from _common import await_still, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def size(link):
    return len(link)


async def resolve(link):
    return await asyncio.to_thread(size, link)


def parse(page, loop, meet):
    meet.wait()
    return asyncio.run_coroutine_threadsafe(resolve(page), loop).result()


def report(crew, pool):
    await_still([os.getpid(), *(one.native_id for one in pool._threads)])
    crew.ready()


async def crawl(crew):
    loop, meet = asyncio.get_running_loop(), threading.Barrier(3)
    pool = concurrent.futures.ThreadPoolExecutor(3)
    loop.set_default_executor(pool)
    pages = [asyncio.to_thread(parse, f"page{number}", loop, meet) for number in range(3)]
    threading.Thread(target=report, args=(crew, pool), daemon=True).start()
    await asyncio.gather(*pages)


def train(rank, world, crew):
    asyncio.run(crawl(crew))


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
