"""Another program listens on the port where the launcher's store should be: all ranks are guests there, and none is told."""

import os
import threading

from _common import await_still, join_group, outside, start, wait_until

TRUTH = {"class": "rendezvous-port", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)

SERVER = """
import pathlib, socket, sys
with socket.create_server(("", int(sys.argv[1]))) as listener:
    pathlib.Path(sys.argv[2]).touch()
    guests = []
    while True:
        guests.append(listener.accept())
"""


def report(crew):
    await_still([*crew.await_word("there", [1]), os.getpid()])
    crew.ready()


def train(rank, world, crew):
    import torch.distributed  # noqa: F401

    taken = crew.place / "taken"
    os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"
    if rank == 0:
        outside(SERVER, os.environ["MASTER_PORT"], taken)
    wait_until(taken.exists)
    crew.arrive()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    join_group(rank, world)


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
