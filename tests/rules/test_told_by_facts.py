"""Verdicts of short reports, in which people tell by facts what they saw: the mechanism decides, not single words."""

# ruff: noqa: E501  (what a file tells is one line)
from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.snapshot import Snapshot
from rankscope.pipeline import judge

ENDED = (
    'Exception in thread {name}\nTraceback (most recent call last):\n  File "/usr/lib/python3.10/threading.py", line 1016, in '
    '_bootstrap_inner\n    self.run()\n  File "/srv/app/sink.py", line 40, in run\n    self.file.write(row)\n{error}\n'
)
WRITER = "epoch 3: loss 0.61\n" + ENDED.format(
    name="Thread-7 (drain):", error="ValueError: I/O operation on closed file"
)
OLD = ENDED.format(name="Writer-1:", error="KeyError: 'shard'").replace("Exception", "Unhandled exception")
MONITOR = (
    "step 40 loss 0.61\n" + ENDED.format(name="TMonitor:", error="RuntimeError: set changed size during iteration")
    + "".join(f"step {step} loss 0.5{step}\n" for step in range(41, 60))
)  # fmt: skip
# The rule whose cause is the verdict, why, and what each file tells.
TOLD: tuple[tuple[str, str, dict[str, str]], ...] = (
    (
        "one-rank-prepares",
        "a rank compiles while others wait in a kernel",
        {
            "rank 5": "DeepGEMM NVLink barrier timeout (180s): rank=5, counter=31, phase=0\nCUDA_ERROR_LAUNCH_FAILED (719)",
            "server of rank 1": "prewarm of 12 buckets took 171 s with a cold JIT cache",
        },
    ),
    ("helper-gone", "a writer's thread has ended", {"log": WRITER, "then": "close() of the writer never returns"}),
    ("helper-gone", "a thread that was started below the interpreter", {"log": OLD, "then": "the queue fills and put blocks"}),
    ("failed-first", "the thread in which a rank trains", {"rank 3": WRITER, "rank 2": "waits in all_reduce, timed out"}),
    (
        "lock-before-meeting",
        "the lock is won by one who waits for all",
        {
            "task 3": "claim: got the lock for step-17/train\nbefore jax.distributed.initialize, waiting for 8 processes",
            "other tasks": "claim: lost the lock for step-17/train, trying again in 5 s\n" * 2,
        },
    ),
    (
        "lock-before-meeting",
        "one of each gang is kept from the meeting",
        {
            "host 0": "[run] lost the lease of runs/exp4, retrying in 30 s\n" * 3,
            "host 1": "[run] acquired the lease of runs/exp4",
            "job": "the same command on each of two hosts; the training never starts",
        },
    ),
    (
        "code-of-some-ranks",
        "one rank loads what all must load, and another is at the end",
        {
            "load.py": "import store\nfrom mpi4py import MPI\nif MPI.COMM_WORLD.Get_rank() == 0:\n    grid = store.open_mesh('m.h5')",
            "rank 0": "never returns from open_mesh",
            "rank 1": "has reached the end of the program",
        },
    ),
    (
        "ranks-share-device",
        "the first call is on the device of all",
        {
            "script": 'x = torch.ones(1, device="cuda")\ndist.broadcast(x, 0)\ny = torch.ones(1, device=f"cuda:{rank}")\ndist.all_reduce(y)',
            "output": "the second call never returns",
        },
    ),
    (
        "below-the-program",
        "all come to a call, and none gets past it",
        {"output": "each rank logs 'sum 1', no rank logs 'sum 2' behind all_reduce; it hangs"},
    ),
    (
        "disk-full",
        "no room for pages of the object store",
        {"raylet": "task 17 of 40: Bus error", "setting": "object spilling is on, files lie below /tmp/ray"},
    ),
    (
        "wrong-interface",
        "a hint that fits no address",
        {"log": "broker: could not find an address matching 10.9.0.0/16\n", "others": "wait in the barrier of the start, stuck"},
    ),
    (
        "ends-never",
        "a thread of a client lives on",
        {"tool": "heartbeat of the session is on", "seen": "any command hangs\nthe session's thread is still running after the command has ended"},
    ),
    (
        "loop-held-by-a-step",
        "a consumer that computes between two polls",
        {"log": "%4|1619683411.52|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) exceeded by 88ms\n", "seen": "it is stuck with one row, which it reads again and again"},
    ),
    (
        "loop-held-by-a-step",
        "a server that shakes hands in its loop",
        {
            "server": 'Thread 7 (idle): "serve"\n    do_handshake (ssl.py:1346)\n    _create (ssl.py:1075)\n    accept (ssl.py:1411)\n'
            "    get_request (socketserver.py:509)\n    _handle_request_noblock (socketserver.py:311)\n    serve_forever (socketserver.py:240)\n",
            "clients": "every request times out",
        },
    ),
    (
        "threads-left-in-parent",
        "a logger of the parent is used in its children",
        {"program": "the metrics logger is created in the main process and used in the worker processes", "log": "episode 7 reward 1.2"},
    ),
    (
        "killed-for-memory",
        "files fill the memory of host and device",
        {
            "node": "GB10, unified memory 121 GB; page cache 97 GB after a copy of the checkpoint",
            "engine": "the engine process died while it loads shard 40 of 44",
        },
    ),
    ("known-defect", "a put without a request", {"log": "NCCL WARN NET/IB : unable to allocate requests\n", "stack": "ncclRmaProxyProgress"}),
    (
        "rank-not-at-meeting",
        "a barrier of more than the pool runs",
        {"code": "gate = threading.Barrier(12)\npool = ThreadPoolExecutor(max_workers=5)", "seen": "it hangs at gate.wait()"},
    ),
    (
        "rank-not-at-meeting",
        "fewer threads than parties are told",
        {"seen": "deadlock: fewer threads run at one time than the barrier has parties"},
    ),
    (
        "rank-not-at-meeting",
        "the environment names another node",
        {"command": "python fit.py --gpus 2\nInitializing distributed: GLOBAL_RANK: 2, MEMBER: 3/2", "environment": "NODE_RANK=1"},
    ),
    (
        "driver-does-not-return",
        "a unit that outlives SIGKILL",
        {"journal": "ggml_cuda_compute_forward: CUDA error\nrunner.service: Processes still around after final SIGKILL. Entering failed mode."},
    ),
    (
        "versions-differ",
        "an extension for another processor",
        {
            "jobs": "jobs stop at the first step on node 7, without any error",
            "nodes": "node 7 is the only one with an AMD CPU",
            "extension": "fused.so was compiled on an Intel node, once, and lies in the shared cache",
        },
    ),
)  # fmt: skip
# Why nothing is wrong, or nothing can be said, and what is told.
CLEAN: tuple[tuple[str, dict[str, str]], ...] = (
    ("a monitor's thread has ended, and steps go on", {"log": MONITOR}),
    (
        "the one that has the lock works",
        {
            "worker 0": "acquired lock for cache/a, writing\nstep 3\nstep 4\nstep 5",
            "worker 1": "could not acquire lock for cache/a, retrying\nstep 3\nstep 4\nstep 5",
        },
    ),
    (
        "the lock is another one",
        {
            "task 3": "got the lock for step-17/train, in jax.distributed.initialize\ndone\nstep 1\nstep 2",
            "task 4": "lost the lock for step-11/eval, trying again\nstep 1\nstep 2",
        },
    ),
    (
        "one rank works, the others are done",
        {
            "load.py": "import store\nfrom mpi4py import MPI\nif MPI.COMM_WORLD.Get_rank() == 0:\n    store.summary('m.h5')",
            "rank 0": "writes table 3 of 9",
            "rank 1": "is done",
        },
    ),
    (
        "all print, and go on",
        {"output": "all 4 processes print 'enter gather' and 'left gather', none of them prints an error\nstep 1\nstep 2\nstep 3"},
    ),
    ("a thread is there while the program runs", {"seen": "the session's thread is running when the program reads its next query"}),
    (
        "each call on the own device",
        {"script": 'x = torch.ones(1, device=f"cuda:{rank}")\ndist.broadcast(x, 0)\ndist.all_reduce(x)', "output": "returns"},
    ),
    (
        "a consumer that was late once",
        {"log": "step 1 loss 2.1\nHeartbeat poll expired, leaving group\nSuccessfully joined group\n" + "step 2 loss 2.0\nstep 3 loss 1.9\n" * 9},
    ),
    (
        "a server that accepts",
        {"server": 'Thread 7 (idle): "serve"\n    accept (socket.py:293)\n    get_request (socketserver.py:509)\n    serve_forever (socketserver.py:240)\n'},
    ),
    (
        "the pool runs as many as the barrier has parties",
        {"code": "gate = threading.Barrier(5)\npool = ThreadPoolExecutor(max_workers=5)", "seen": "all threads pass"},
    ),
    (
        "a data set without an end is read",
        {
            "script": "ds = wds.WebDataset(urls, resampled=True).shuffle(50).batched(16)\nloader = wds.WebLoader(ds, num_workers=4)",
            "seen": "the loop over the loader never comes to an end; rows keep coming at the usual speed",
        },
    ),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "why", "files"), TOLD, ids=[why for _, why, _ in TOLD])
def test_facts_decide(rule: str, why: str, files: dict[str, str], tmp_path: pathlib.Path) -> None:
    found = judge(_laid_out(files, tmp_path))
    assert found.verdict is not None
    assert found.findings[0].rule == rule


@pytest.mark.parametrize(("why", "files"), CLEAN, ids=[why for why, _ in CLEAN])
def test_look_alikes_are_clean(why: str, files: dict[str, str], tmp_path: pathlib.Path) -> None:
    assert judge(_laid_out(files, tmp_path)).verdict is None


def _laid_out(files: dict[str, str], folder: pathlib.Path) -> Snapshot:
    for name, text in files.items():
        (folder / f"{name.replace(' ', '_')}.txt").write_text(f"{text}\n")
    return gather([folder])
