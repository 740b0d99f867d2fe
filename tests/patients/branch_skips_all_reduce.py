"""Rank 2 of four takes another branch of the loop: it skips the all_reduce and stands in the next step's barrier."""

from _common import join_group, start

TRUTH = {"class": "collective-missed-by-rank", "ranks": [2], "state": "stuck"}
LAUNCHERS = ("torchrun", "spawn", "accelerate", "deepspeed", "mpirun")
NEEDS = ("torch",)


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch

    logs = dist.new_group()
    metric = torch.ones(1)
    for step in range(11):
        total = torch.full((3,), float(step))
        if step == 7:
            if rank == 2:
                crew.await_others()
                crew.ready()
            crew.arrive()
        if not (rank == 2 and step == 7):
            dist.all_reduce(total)
        dist.broadcast(metric, src=0, group=logs)
    dist.destroy_process_group()


if __name__ == "__main__":
    start(train, TRUTH, world=4, launchers=LAUNCHERS)
