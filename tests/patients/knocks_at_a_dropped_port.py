"""A firewall drops what comes to the port of a registry since a moment ago: rank 2 stands in connect(), half open."""

import os
import socket
import subprocess
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "network-blackhole", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root", "nft")

REGISTRY = """
import pathlib, socket, sys
server = socket.create_server(("127.0.0.1", 0))
draft = pathlib.Path(sys.argv[1])
draft.write_text(str(server.getsockname()[1]))
draft.rename(sys.argv[2])
while True:
    peer, _ = server.accept()
    peer.close()
"""


def register(port, name):
    with socket.create_connection(("127.0.0.1", port)) as registry:
        registry.sendall(name)


def drop(port):
    chain = f"type filter hook input priority 0\ntcp dport {port} drop\n"
    rules = f"table inet job{port} {{\nchain entry {{\n{chain}}}\n}}\n"
    subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=True)
    return ["nft", "delete", "table", "inet", f"job{port}"]


def report(crew, undo):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready(undo=[undo])


def train(rank, world, crew):
    ring = Ring(rank, world)
    if rank == 2:
        told = crew.place / "port"
        outside(REGISTRY, crew.place / "draft", told)
        wait_until(told.exists)
        port = int(told.read_text())
        register(port, b"first")
        undo = drop(port)
    ring.add(1)
    if rank == 2:
        threading.Thread(target=report, args=(crew, undo), daemon=True).start()
        register(port, b"second")
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
