"""Two ranks send each other a large message over a socket and receive afterwards: both send queues are full."""

import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {
    "class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "accept": ["queue-pipe-full"], "cycle": True,
}  # fmt: skip
LAUNCHERS = ("shell", "forked")


def swap(peer, data):
    peer.sendall(data)
    left = len(data)
    while left:
        left -= len(peer.recv(left))


def report(crew):
    await_still([*crew.await_word("there", [1]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    swap(ring.peers[0], b"\0" * 30_000_001)
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
