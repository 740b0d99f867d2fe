"""Healthy: the server's main thread is in rpc.shutdown, where it belongs, while its threads answer the trainers, slowly."""

import threading
import time

from _common import start

TRUTH = {"class": None, "ranks": [], "state": "moving", "accept": ["not-a-hang-slow", "straggler-slow-rank"]}
LAUNCHERS = ("shell", "spawn")
NEEDS = ("torch",)

one_at_a_time = threading.Lock()
table = {}


def update(name, change):
    with one_at_a_time:
        weight = table.get(name, 0) + change
        time.sleep(0.5)
        table[name] = weight
        return weight


def train(rank, world, crew):
    import torch
    import torch.distributed.rpc as rpc

    torch.set_num_threads(1)
    options = rpc.TensorPipeRpcBackendOptions(rpc_timeout=600)
    rpc.init_rpc("server" if rank == 0 else f"trainer{rank}", rank=rank, world_size=world, rpc_backend_options=options)
    for step in range(100_000 if rank else 0):
        rpc.rpc_sync("server", update, args=(f"layer{step % 7}", torch.ones(5) * rank))
        if step == 5:
            crew.arrive()
            if rank == 1:
                crew.await_word("there", [2])
                crew.ready()
    rpc.shutdown(timeout=0)


if __name__ == "__main__":
    start(train, TRUTH, world=3, launchers=LAUNCHERS)
