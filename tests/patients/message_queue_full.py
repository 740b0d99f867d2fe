"""Rank 1 reports to rank 0 over a POSIX message queue; rank 0 takes as many reports as it expects, and goes on."""

import ctypes
import os
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "queue-pipe-full", "ranks": [1], "state": "stuck", "accept_ranks": [[0]]}
LAUNCHERS = ("shell", "spawned", "forked")
EXPECTED = 5
SIZE = 128


class Attributes(ctypes.Structure):
    """``struct mq_attr`` (mq_getattr(3))."""

    _fields_ = [(name, ctypes.c_long) for name in ("flags", "room", "size", "messages")] + [("rest", ctypes.c_long * 4)]


class Reports:
    def __init__(self, name):
        self.lib = ctypes.CDLL("librt.so.1", use_errno=True)
        self.queue = self.lib.mq_open(name, os.O_RDWR | os.O_CREAT, 0o600, ctypes.byref(Attributes(0, 6, SIZE)))
        if self.queue < 0:
            raise OSError(ctypes.get_errno(), "mq_open")

    def send(self, text):
        self.lib.mq_send(self.queue, text, ctypes.c_size_t(len(text)), 0)

    def receive(self):
        room = ctypes.create_string_buffer(SIZE)
        self.lib.mq_receive(self.queue, room, ctypes.c_size_t(SIZE), None)


def watch(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def train(rank, world, crew):
    ring = Ring(rank, world)
    name = f"/reports-{os.environ['MASTER_PORT']}".encode()
    reports = Reports(name)
    ring.add(1)
    if rank == 0:
        reports.lib.mq_unlink(name)
        for _ in range(EXPECTED):
            reports.receive()
    if rank == 1:
        for row in range(EXPECTED):
            reports.send(b"loss %d" % row)
        if crew.sick:
            threading.Thread(target=watch, args=(crew,), daemon=True).start()
            while True:
                reports.send(b"one more")
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
