"""A start script starts ranks 0 and 1 of three; they wait in init_process_group for rank 2, which nobody starts."""

from _common import join_group, start

TRUTH = {"class": "rank-never-joined", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("short",)
NEEDS = ("torch",)


def train(rank, world, crew):
    import torch.distributed  # noqa: F401

    crew.arrive()
    if rank == 0:
        # The store's host asks every few milliseconds who has joined: it never stands still.
        crew.await_word("there", [1])
        crew.ready()
    join_group(rank, world)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
