"""Ranks 1 and 2 were given a master address that nobody answers at; rank 0 waits for them at its own."""

import os

from _common import join_group, start, wait_until

TRUTH = {
    "class": "wrong-interface", "ranks": [1, 2], "state": "stuck", "accept": ["rank-never-joined", "network-blackhole"],
    "accept_ranks": [],
}  # fmt: skip
LAUNCHERS = ("shell",)
NEEDS = ("torch",)

ADDRESS = "192.0.2.7"  # of the block that is reserved for documentation (RFC 5737)


def connecting(pid):
    """Whether a process of this host has a connection to the address under way (state 02 of proc_net(5))."""
    with open(f"/proc/{pid}/net/tcp") as file:
        return any(line.split()[2].startswith("070200C0") and line.split()[3] == "02" for line in list(file)[1:])


def train(rank, world, crew):
    import torch.distributed  # noqa: F401

    crew.arrive()
    if rank == 0:
        pid = crew.await_word("there", [1, 2])[0]
        if os.fork() == 0:
            if os.fork() == 0:
                wait_until(lambda: connecting(pid))
                crew.ready()
            os._exit(0)
        os.wait()
    else:
        os.environ["MASTER_ADDR"] = ADDRESS
    join_group(rank, world)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
