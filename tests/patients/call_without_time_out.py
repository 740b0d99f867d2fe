"""Rank 2 asks a service on the network without a time-out; the service took the question and never answers."""

import http.client
import os
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck", "accept": ["network-blackhole"]}
LAUNCHERS = ("shell", "alone")

SERVER = """
import pathlib, socket, sys, time
with socket.create_server(("127.0.0.1", 0)) as listener:
    path = pathlib.Path(sys.argv[1])
    path.with_suffix(".new").write_text(str(listener.getsockname()[1]))
    path.with_suffix(".new").rename(path)
    peer, _ = listener.accept()
    peer.recv(4096)
    time.sleep(100_000)
"""


def report(crew):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready()


def register(crew):
    port = crew.place / "port"
    outside(SERVER, port)
    wait_until(port.exists)
    threading.Thread(target=report, args=(crew,), daemon=True).start()
    service = http.client.HTTPConnection("127.0.0.1", int(port.read_text()))
    service.request("GET", "/run/7")
    return service.getresponse().read()


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        register(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
