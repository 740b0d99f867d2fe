"""Threads read from one child each, of which one was killed; another one inherited the writing ends of all, and works on."""

import os
import signal
import threading
import time

from _common import await_still, start, wait_until

TRUTH = {"class": "child-dead", "ranks": [], "state": "stuck"}
LAUNCHERS = ("alone",)


def render(writer, frames):
    for frame in range(frames):
        os.write(writer, b"%d\n" % frame)
        time.sleep(0.07)


def collect(reader):
    with os.fdopen(reader, "rb") as frames:
        for frame in frames:
            float(frame)


def has_ended(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


def forked(writer, frames):
    pid = os.fork()
    if not pid:
        render(writer, frames)
        os._exit(0)
    return pid


def train(rank, world, crew):
    pipes = [os.pipe() for _ in range(2)]
    first = forked(pipes[0][1], 10**7)
    last = forked(pipes[1][1], 10**7)
    for _, writer in pipes:
        os.close(writer)
    threads = [threading.Thread(target=collect, args=(reader,)) for reader, _ in pipes]
    for thread in threads:
        thread.start()
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: has_ended(first))
    threading.Thread(target=report, args=(crew, first, last, threads[0]), daemon=True).start()
    for thread in threads:
        thread.join()


def report(crew, first, last, reader):
    await_still([os.getpid(), reader.native_id])
    crew.truth["pids"] = [first, last]
    crew.ready()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
