"""Rank 1 asks a server on this host for data over a socket; the server process is stopped (SIGSTOP)."""

import multiprocessing
import os
import signal
import socket
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "process-stopped", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell", "alone")


def serve(listener):
    peer, _ = listener.accept()
    peer.recv(64)
    os.kill(os.getpid(), signal.SIGSTOP)
    peer.sendall(b"\0" * 64)


def report(crew, server):
    crew.await_others()
    await_still([server.pid], states="T")
    await_still([os.getpid()])
    crew.ready(pids=[server.pid])


def load(crew):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = multiprocessing.get_context("fork").Process(target=serve, args=(listener,))
        server.start()
        address = listener.getsockname()
    threading.Thread(target=report, args=(crew, server), daemon=True).start()
    with socket.create_connection(address) as service:
        service.sendall(b"part 1")
        return service.recv(64)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        load(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
