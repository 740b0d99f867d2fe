"""Healthy: children wait for callers at one socket, their sibling calls once in a while; the parent waits for the end of any."""

import os
import select
import socket
import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def answer(server):
    while True:
        select.select([server], [], [])
        try:
            server.accept()[0].close()
        except BlockingIOError:
            continue  # a sibling was faster


def probe(port):
    while True:
        socket.create_connection(("127.0.0.1", port)).close()
        time.sleep(3607)


def forked(task, *args):
    pid = os.fork()
    if not pid:
        task(*args)
        os._exit(0)
    return pid


def report(crew, family):
    await_still(family)
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    family = [forked(answer, server) for _ in range(3)]
    family.append(forked(probe, server.getsockname()[1]))
    threading.Thread(target=report, args=(crew, family), daemon=True).start()
    os.wait()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
