"""Healthy: rank 0 serves a port and hands each request on in a broadcast, in which the others wait for the next one."""

import http.server
import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": None, "ranks": [], "state": "unknown"}
LAUNCHERS = ("torchrun",)
NEEDS = ("torch",)


def serve(hand_on):
    class Answer(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            hand_on()
            self.send_response(200)
            self.end_headers()

    http.server.HTTPServer(("127.0.0.1", 0), Answer).serve_forever()


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready(stuck_after=1)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    order = torch.ones(1)
    dist.barrier()
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
        serve(lambda: dist.broadcast(order, src=0))
    while True:
        dist.broadcast(order, src=0)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
