"""Healthy: rank 2 has started a service through a shell that is over; the service has the rank's environment, and all train."""

import subprocess
import sys
import threading
import time

from _common import start
from _ring import Ring

TRUTH = {"class": None, "ranks": [], "state": "moving"}
LAUNCHERS = ("shell", "mpirun")

SERVICE = """
import os, socketserver
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"ok " + self.rfile.readline())
with socketserver.TCPServer(("127.0.0.1", 0), Answer) as server:
    print(os.getpid(), file=open("service.new", "w"))
    os.rename("service.new", "service.pid")
    server.serve_forever()
"""


def start_service(crew):
    (crew.place / "service.py").write_text(SERVICE)
    subprocess.run(["sh", "-c", f"{sys.executable} service.py >/dev/null & echo started"], cwd=crew.place, check=True)
    while not (crew.place / "service.pid").exists():
        time.sleep(0.01)


def train(rank, world, crew):
    if rank == world - 1:
        start_service(crew)
    ring = Ring(rank, world)
    for step in range(100_003):
        ring.add(step)
        time.sleep(0.02)
        if step == 17 and rank == world - 1:
            threading.Thread(target=crew.ready, daemon=True).start()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
