"""Whether a job gets on, where no plain line of it was read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankscope.analysis.at_work import Well, moving_files, well
from rankscope.analysis.doings import doings
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty
from rankscope.pipeline import case_of, judge


def test_an_error_file_alone_is_no_job_at_work(tmp_path: Path) -> None:
    """It has an exception and no lines."""
    error = "ValueError: vocabulary of 7"
    stack = f'Traceback (most recent call last):\n  File "/app/train.py", line 7, in main\n    x.step()\n{error}\n'
    said = {"message": {"message": error, "extraInfo": {"py_callstack": stack, "timestamp": "1793527200"}}}
    (tmp_path / "error.json").write_text(json.dumps(said))
    snapshot = gather([tmp_path])
    assert well(case_of(snapshot)) is Well.UNKNOWN
    verdict = judge(snapshot).verdict
    assert verdict is not None
    assert verdict.cls == "dead-rank"


STEPS = "".join(f"[2026-11-02 10:{at:02d}:00] step {at * 10}/2000 loss {3 - at * 0.02:.3f}\n" for at in range(1, 41))
MOUNT_DEAD = """\
State:\tD (disk sleep)
[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]
[<0>] nfs4_call_sync_sequence+0x7e/0xb0 [nfsv4]
[<0>] nfs_wait_on_request+0x3a/0x60 [nfs]
"""


def test_a_log_that_gets_on_hides_no_trouble_of_which_another_file_tells(tmp_path: Path) -> None:
    """The log may have ended before, or be that of another rank: it is less sure, and not nothing."""
    (tmp_path / "train.log").write_text(STEPS)
    assert judge(gather([tmp_path])).verdict is None
    (tmp_path / "kernel_stack_of_4411.txt").write_text(MOUNT_DEAD)
    verdict = judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty) == ("filesystem-stall", Certainty.POSSIBLE)


def test_what_the_log_itself_tells_is_over_where_it_gets_on(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(MOUNT_DEAD + STEPS)
    (tmp_path / "host.txt").write_text("node17, 8 devices\n")
    assert judge(gather([tmp_path])).verdict is None


WARNS = (
    "[rank0]:[W1107 13:02:08.551092001 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform barrier as "
    "devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is "
    "incorrect. Specify device_ids in barrier() to force use of a particular device.\n"
)
PACED = "".join(f"10:{at:02d}:07 epoch 4 step {at}0/2500 loss 2.71 0.{{}} s/it\n" for at in range(10, 30))
BACKWARD = """\
Process {pid}: python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (active): "MainThread"
    {inner} (train.py:{line})
    epoch (train.py:152)
    <module> (train.py:201)
"""


@pytest.mark.parametrize(
    ("log", "health"),
    [
        (WARNS + PACED.format(*[412] * 20), Well.SEEMS),
        (WARNS + PACED.replace("0.{}", "{}").format(*[412] * 20), Well.UNKNOWN),
        (WARNS + PACED.format(*[412] * 20) + "the job hangs\n", Well.UNKNOWN),
    ],
    ids=["under a second a step", "minutes a step", "somebody complains"],
)
def test_what_a_warning_fears_is_no_complaint_beside_steps_that_go_on(log: str, health: Well, tmp_path: Path) -> None:
    """The digits behind a point are no hundreds of seconds."""
    for rank, inner in enumerate(("item_loss", "clip")):
        (tmp_path / f"rank_{rank}.txt").write_text(BACKWARD.format(pid=2000 + rank, inner=inner, line=171 - rank))
    (tmp_path / "train.log").write_text(log)
    snapshot = gather([tmp_path])
    assert well(case_of(snapshot)) is health
    if health is Well.SEEMS:
        assert judge(snapshot).verdict is None


LLDB = """\
* thread #1, queue = 'com.apple.main-thread', stop reason = signal {signal}
  * frame #0: 0x000000018d1a85ec libsystem_kernel.dylib`__psynch_cvwait + 8
    frame #1: 0x000000018d1e655c libsystem_pthread.dylib`_pthread_cond_wait + 1228
    frame #2: 0x000000011c4b81b0 libtorch_cpu.dylib`c10d::Work::wait(std::__1::chrono::duration<long long>) + 140
"""
PY_BT = """\
#0  0x00007f2b1d1c1c94 in opal_progress () from /usr/lib/libopen-pal.so.40
#1  0x00007f2b1d7f7c8b in PMPI_Recv () from /usr/lib/libmpi.so.40
Traceback (most recent call {way}):
  File "/home/g/master.py", line 33, in serve
    res = comm.recv(source=MPI.ANY_SOURCE, status=st)
"""
COUNTS = "".join(f"I 17:40:0{at} it {at} 2.1 s\n" for at in range(5))


@pytest.mark.parametrize(
    ("stack", "name", "health"),
    [
        (LLDB.format(signal="SIGSTOP"), "lldb (rank 0)", Well.SEEMS),
        (LLDB.format(signal="SIGSEGV"), "lldb (rank 0)", Well.UNKNOWN),
        (PY_BT.format(way="first"), "gdb (rank 0)", Well.SEEMS),
        (PY_BT.format(way="last"), "gdb (rank 0)", Well.UNKNOWN),
    ],
    ids=["lldb stops it", "it stopped by a fault", "py-bt", "an error"],
)
def test_words_of_debuggers_are_no_trouble(tmp_path: Path, stack: str, name: str, health: Well) -> None:
    """LLDB names the signal by which it stops what it looks at, and py-bt heads a stack by a word for errors."""
    (tmp_path / f"{name}.txt").write_text(stack)
    (tmp_path / "output.txt").write_text(COUNTS)
    assert well(case_of(gather([tmp_path]))) is health


@pytest.mark.parametrize(
    ("noun", "moves"),
    [("job", True), ("task", True), ("chunk", True), ("rank", False), ("attempt", False), ("worker", False)],
)
def test_pieces_that_are_dealt_out_are_counted(tmp_path: Path, noun: str, moves: bool) -> None:
    """A master counts what its workers brought; who is up of all workers, or the how manieth try it is, is no work done."""
    told = "".join(f"[14:02:0{at}] {noun} {at}/2000 by one of them ({at}.1 s)\n" for at in range(1, 6))
    (tmp_path / "output.txt").write_text(told)
    assert bool(moving_files(case_of(gather([tmp_path])))) is moves


@pytest.mark.parametrize(("code", "dead"), [(0, False), (1, True), (139, True)])
def test_an_exit_code_of_nought_is_no_death(tmp_path: Path, code: int, dead: bool) -> None:
    """Programs tell by it that they are done."""
    (tmp_path / "rank 3.txt").write_text(f"15 iterations; exit code {code}\n")
    assert ("dead" in {one.kind for one in doings(case_of(gather([tmp_path])))}) is dead
