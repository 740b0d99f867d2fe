"""Rank 2 reads the output of a start script to its end; the script is over, but a service that it left has the pipe open."""

import os
import subprocess
import sys

from _common import await_still, outside, start
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [2], "state": "stuck", "accept": ["child-dead"]}
LAUNCHERS = ("shell", "alone")

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
WATCH = """
import os, sys, time
sys.path.insert(0, os.getcwd())
from _common import Crew, await_still, wait_until
rank, world, *ranks = map(int, sys.argv[1:-1])
crew = Crew(rank, world, eval(sys.argv[-1]))
wait_until((crew.place / "service.pid").exists)
await_still(ranks)
crew.ready([int((crew.place / "service.pid").read_text())])
"""


def start_service(crew):
    (crew.place / "service.py").write_text(SERVICE)
    script = f"echo starting; {sys.executable} service.py & echo started"
    return subprocess.check_output(["sh", "-c", script], cwd=crew.place, text=True)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    crew.arrive()
    if crew.sick:
        others = crew.await_word("there", range(world))
        outside(WATCH, rank, world, *others, os.getpid(), crew.truth)
        await_still(pid for pid in others if pid != os.getpid())
        start_service(crew)
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
