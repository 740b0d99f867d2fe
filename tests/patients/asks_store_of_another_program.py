"""Rank 2 takes its MASTER_PORT from a file that is out of date; another store listens there, and has none of the keys."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "rendezvous-port", "ranks": [2], "state": "stuck", "accept": ["rank-never-joined"]}
LAUNCHERS = ("spawn", "shell")
NEEDS = ("torch",)

STORE = """
import os, sys, time
import torch.distributed as dist
store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
open("port.new", "w").write(str(store.port))
os.rename("port.new", "port")
while os.getppid() == int(sys.argv[1]):
    time.sleep(0.2)
"""


def override(crew):
    import subprocess
    import sys

    subprocess.Popen([sys.executable, "-c", STORE, str(os.getpid())], cwd=crew.place)
    while not (crew.place / "port").exists():
        threading.Event().wait(0.05)
    os.environ["MASTER_PORT"] = (crew.place / "port").read_text()


def report(crew):
    await_still([*crew.await_word("there", [1]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    crew.arrive()
    if rank == 2:
        override(crew)
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    join_group(rank, world).barrier()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
