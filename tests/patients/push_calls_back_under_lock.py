"""Rank 0 answers remote calls under a lock, and calls back meanwhile; what it calls comes back for the same lock."""

import os
import threading

from _common import await_still, join_group, start

TRUTH = {"class": "lock-order-deadlock", "ranks": [], "state": "stuck", "cycle": True}
LAUNCHERS = ("shell",)
NEEDS = ("torch",)

guard = threading.Lock()


def report(crew):
    await_still([*crew.await_word("there", [0, 1]), os.getpid()])
    crew.ready()


def pull():
    with guard:
        return 7


def rate(version):
    import torch.distributed.rpc as rpc

    return rpc.rpc_sync("table0", pull) + version


def push(owner):
    import torch.distributed.rpc as rpc

    with guard:
        return rpc.rpc_sync(owner, rate, args=(3,))


def train(rank, world, crew):
    join_group(rank, world).barrier()
    import torch.distributed.rpc as rpc

    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=4, rpc_timeout=7200)
    rpc.init_rpc(f"table{rank}", rank=rank, world_size=world, rpc_backend_options=options)
    crew.arrive()
    if rank == 2:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    if rank:
        rpc.rpc_sync("table0", push, args=(f"table{rank}",))
    rpc.shutdown()


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
