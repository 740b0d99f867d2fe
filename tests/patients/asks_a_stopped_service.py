"""Rank 2 asks a service that is no part of the job for data; somebody has stopped that service (SIGSTOP)."""

import os
import signal
import socket
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "process-stopped", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell", "alone")

SERVER = """
import os, pathlib, socket, sys
with socket.create_server(("127.0.0.1", 0)) as listener:
    path = pathlib.Path(sys.argv[1])
    path.with_suffix(".new").write_text(f"{listener.getsockname()[1]} {os.getpid()}")
    path.with_suffix(".new").rename(path)
    peer, _ = listener.accept()
    while peer.recv(64):
        peer.sendall(b"part")
"""


def report(crew, server):
    crew.await_others()
    os.kill(server, signal.SIGSTOP)
    await_still([server], states="T")
    await_still([os.getpid()])
    crew.ready(pids=[server])


def load(crew):
    about = crew.place / "service"
    outside(SERVER, about)
    wait_until(about.exists)
    port, server = map(int, about.read_text().split())
    threading.Thread(target=report, args=(crew, server), daemon=True).start()
    with socket.create_connection(("127.0.0.1", port)) as service:
        while True:
            service.sendall(b"more")
            service.recv(64)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if rank == world - 1:
        load(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
