"""Two RPC workers with one answering thread each ask each other, and each answer asks back: both threads wait for the other's."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "p2p-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("torchrun", "shell")
NEEDS = ("torch",)

both_asked = threading.Barrier(2)


def report(crew):
    await_still([*crew.await_word("there", [1]), os.getpid()])
    crew.ready()


def rows(first, count):
    import torch

    return torch.full((count, 3), float(first))


def merged(first, count, owner):
    import torch.distributed.rpc as rpc

    both_asked.wait()  # the owner's call is on its way as well
    return rows(first, count) + rpc.rpc_sync(owner, rows, args=(first, count))


def train(rank, world, crew):
    dist = join_group(rank, world)
    import torch.distributed.rpc as rpc

    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=1, rpc_timeout=7200)
    rpc.init_rpc(f"table{rank}", rank=rank, world_size=world, rpc_backend_options=options)
    dist.barrier()
    if rank == 0:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    answer = rpc.rpc_async(f"table{1 - rank}", merged, args=(7, 3, f"table{rank}"))
    both_asked.wait()
    crew.arrive()
    rpc.rpc_sync(f"table{1 - rank}", rows, args=(11, 3))
    answer.wait()
    rpc.shutdown()


if __name__ == "__main__":
    start(train, TRUTH, world=2, launchers=LAUNCHERS)
