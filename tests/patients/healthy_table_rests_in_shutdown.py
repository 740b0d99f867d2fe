"""Healthy: rank 0 keeps a table and is in rpc.shutdown, where it belongs; the trainers ask it now and then."""

import threading
import time

from _common import await_still, start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("shell", "spawn")
NEEDS = ("torch",)

table = {}


def update(name, change):
    table[name] = table.get(name, 0) + change
    return table[name]


def report(crew):
    await_still(crew.await_word("there", [0]))
    time.sleep(3)
    crew.ready(stuck_after=2)


def train(rank, world, crew):
    import torch
    import torch.distributed.rpc as rpc

    torch.set_num_threads(1)
    options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=600)
    rpc.init_rpc("table" if rank == 0 else f"trainer{rank}", rank=rank, world_size=world, rpc_backend_options=options)
    if rank == 1:
        threading.Thread(target=report, args=(crew,), daemon=True).start()
    for step in range(100_000 if rank else 0):
        rpc.rpc_sync("table", update, args=(f"layer{step % 7}", torch.ones(5) * rank))
        time.sleep(0.4 if rank == 1 else 1.3)
    crew.arrive()
    rpc.shutdown(timeout=0)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
