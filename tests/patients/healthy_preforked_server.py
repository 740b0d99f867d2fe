"""Healthy: a server that forked its workers beforehand; they wait for callers, and it waits for the end of any of them."""

import os
import socket

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("alone",)


def answer(server):
    while True:
        caller, _ = server.accept()
        with caller:
            caller.sendall(caller.recv(1009))


def train(rank, world, crew):
    server = socket.create_server(("127.0.0.1", 0))
    workers = []
    for _ in range(3):
        workers.append(os.fork())
        if workers[-1] == 0:
            answer(server)
    with socket.create_connection(server.getsockname()) as caller:
        caller.sendall(b"hello")
        caller.recv(7)
    await_still(workers)
    crew.ready()
    os.wait()


if __name__ == "__main__":
    start(train, TRUTH, launchers=LAUNCHERS)
