"""A firewall drops what rank 2 sends to rank 0 since a moment ago: data stays in the send queue, nobody is told."""

import subprocess
import threading

from _common import await_still, start
from _ring import Ring

TRUTH = {"class": "network-blackhole", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("root", "nft")


def cut(port):
    table = f"job{port}"
    chain = f"type filter hook input priority 0\ntcp sport {port} drop\n"
    rules = f"table inet {table} {{\nchain entry {{\n{chain}}}\n}}\n"
    subprocess.run(["nft", "-f", "-"], input=rules.encode(), check=True)
    return ["nft", "delete", "table", "inet", table]


def report(crew, undo):
    pids = crew.await_word("there", range(crew.world))
    await_still(pids)
    crew.ready(undo=[undo])


def train(rank, world, crew):
    ring = Ring(rank, world)
    for number in range(5):
        ring.add(number)
    if rank == 2:
        undo = cut(ring.peers[0].getsockname()[1])
        threading.Thread(target=report, args=(crew, undo), daemon=True).start()
    crew.arrive()
    ring.add(7)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
