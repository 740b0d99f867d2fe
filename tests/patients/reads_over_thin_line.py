"""Rank 1 fetches its shards from a server that sends it 40 kB a second, so that each of its steps takes seconds; it moves."""

import socket
import struct
import threading

from _common import outside, start, wait_until
from _ring import Ring

TRUTH = {"class": "straggler-slow-rank", "ranks": [1], "state": "slow", "accept": ["not-a-hang-slow"]}
LAUNCHERS = ("shell", "forked")
NEEDS = ()

SERVER = """
import os, socketserver, struct, sys, time
class Shards(socketserver.StreamRequestHandler):
    def handle(self):
        while head := self.rfile.read(8):
            _, size = struct.unpack("<II", head)
            while size:
                piece = min(size, 10_000)
                self.wfile.write(bytes(piece))
                size -= piece
                time.sleep(0.25)
with socketserver.TCPServer(("127.0.0.1", 0), Shards) as server:
    with open(sys.argv[1] + ".new", "w") as out:
        out.write(str(server.server_address[1]))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    server.serve_forever()
"""


class Remote:
    """Shards of another region."""

    def __init__(self, crew):
        path = crew.place / "port"
        outside(SERVER, path)
        wait_until(path.exists)
        self.line = socket.create_connection(("127.0.0.1", int(path.read_text())), timeout=30)

    def shard(self, number, size):
        self.line.sendall(struct.pack("<II", number, size))
        received = bytearray()
        while len(received) < size:
            received += self.line.recv(65_536)
        return bytes(received)


class Local:
    """Shards of this machine."""

    def shard(self, number, size):
        return bytes([number % 251]) * size


def train(rank, world, crew):
    shards = Remote(crew) if crew.sick else Local()
    ring = Ring(rank, world)
    for step in range(100_003):
        ring.add(sum(shards.shard(step, 223_000)))
        if step == 1 and crew.sick:
            threading.Thread(target=crew.ready, daemon=True).start()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
