"""Lines of jobs that are well: a log that goes on with steps afterwards has nothing wrong with it."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

LINES = """\
Only rank 0 logs to wandb; all ranks write their shards.
Using block ordering for the dataset, clock order is kept.
NTP reports a clock skew of 3 ms between the nodes.
data skew between the shards is below 1 %
arch_interaction_op: feature interaction (dot) with 26 sparse features
max locked memory       (kbytes, -l) unlimited
max locked memory         unlimited            unlimited            bytes
RLIMIT_MEMLOCK is unlimited
Autologging is suspended during evaluation
OSError: [Errno 107] Transport endpoint is not connected
Job status: State: In Progress, 3 of 10 shards are written
no gradients for the frozen encoder in this run
Found 3 unused parameters, they are frozen
NCCL_SOCKET_IFNAME=eth0 works as before
joined the previous rendezvous store on port 29500
another process uses port 6006, TensorBoard moves to port 6007
tests passed, but one job remains in the queue
SIGCHLD handler installed
pg 0: multiple process groups run at the same time
num_workers=0 works fine for the debug run
PCIe Bus Error: severity=Corrected, type=Physical Layer
Input pipeline: shuffle buffer is full, queue is full
evaluation on rank 0 while the others wait in barrier took 12 s
world_size: expected 8, got 8
Waiting for the lock /cache/x.lock took 0.1 s
CUDA was initialized before the dataset
Retrying in 1 s: Max retries exceeded with url: /api (Caused by ConnectTimeout) - attempt 2 worked
slow rank statistics: none
same device placement for both ranks of the pair
recursive lock file resolution in poetry.lock
GPU 0: 4 processes
File already exists, skip download for rank 0
unexpected token in config ignored: connect_timeout""".splitlines()
BEFORE = "epoch 1 step 1 loss 2.3\nepoch 1 step 2 loss 2.2\n"
AFTER = "epoch 1 step 3 loss 2.1\nepoch 1 step 4 loss 2.0\nepoch 1 step 5 loss 1.9\n"


@pytest.mark.parametrize("line", LINES)
def test_a_line_before_more_steps_is_no_cause(line: str, tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.log").write_text(f"{BEFORE}{line}\n{AFTER}")
    assert judge(gather([tmp_path])).verdict is None


@pytest.mark.parametrize(
    ("line", "cls"),
    [
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, GPU has fallen off the bus.", "gpu-hardware-fault"),
        ("ls: cannot access '/mnt/data': Transport endpoint is not connected", "filesystem-stall"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", None),
        ("CUDA error: an illegal memory access was encountered", "cuda-async-error"),
    ],
)
def test_an_error_may_come_out_before_steps_that_were_made_earlier(
    line: str, cls: str | None, tmp_path: pathlib.Path
) -> None:
    """A program's output is buffered and its errors are not."""
    (tmp_path / "train.log").write_text(f"{BEFORE}{line}\n{AFTER}")
    verdict = judge(gather([tmp_path])).verdict
    assert (verdict.cls if verdict else None) == cls or cls is None


ATTEMPT = """node1:4587:4587 [0] NCCL INFO Bootstrap : Using lo:127.0.0.1<0>
node2:4587:4601 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 127.0.0.1<44321> failed : Connection refused
torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, internal error
"""
NEXT = """$ export NCCL_SOCKET_IFNAME=eth0
$ torchrun --nnodes 2 train.py
node1:5587:5587 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.5<0>
"""


@pytest.mark.parametrize("gets_on", [True, False])
def test_an_address_of_an_attempt_before_the_one_that_makes_steps_is_over(
    tmp_path: pathlib.Path, gets_on: bool
) -> None:
    (tmp_path / "train.log").write_text(ATTEMPT + NEXT + (AFTER if gets_on else ""))
    found = judge(gather([tmp_path])).findings
    assert any(one.rule == "wrong-interface" for one in found) is not gets_on
