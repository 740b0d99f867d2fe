"""Rules that compare what is told of several processes keep silent where the same words tell of another thing."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

_WAITS = (
    "wait (threading.py:320)\n    result (concurrent/futures/_base.py:441)\n    handle (app.py:20)\n"
    "    _worker (concurrent/futures/thread.py:83)"
)
_FREE = "_worker (concurrent/futures/thread.py:81)\n    run (threading.py:953)"
_MAIN = "wait (threading.py:320)\n    result (concurrent/futures/_base.py:441)\n    <module> (app.py:40)"


def _thread(number: int, name: str, stack: str) -> str:
    """A thread as py-spy shows it."""
    head = "Process 4711: python app.py\nPython v3.10.4\n\n" if number == 1 else ""
    return f'{head}Thread {number} (idle): "{name}"\n    {stack}\n'


# The same told in other words.
TOLD: tuple[tuple[str, dict[str, str]], ...] = (
    ("function-not-entered", {"x": "Ranks 0, 1 and 2 wait in sync_weights(); rank 3 never reaches it.\nit hangs"}),
    ("function-not-entered", {"x": "rank 0 is blocked inside exchange_halo, rank 1 does not call exchange_halo"}),
    ("function-not-entered", {"rank 0": "stands in comm.merge_tables", "rank 1": "has not entered merge_tables, it loops"}),
    ("function-not-entered", {"x": "process 0 enters `write_restart()`, the other processes never do; stuck"}),
    ("function-not-entered", {"x": "three of four workers are in model.update_master, the fourth never gets there"}),
    ("function-not-entered", {"x": "all ranks except 5 are in flush_buffers(); rank 5 never calls it. It hangs"}),
    ("gil-waited-for", {"caller": "is the owner of the interpreter lock", "task": "asks for the interpreter lock"}),
    ("gil-waited-for", {"x": "read keeps the interpreter lock for the duration of the call\nthe process stops for good"}),
    ("import-waited-for", {"main thread": "inside the import of jobs", "other": "last line reached: from Crypto import HMAC"}),
    ("another-version-cures", {"x": "ROCm 6.3.1, it hangs; the release notes of 6.3.2 list a fix for a soft hang"}),
    ("calls-differ", {"x": "it hangs in gather(logps)\nLOGPS SHAPE: torch.Size([1])\n\nLOGPS SHAPE: torch.Size([5])"}),
    ("calls-differ", {"x": "hangs at step 0\nwith .mean() on the two tensors before the gather the run goes on"}),
    ("only-slow", {"x": "it seems to hang in the import\nafter 40 seconds to 5 minutes 'done' appears"}),
    ("failed-first", {"x": "one of the worker nodes was shut down in the night\nthe remaining workers hang"}),
    ("computes-on-one-line", {"rank 2": "each time at build.py:77 (scan), CPU 100 %", "other ranks": "all in barrier"}),
    ("computes-on-one-line", {"rank 2": "R 99.8 % CPU\nbuild.py:77 in every dump", "ranks 0,1": "wait in all_gather"}),
    (
        "counts-apart-at-once",
        {"mpirun -n 4": "[10:00:00] MPI_Bcast len: 9\n" * 3 + "[10:00:00] MPI_Bcast len: 8\nit hangs"},
    ),
    (
        "counts-apart-at-once",
        {"4 ranks": "2024-01-01 10:00:00,123 allreduce n=9\n" * 3 + "2024-01-01 10:00:00,123 allreduce n=8\nit hangs"},
    ),
    ("import-waited-for", {"x": "`python worker.py` works fine, but `import worker` hangs forever"}),
    ("import-waited-for", {"x": "started as python main_app.py it runs\n>>> import main_app\nimport main_app never returns"}),
    (
        "code-of-some-ranks",
        {
            "a.py": "V = space(mesh)\nif MPI.COMM_WORLD.Get_rank() == 0:\n    out.store(V.coordinates())\nsolve()",
            "x": "rank 0 never returns from V.coordinates(), serially it works",
        },
    ),
    (
        "ranks-share-device",
        {
            "main.cu": "ncclUniqueId id;\nMPI_Bcast(&id, sizeof id, MPI_BYTE, 0, world);\n"
            "ncclCommInitRank(&comm, size, id, rank);\ncudaStreamCreate(&s);",
            "x": "NCCL failure 'invalid usage'",
        },
    ),
    (
        "pool-waits-for-itself",
        {"x": "The task submits more tasks to the same ThreadPoolExecutor and waits for their results. It hangs"},
    ),
    ("pool-waits-for-itself", {"x": "works with 7 files, hangs with 8 or more\nmax_workers is 8"}),
    ("pool-waits-for-itself", {"x": "Never call result.get() within a task!\nwith allow_join_result it hangs"}),
    ("pool-waits-for-itself", {"x": "the thread pool is exhausted by outer tasks, which wait for inner tasks; stuck"}),
    (
        "pool-waits-for-itself",
        {"dump": _thread(1, "MainThread", _MAIN) + _thread(2, "P-0_0", _WAITS) + _thread(3, "P-0_1", _WAITS)},
    ),
    ("helper-gone", {"log": "process logger exceptional ending for interchange", "flow": "it hangs"}),
    ("ends-never", {"log": "INFO: Uvicorn running on http://[::]:80\n^C\nINFO: Shutting down", "x": "the process never exits"}),
    ("ends-never", {"log": "epoch 3 finished\nall done", "x": "the script does not exit"}),
    (
        "one-rank-prepares",
        {
            "rank 5": "DeepGEMM NVLink barrier timeout (180s): rank=5, counter=31, phase=0\nCUDA_ERROR_LAUNCH_FAILED (719)",
            "rank 1": "precompiling 40 shapes, JIT cache is empty, 170 s",
        },
    ),
    (
        "one-rank-prepares",
        {"rank 3": "DeepEP timeout check: dispatch CPU recv timeout, rank 3", "rank 0": "autotuning 31 kernels: 12/31"},
    ),
    ("kernel-spins", {"log": "device barrier timed out (60 s): rank 2, signal 3 of 4\nunspecified launch failure"}),
    ("kernel-spins", {"log": "aicore timeout in aclnnChunkScan, soc error 507014, shape [1, 4096]"}),
    ("kernel-failed-earlier", {"log": "CUDA error: unspecified launch failure\nNCCL watchdog: timeout of rank 3"}),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "files"), TOLD)
def test_a_mechanism_is_known_by_other_words(rule: str, files: dict[str, str], tmp_path: pathlib.Path) -> None:
    _lay_out(files, tmp_path)
    assert rule in {finding.rule for finding in judge(gather([tmp_path])).findings}


# The rule, why it has nothing to say, and the files.
OTHERWISE: dict[str, tuple[str, dict[str, str]]] = {
    "the input of one process ends with its epoch": (
        "input-ended-early",
        {"train.log": "it hangs\nBaseCollectiveExecutor::StartAbort Out of range: End of sequence\n"},
    ),
    "a single process ran out of data": (
        "input-ended-early",
        {"train.log": "Your input ran out of data; interrupting training.\nit hangs at the end\n"},
    ),
    "all come to the function": (
        "function-not-entered",
        {"prints": "ranks 0-2 have entered swap_chains()\nrank 3 enters it later\nit hangs after that\n"},
    ),
    "another function is not entered": (
        "function-not-entered",
        {"prints": "ranks 0-2 are in swap_chains()\nrank 3 never calls write_chains, which is right\nit hangs\n"},
    ),
    "the one that did not come has failed": (
        "function-not-entered",
        {"prints": "ranks 0-2 are in swap_chains()\nrank 3 never calls it, killed for its memory\nit hangs\n"},
    ),
    "counts change for all": (
        "counts-apart-at-once",
        {
            "prints of 3 workers": (
                "[10:01:07] Allreduce count=4096\n" * 3 + "[10:01:09] Allreduce count=512\n" * 3 + "it hangs\n"
            )
        },
    ),
    "one worker prints calls of several sizes": (
        "counts-apart-at-once",
        {
            "prints of one of 3 workers": (
                "[10:01:07] Allreduce count=4096\n" * 2 + "[10:01:07] Allreduce count=512\n" * 2 + "it hangs\n"
            )
        },
    ),
    "parts of different size are gathered": (
        "counts-apart-at-once",
        {"3 workers": "[10:01:07] allgather count=4\n" * 2 + "[10:01:07] allgather count=5\n" + "it hangs\n"},
    ),
    "a worker without rows is warned of": (
        "worker-without-rows",
        {"log": "dispatched_train: worker has an empty DMatrix\n[0] train-rmse:0.4\n[1] train-rmse:0.3\n"},
    ),
    "a thread of the pool is free": (
        "pool-waits-for-itself",
        {"dump": _thread(1, "MainThread", _MAIN) + _thread(2, "P-0_0", _WAITS) + _thread(3, "P-0_1", _FREE)},
    ),
    "processes bring the results": (
        "pool-waits-for-itself",
        {
            "dump": _thread(1, "MainThread", _MAIN)
            + _thread(2, "P-0_0", _WAITS)
            + _thread(3, "P-0_1", _WAITS)
            + _thread(4, "Q", "run (concurrent/futures/process.py:320)")
        },
    ),
    "an event loop brings the results": (
        "pool-waits-for-itself",
        {
            "dump": _thread(1, "MainThread", "select (selectors.py:469)\n    _run_once (asyncio/base_events.py:1871)")
            + _thread(2, "P-0_0", _WAITS)
            + _thread(3, "P-0_1", _WAITS)
        },
    ),
    "so many ranks hang": (
        "pool-waits-for-itself",
        {"x": "works with 7 ranks, hangs with 8 or more ranks\nmax_workers is 8"},
    ),
    "the pool has more threads than tasks": (
        "pool-waits-for-itself",
        {"x": "works with 7 files, hangs with 8 or more\nmax_workers is 32"},
    ),
    "no other worker is there": (
        "worker-without-rows",
        {"log": "Check failed: 0 feature is supplied. Are you using raw Booster interface?\nit hangs\n"},
    ),
    "steps follow on the reduction": (
        "replicas-of-one-process",
        {
            "notebook": "batch_all_reduce: 6 all-reduces with algorithm = nccl, num_packs = 1\n"
            "  1/100 [......] - ETA: 9:31 - loss: 2.3\nit hangs at the end of the epoch\n"
        },
    ),
    "several processes reduce": (
        "replicas-of-one-process",
        {"worker": "TF_CONFIG\nbatch_all_reduce: 6 all-reduces with algorithm = nccl, num_packs = 1\nit hangs\n"},
    ),
    "a device is waited for on that line": (
        "computes-on-one-line",
        {"rank 3": "10/10 dumps at train.py:118, loss.item(), state R, 99 % CPU\n", "ranks 0-2": "wait in all_reduce\n"},
    ),
    "its shapes are equal": ("calls-differ", {"x": "hangs in gather(x)\nX SHAPE: torch.Size([5])\nX SHAPE: torch.Size([5])\n"}),
    "memory that grows is no progress": ("only-slow", {"x": "no progress for hours, memory grew from 2 to 16 GB\nit hangs\n"}),
    "an error comes after a while": ("only-slow", {"x": "it hangs\nafter 30 minutes a timeout error appears\n"}),
    "a worker that imports has ended": ("import-waited-for", {"x": "last line in the log: import numpy\nit hangs\n"}),
    "the line was seen once": (
        "computes-on-one-line",
        {"rank 3": "py-spy: match.py:118 in pair_up, state R, 99 % CPU\n", "ranks 0-2": "wait in all_reduce\n"},
    ),
    "nobody waits for the one that computes": (
        "computes-on-one-line",
        {"rank 3": "10/10 dumps at match.py:118 in pair_up, state R, 99 % CPU\n", "rank 2": "computes as well\n"},
    ),
    "it works as a program and as a module": (
        "import-waited-for",
        {"tried": "running fetch.py prints the page\nimporting fetch works as well\nthe test suite hangs elsewhere\n"},
    ),
    "the module lies on a file system that does not answer": (
        "import-waited-for",
        {"tried": "running fetch.py prints the page\nimporting fetch hangs: it lies on NFS\n"},
    ),
    "the helper of the workflow ended as it should": (
        "helper-gone",
        {"interchange.log": "Normal ending for starter on thread MainThread\n", "flow": "it hangs at the end\n"},
    ),
    "a thread of the helper ended, the helper lives": (
        "helper-gone",
        {"interchange.log": "Exceptional ending for loop on thread Task-Puller\n", "flow": "it hangs\n"},
    ),
    "a release without the defect": (
        "known-defect",
        {"script": 'write_dataset("s3://b/o", existing_data_behavior="delete_matching")\n', "told": "pyarrow 14.0.1 hangs\n"},
    ),
    "the call of one rank reads a file": (
        "code-of-some-ranks",
        {
            "solve.py": 'import app\nA = app.assemble()\nif comm.rank == 0:\n    B = app.load_mesh("m")\nuse(A)\n',
            "told": "rank 0 is stuck in app.load_mesh, the others are past it\n",
        },
    ),
    "all ranks make the call": (
        "code-of-some-ranks",
        {
            "solve.py": "import app\nif comm.rank == 0:\n    A.info_total()\nelse:\n    A.info_total()\nuse(A)\n",
            "told": "rank 0 is stuck in A.info_total(), with -n 1 it works\n",
        },
    ),
    "each communicator has its device": (
        "ranks-share-device",
        {
            "node.py": "import cupy\ncupy.cuda.Device(rank).use()\ncomm = nccl.NcclCommunicator(4, key, rank)\n",
            "told": "NCCL_ERROR_INVALID_USAGE\n",
        },
    ),
    "the shell chooses the devices": (
        "ranks-share-device",
        {
            "node.py": "import cupy\nkey = fetch()\ncomm = nccl.NcclCommunicator(4, key, rank)\n",
            "told": "CUDA_VISIBLE_DEVICES=1 python node.py 1\nit hangs\n",
        },
    ),
    "a server runs until somebody ends it": (
        "ends-never",
        {"log": "INFO: Started server process [7]\nINFO: Waiting for application startup.\n", "x": "the process does not exit\n"},
    ),
    "another server that nobody stopped": (
        "ends-never",
        {"log": "Starting gunicorn 20.1.0\nListening at: http://127.0.0.1:8000 (9)\n", "x": "the command never exits\n"},
    ),
    "a server in the foreground": (
        "ends-never",
        {"log": " * Running on http://127.0.0.1:5000\n", "x": "does not come back to the prompt, no page is shown\n"},
    ),
    "a kernel ended its own wait for its peers": (
        "kernel-failed-earlier",
        {"rank 5": "NVLink barrier timeout (180s): rank=5, counter=31\nCUDA driver error: CUDA_ERROR_LAUNCH_FAILED\n"},
    ),
    "a kernel asserts that its peers came": (
        "kernel-failed-earlier",
        {"rank 5": "symm_mem barrier timed out, rank: 5\nRuntimeError: CUDA error: device-side assert triggered\n"},
    ),
    "a kernel of all waits where some ranks run a dummy": (
        "kernel-spins",
        {"ranks with requests": "target model, draft with all_gather; AICore timeout\n", "idle ranks": "dummy_run, no draft\n"},
    ),
    "files are kept and nobody died": (
        "killed-for-memory",
        {"node": "GB10, unified memory 121 GB; page cache 97 GB\n", "engine": "loading weights: 44 of 44 shards\nserving\n"},
    ),
    "its children make their own logger": (
        "threads-left-in-parent",
        {"program": "the metrics logger is created in each worker process and used there; it hangs\n"},
    ),
    "a port without requests is no put": (
        "known-defect",
        {"log": "NCCL WARN NET/IB : unable to allocate requests\n", "stack": "ncclProxyProgress, it hangs\n"},
    ),
    "a barrier of as many as the pool runs": (
        "rank-not-at-meeting",
        {"code": "gate = threading.Barrier(5)\npool = ThreadPoolExecutor(max_workers=8)\n", "seen": "it hangs\n"},
    ),
    "a launcher sets the number of the node": (
        "rank-not-at-meeting",
        {"command": "torchrun --nnodes=2 fit.py\ninitializing ddp\nit hangs\n", "environment": "NODE_RANK=1\n"},
    ),
    "a unit on a dead mount outlives SIGKILL": (
        "driver-does-not-return",
        {"journal": "backup.service: Processes still around after SIGKILL. Ignoring.\nnfs: server a1 not responding\n"},
    ),
    "each node compiles for itself": (
        "versions-differ",
        {"nodes": "one node has an AMD CPU, the others Intel\n", "extension": "fused.so is compiled on each node, it hangs\n"},
    ),
    "who writes is named, not what it does": (
        "one-rank-prepares",
        {"sst": 'DP Reader 1: received contact info "Writer Rank 0"\nwaiting for the writer\n', "seen": "it hangs\n"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", OTHERWISE)
def test_the_rule_keeps_silent(why: str, tmp_path: pathlib.Path) -> None:
    rule, files = OTHERWISE[why]
    _lay_out(files, tmp_path)
    assert rule not in {finding.rule for finding in judge(gather([tmp_path])).findings}


def _lay_out(files: dict[str, str], folder: pathlib.Path) -> None:
    for name, text in files.items():
        (folder / f"{name.replace(' ', '_')}.txt").write_text(text)


BACKWARD = """\
Process 40{rank}: python -u fit.py
Python v3.10.4 (/usr/bin/python3.10)

Thread 40{rank} (active): "MainThread"
    {call}
    epoch (fit.py:118)
    <module> (fit.py:171)
"""
TAILS = """\
==> logs/rank0.log <==
10:09:41 INFO step 17 loss 1.87
{first}
==> logs/rank2.log <==
10:09:41 INFO step 17 loss 1.90
==> logs/rank3.log <==
10:09:40 INFO step 16 loss 1.85
10:09:41 WARNING {said}
{last}
"""


@pytest.mark.parametrize(
    ("first", "said", "last", "call", "odd"),
    [
        ("", "loss of batch 88213 is inf, skipping", "", "backward (torch/autograd/__init__.py:266)", True),
        ("", "skipping an empty batch", "", "all_reduce (torch/distributed/distributed_c10d.py:266)", True),
        ("", "skipping batch 7: no labels", "10:09:42 INFO step 18 loss 1.8", "backward (torch/autograd/__init__.py:266)", False),
        ("10:09:41 WARNING skipping batch 7", "skipping batch 7", "", "backward (torch/autograd/__init__.py:266)", False),
        ("", "number of skipped iterations: 0 of this step", "", "backward (torch/autograd/__init__.py:266)", False),
        ("", "skipping batch 7: no labels", "", "read (loader.py:33)", False),
    ],
    ids=["left out", "empty", "went on", "all of them", "a counter", "nobody waits"],
)  # fmt: skip
def test_a_rank_that_leaves_out_a_step_alone(
    first: str, said: str, last: str, call: str, odd: bool, tmp_path: pathlib.Path
) -> None:
    """The others wait in the step for it; where all leave it out, or it went on with them, nothing is wrong."""
    (tmp_path / "tails.txt").write_text(TAILS.format(first=first, said=said, last=last))
    for rank in (0, 2):
        (tmp_path / f"rank{rank}.txt").write_text(BACKWARD.format(rank=rank, call=call))
    found = [one for one in judge(gather([tmp_path])).findings if one.rule == "ranks-stand-apart"]
    assert ([list(one.ranks) for one in found] == [[3]]) is odd


TABLE = "|=============|\n{rows}+-------------+\n"
ROW = "|    {gpu}   N/A  N/A          61{pid}      C   /opt/env/bin/python3.11                {mib}MiB |\n"
GUESSED = (
    "[rank1]:[W302 11:40:09.3 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 1]  using GPU 1 to perform barrier as devices "
    "used by this process are currently unknown.\n"
)
ASKS = """\
Thread 614 (idle): "MainThread"
    poll (libc.so.6)
    c10d::TCPStore::doWait (libtorch_cpu.so)
    c10d::ProcessGroupNCCL::{call} (libtorch_cuda.so)
    __init__ (torch/nn/parallel/distributed.py:825)
    <module> (fit.py:140)
"""


def _rows(*held: tuple[int, int, int]) -> str:
    return TABLE.format(rows="".join(ROW.format(gpu=gpu, pid=pid, mib=mib) for gpu, pid, mib in held))


@pytest.mark.parametrize(
    ("table", "shared"),
    [
        (_rows((0, 40, 5210), (0, 41, 4912), (0, 42, 4912), (1, 41, 416), (2, 42, 416)), True),
        (_rows((0, 40, 5210), (1, 41, 4912), (2, 42, 4912), (0, 41, 416), (0, 42, 410)), False),
        (_rows((0, 40, 5210), (1, 41, 4912), (2, 42, 4912)), False),
        (_rows((0, 41, 4912), (0, 42, 4912), (1, 41, 4400), (2, 42, 4400)), False),
        (_rows((0, 41, 4912), (0, 42, 4912), (1, 41, 416), (1, 42, 416)), False),
    ],
    ids=["all on one", "contexts on the first", "each on its own", "models in two parts", "contexts on one"],
)
def test_data_on_one_gpu_and_contexts_on_the_own_ones(table: str, shared: bool, tmp_path: pathlib.Path) -> None:
    """Each process touched the GPU that was meant for it, and put its model elsewhere."""
    (tmp_path / "nvidia-smi.txt").write_text(table)
    found = [one.title for one in judge(gather([tmp_path])).findings if one.rule == "ranks-share-device"]
    assert any("keep their data on GPU 0" in title for title in found) is shared


@pytest.mark.parametrize(("call", "shared"), [("broadcastUniqueNCCLID", True), ("heartbeatMonitor", False)])
def test_a_new_communicator_after_a_barrier_guessed_its_device(call: str, shared: bool, tmp_path: pathlib.Path) -> None:
    """Who asks for the number of a communicator anew has come to a device on which it has none."""
    (tmp_path / "output.txt").write_text(GUESSED)
    (tmp_path / "rank1.txt").write_text(ASKS.format(call=call))
    assert ("ranks-share-device" in {one.rule for one in judge(gather([tmp_path])).findings}) is shared
