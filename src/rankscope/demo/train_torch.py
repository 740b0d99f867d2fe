"""A real DistributedDataParallel training on four gloo ranks with loader workers. At step 12, rank 3 takes its shard for
finished, leaves the loop and waits at the closing barrier, while the others go on to average their gradients."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Points(Dataset):
    """Points in the plane; the label tells which side of a line they lie on."""

    def __len__(self) -> int:
        return 4096

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        point = torch.randn(2, generator=torch.Generator().manual_seed(index))
        return point, int(point.sum() > 0)


def train(rank: int, world: int) -> None:
    model = DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    data = Points()
    loader = DataLoader(data, 32, sampler=DistributedSampler(data, world, rank), num_workers=1)
    for step, (points, labels) in enumerate(loader):
        if step == 12:
            print(f"rank {rank} reached step {step}", flush=True)
            if shard_finished(rank, step):
                break
        optimizer.zero_grad()
        cross_entropy(model(points), labels).backward()
        optimizer.step()
    dist.barrier()


def shard_finished(rank: int, step: int) -> bool:
    return rank == 3 and step >= 12


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    train(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
