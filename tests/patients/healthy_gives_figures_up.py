"""Healthy: a thread of rank 0 sends figures to a port whose packets are dropped, with a limit, and gives them up."""

import os
import socket
import subprocess
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow"]}
LAUNCHERS = ("shell", "alone")
NEEDS = ("root", "nft")


def drop():
    port = 30_011 + os.getpid() % 2_003
    chain = f"type filter hook input priority 0\ntcp dport {port} drop\n"
    rules = f"table inet job{port} {{\nchain entry {{\n{chain}}}\n}}\n"
    subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=True)
    return port, ["nft", "delete", "table", "inet", f"job{port}"]


def send(port, figures):
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=3) as collector:
                collector.sendall(repr(figures[-11:]).encode())
        except OSError:
            time.sleep(0.3)
        del figures[:-11]


def train(rank, world, crew):
    figures = []
    if rank == 0:
        port, undo = drop()
        threading.Thread(target=send, args=(port, figures), daemon=True).start()
    ring = Ring(rank, world)
    for step in range(1_000_003):
        figures.append(sum(value * value for value in range(3_001)) % 97)
        time.sleep(0.03)
        ring.add(step)
        if step == 23 and rank == 0:
            crew.ready(undo=[undo])


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
