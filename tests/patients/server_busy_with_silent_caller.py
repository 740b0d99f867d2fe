"""Rank 1 asks a server beside the job that serves one caller at a time, and the first one says nothing."""

import os
import socket
import threading

from _common import await_still, outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "rank-stuck-in-user-code", "ranks": [1], "state": "stuck"}
LAUNCHERS = ("shell",)

SERVER = """
import os, socketserver, sys
class Answer(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(self.rfile.readline())
server = socketserver.TCPServer(("127.0.0.1", 0), Answer)
open(sys.argv[1] + ".new", "w").write(f"{server.server_address[1]} {os.getpid()}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
"""
CALLER = """
import socket, sys, time
caller = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
time.sleep(0.3)
open(sys.argv[2], "w").close()
time.sleep(100_000)
"""


def watch(crew, server):
    crew.await_others()
    await_still([os.getpid()])
    crew.ready(pids=[server])


def ask(crew):
    said, called = crew.place / "said", crew.place / "called"
    outside(SERVER, said)
    wait_until(said.exists)
    port, server = map(int, said.read_text().split())
    outside(CALLER, port, called)
    wait_until(called.exists)
    with socket.create_connection(("127.0.0.1", port)) as caller:
        caller.sendall(b"next part\n")
        threading.Thread(target=watch, args=(crew, server), daemon=True).start()
        caller.recv(1009)


def train(rank, world, crew):
    ring = Ring(rank, world)
    ring.add(1)
    if crew.sick:
        ask(crew)
    crew.arrive()
    ring.add(2)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
