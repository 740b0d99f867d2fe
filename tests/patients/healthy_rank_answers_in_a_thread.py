"""Healthy: rank 1 asks rank 0 over a connection in each step; a thread of rank 0 answers, after a while, and all go on."""

import socket
import threading
import time

from _common import join_group, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["straggler-slow-rank", "not-a-hang-slow"]}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)


def answer(server, crew):
    for number in range(1_000_003):
        line, _ = server.accept()
        with line:
            line.recv(64)
            time.sleep(0.6)
            line.sendall(b"%d" % number)
        if number == 3:
            crew.ready(stuck_after=2)


def ask(port):
    with socket.create_connection(("127.0.0.1", port)) as line:
        line.sendall(b"status\n")
        return line.recv(64)


def train(rank, world, crew):
    import torch

    dist = join_group(rank, world)
    server = socket.create_server(("127.0.0.1", 0)) if rank == 0 else None
    place = [server.getsockname()[1] if server is not None else 0]
    dist.broadcast_object_list(place, src=0)
    if server is not None:
        threading.Thread(target=answer, args=(server, crew), daemon=True).start()
    total = torch.ones(17)
    for _ in range(100_003):
        if rank == 1:
            ask(place[0])
        dist.all_reduce(total)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
