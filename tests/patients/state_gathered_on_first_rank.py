"""Rank 0 alone gathers the whole state of a sharded model to save it; the others are in the first barrier of a second group."""

from _common import join_group, start

TRUTH = {
    "class": "collective-missed-by-rank", "ranks": [0], "state": "stuck", "accept": ["collective-cycle"], "cycle": True,
}  # fmt: skip
LAUNCHERS = ("spawn", "torchrun")
NEEDS = ("torch",)


def save(model, control, crew):
    from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

    if crew.rank == 0:
        crew.await_others()
        crew.ready()
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    crew.arrive()
    control.barrier().wait()


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    control = dist.new_group()
    model = torch.nn.Sequential(torch.nn.Linear(23, 23), torch.nn.Linear(23, 23))
    fully_shard(model, mesh=init_device_mesh("cpu", (world,)))
    for _ in range(3):
        model(torch.ones(5, 23)).sum().backward()
    save(model, control, crew)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
