"""Healthy: rank 0 of a service waits for a request that a thread of its HTTP server would bring, the others for its broadcast."""

import os
import queue
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from _common import await_still, join_group, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    import torch

    dist = join_group(rank, world)
    dist.all_reduce(torch.ones(11))
    requests = queue.Queue()
    if rank == 0:
        server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    else:
        crew.arrive()
    while True:
        box = [requests.get()] if rank == 0 else [None]
        dist.broadcast_object_list(box, src=0)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
