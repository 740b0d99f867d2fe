"""A task awaits the end of a command before it reads its output: the stream is full, so the pipe is, so the command waits."""

import asyncio
import os
import sys
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

LISTING = "for number in range(50021): print(f'shard-{number:07d}.tar', number * 1009)"


async def list_shards(crew):
    command = await asyncio.create_subprocess_exec(sys.executable, "-c", LISTING, stdout=asyncio.subprocess.PIPE)
    threading.Thread(target=report, args=(crew, command.pid), daemon=True).start()
    await command.wait()
    return (await command.stdout.read()).split()


def report(crew, command):
    crew.await_others()
    await_still([os.getpid(), command])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        ring.add(len(asyncio.run(list_shards(crew))))
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
