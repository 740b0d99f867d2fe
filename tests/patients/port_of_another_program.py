"""Another program listens on the master port: rank 0 fails to bind it and ends, the others wait for an answer there."""

import os
import threading

from _common import await_still, join_group, outside, start, wait_until

TRUTH = {"class": "rendezvous-port", "ranks": [], "state": "stuck"}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)

SERVER = """
import pathlib, socket, sys, time
with socket.create_server(("", int(sys.argv[1]))) as listener:
    pathlib.Path(sys.argv[2]).touch()
    time.sleep(100_000)
"""


def report(crew, first):
    wait_until(lambda: ended(first))
    await_still([*crew.await_word("there", [2]), os.getpid()])
    crew.ready()


def ended(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def train(rank, world, crew):
    import torch.distributed  # noqa: F401

    taken = crew.place / "taken"
    if rank == 0:
        outside(SERVER, os.environ["MASTER_PORT"], taken)
    wait_until(taken.exists)
    crew.arrive()
    if rank == 1:
        (first,) = crew.await_word("there", [0])
        threading.Thread(target=report, args=(crew, first), daemon=True).start()
    join_group(rank, world)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
