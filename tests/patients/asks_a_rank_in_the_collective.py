"""Rank 1 asks rank 0 for its status over a connection; rank 0 would answer after the all-reduce, in which it waits for rank 1."""

import os
import socket

from _common import join_group, start

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck", "cycle": True}
LAUNCHERS = ("shell", "torchrun")
NEEDS = ("torch",)


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
    total = torch.ones(17)
    for _ in range(5):
        dist.all_reduce(total)
    if rank == 1:
        crew.await_others()
        crew.ready()
        ask(place[0])
    crew.arrive()
    dist.all_reduce(total)
    if server is not None:
        line, _ = server.accept()
        line.sendall(b"%d" % os.getpid())


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
