"""The first error over many logs: who, where, and whose errors only follow from it."""

# ruff: noqa: E501  (a line of a log is one line)
from __future__ import annotations

import pathlib

import pytest

from rankscope import pipeline
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Certainty, Diagnosis

FAILED = 'Traceback (most recent call last):\n  File "/app/train.py", line {}, in step\n    run()\n{}\n'
GONE = "torch.distributed.DistBackendError: NCCL error: remote process exited or there was a network error"


def judged(folder: pathlib.Path, errors: dict[int, str]) -> Diagnosis:
    for rank, error in errors.items():
        (folder / f"rank_{rank}.log").write_text(FAILED.format(70 + (rank == 5), error))
    return pipeline.judge(gather([folder]), 30.0)


def test_whose_errors_follow_is_said(tmp_path: pathlib.Path) -> None:
    """One rank has a reason of its own; the others only miss it."""
    errors = dict.fromkeys(range(32), GONE) | {5: "ValueError: vocabulary of 7"}
    diagnosis = judged(tmp_path, errors)
    assert diagnosis.verdict is not None
    assert (diagnosis.verdict.cls, list(diagnosis.verdict.ranks)) == ("dead-rank", [5])
    reasons = [reason.text for reason in diagnosis.findings[0].because]
    assert "it was raised in /app/train.py:71 step" in reasons
    assert "the errors of ranks 0-4,6-31 (DistBackendError) follow from it" in reasons


@pytest.mark.parametrize(("code", "own"), [(507046, False), (107020, False), (507048, False), (507015, True)])
def test_a_wait_for_a_device_that_timed_out_is_no_reason_of_its_own(
    tmp_path: pathlib.Path, code: int, own: bool
) -> None:
    """CANN tells in a code whether a wait had an end set to it or a kernel failed."""
    said = f"RuntimeError: NPUStream.cpp:390 NPU function error: aclrtSynchronizeDevice, error code is {code}"
    rules = {finding.rule for finding in judged(tmp_path, {2: said}).findings}
    assert ("failed-first" in rules) is own


def test_one_error_of_all_ranks_is_one_finding(tmp_path: pathlib.Path) -> None:
    """A thousand equal tracebacks are one with a set of ranks."""
    diagnosis = judged(tmp_path, dict.fromkeys(range(1000), "ValueError: vocabulary of 7"))
    causes = [finding for finding in diagnosis.findings if finding.cls == "dead-rank"]
    assert len(causes) == 1
    assert causes[0].title.startswith("ranks 0-999 failed alike: ValueError")


def test_an_error_that_differs_in_an_address_alone_is_one(tmp_path: pathlib.Path) -> None:
    """Each process has the object elsewhere; the same number at another place is another error."""
    diagnosis = judged(tmp_path, {rank: f"ValueError: bad shard 0x7f{rank:05x}" for rank in (*range(5), 6)})
    (cause,) = (finding for finding in diagnosis.findings if finding.rule == "failed-first")
    assert str(cause.ranks) == "0-4,6"
    diagnosis = judged(tmp_path, {rank: f"ValueError: bad shard {rank}" for rank in (4, 5)})
    assert "4-5" not in {str(finding.ranks) for finding in diagnosis.findings if finding.rule == "failed-first"}


@pytest.mark.parametrize(
    ("said", "failed"),
    [
        ("CUDA out of memory: 352 MiB requested in backward", True),
        ("auto batch size: CUDA out of memory at 64, continuing with 32", False),
    ],
)
def test_memory_that_one_of_them_went_on_without_is_no_failure(tmp_path: pathlib.Path, said: str, failed: bool) -> None:
    """GIVEN a rank that waits for another, WHEN that one lacked memory, THEN it counts unless it took less and went on."""
    (tmp_path / "rank_0.txt").write_text(f"{said}\n")
    (tmp_path / "rank_1.txt").write_text("waiting in pipeline recv_forward\n")
    rules = {finding.rule for finding in pipeline.judge(gather([tmp_path])).findings}
    assert ("failed-first" in rules) is failed


@pytest.mark.parametrize(("quiet", "named"), [((1,), [1]), ((1, 2), [])])
def test_who_saw_its_peer_go_is_not_the_one(quiet: tuple[int, ...], named: list[int], tmp_path: pathlib.Path) -> None:
    """All others of a console raised the same; the one rank that raised nothing is named, of two nobody."""
    closed = "[../gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:31903."
    lines = [f"[rank{rank}]: rank {rank} begins" for rank in range(4)]
    lines += [f"[rank{rank}]: RuntimeError: {closed}" for rank in range(4) if rank not in quiet]
    (tmp_path / "console.log").write_text("\n".join(lines) + "\n")
    diagnosis = pipeline.judge(gather([tmp_path]), 30.0)
    assert diagnosis.verdict is not None
    assert (diagnosis.verdict.cls, list(diagnosis.verdict.ranks)) == ("dead-rank", named)


LOGGED = "2025-05-04 06:30:{:02},000 INFO step {} done\n"


@pytest.mark.parametrize(("first", "ranks"), [(5, [5]), (0, [0])])
def test_the_time_of_a_logged_traceback_is_that_of_its_record(
    tmp_path: pathlib.Path, first: int, ranks: list[int]
) -> None:
    """Who failed first is told, also where the others have one error in common."""
    for rank in range(7):
        steps = "".join(LOGGED.format(10 * step, step) for step in range(4))
        error = f"2025-05-04 06:30:{40 if rank == first else 45},000 ERROR training failed\n"
        words = "KeyError: 17" if rank == first else "ValueError: loss is nan"
        (tmp_path / f"rank_{rank}.log").write_text(steps + error + FAILED.format(70, words))
    verdict = pipeline.judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert list(verdict.ranks) == ranks


def test_an_error_beside_the_time_outs_of_others_is_likely(tmp_path: pathlib.Path) -> None:
    (tmp_path / "one.txt").write_text(
        FAILED.format(9, "FileNotFoundError: [Errno 2] No such file or directory: 'a' -> 'b'")
    )
    (tmp_path / "others.txt").write_text(
        "[E ProcessGroupNCCL.cpp:475] [Rank 13] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=21668, "
        "OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=1800000) ran for 1800522 milliseconds before timing out.\n"
    )
    verdict = pipeline.judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty.value) == ("dead-rank", "likely")


def at_work(steps: int) -> str:
    """The log of a job of eight ranks that trains, with what NCCL says of each call and warnings that nobody minds."""
    kinds = (
        "[default{rank}]:2025-05-04T04:10:{second:02d}.123Z INFO train: step={at} loss=2.{part:04d} lr=1e-4 tok/s=9{part:03d}\n",
        "node0: {rank}: iteration {at}/500000 | consumed samples: {at}00 | elapsed time per iteration (ms): {part}.1 | learning rate: 1.0E-04\n",
        "node0:100{rank}:200{rank} [{rank}] NCCL INFO AllReduce: opCount {at:x} sendbuff 0x7f{at:08x} recvbuff 0x7f{at:08x} count {part} "
        "datatype 9 op 0 root 0 comm 0x55d{rank:06x} [nranks=8] stream 0x55d\n",
        "WARNING:root:gradient norm 1.{part} on rank {rank} exceeded 1.0, clipping\n",
        "2025-05-04 04:10:{second:02d},123 - module5 - DEBUG - rank {rank}: batch {at} data loading took 0.{part}s, forward 0.2s\n",
    )
    return "".join(
        kinds[at % len(kinds)].format(at=at, rank=at // len(kinds) % 8, second=at % 60, part=at * 7919 % 997)
        for at in range(steps)
    )


LOST_KEY = "".join(f"[rank5]: {line}\n" for line in FAILED.format(70, "KeyError: 'lang=zz'").rstrip().split("\n"))
WAITED = (
    "[rank{0}]:[E504 06:33:29.123456789 ProcessGroupNCCL.cpp:632] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=2000, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600012 milliseconds before "
    "timing out.\n"
)


@pytest.mark.parametrize("lines", [0, 400, 4000, 45_000])
def test_who_failed_while_all_others_waited_is_found_behind_any_head(lines: int, tmp_path: pathlib.Path) -> None:
    """What was written while all went well makes neither the rank that raised an error one that only says nothing, nor its
    error less sure."""
    (tmp_path / "job.log").write_text(
        at_work(lines) + LOST_KEY + "".join(WAITED.format(rank) for rank in range(8) if rank != 5)
    )
    verdict = pipeline.judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert (verdict.cls, list(verdict.ranks), verdict.certainty) == ("dead-rank", [5], Certainty.LIKELY)


def test_counts_of_a_log_that_was_cut_are_not_compared(tmp_path: pathlib.Path) -> None:
    """The last line that is kept of a process is not the last that it wrote."""
    said = [f"2025-05-04 04:10:27 {line}" for line in at_work(45_000).splitlines(True) if "opCount" in line]
    found = {}
    for lines in (800, len(said)):
        (tmp_path / "job.log").write_text("".join(said[:lines]))
        found[lines] = [one.title for one in pipeline.judge(gather([tmp_path])).findings if one.rule == "calls-counted"]
    assert found == {800: ["pid 1000 on node0 launched up to #3962, the others up to #3997"], len(said): []}


CAUGHT = (
    "[rank{0}]:[E314 03:03:07.273741123 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=48211, OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, Timeout(ms)=600000) ran for 600090 "
    "milliseconds before timing out.\n"
)
GUESSED = (
    "[W314 02:51:01.100000123 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank {0}]  using GPU {0} to perform barrier as devices "
    "used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect.\n"
)
FULL = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 2 has a total capacity of 79.15 GiB of which "
    "1.94 GiB is free. Process 117733 has 77.20 GiB memory in use. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management"
)


def test_memory_of_one_rank_while_all_others_time_out(tmp_path: pathlib.Path) -> None:
    """Neither the warning of a barrier that was passed long ago nor torch's own advice is another cause."""
    for rank in range(4):
        said = FAILED.format(7, FULL) if rank == 2 else CAUGHT.format(rank)
        (tmp_path / f"rank_{rank}.log").write_text(GUESSED.format(rank) + said)
    diagnosis = pipeline.judge(gather([tmp_path]), 30.0)
    first = diagnosis.verdict
    assert first is not None
    assert (first.cls, list(first.ranks), first.certainty) == ("dead-rank", [2], Certainty.LIKELY)
    assert not {one.cls for one in diagnosis.findings} & {"device-mapping", "version-bug"}


FINALIZER = "ValueError: vocabulary of 7"
RAISED = (
    'Traceback (most recent call last):\n  File "/app/train.py", line 40, in __del__\n    self.close()\n'
    + FINALIZER
    + "\n"
)


@pytest.mark.parametrize(
    "head",
    [
        "Exception ignored in: <function Reader.__del__ at 0x7fe863d1d620>\n",  # 3.8 to 3.12
        "Exception ignored while calling deallocator <function Reader.__del__ at 0x7fe863d1d620>:\n",  # 3.14
        "Exception ignored in: <generator object batches at 0x7f10a3c5d2e0>\n",
    ],
)
def test_what_nobody_caught_and_nothing_ended_is_no_failure_of_a_rank(head: str, tmp_path: pathlib.Path) -> None:
    """The interpreter writes such errors down and goes on."""
    for rank in range(2):
        (tmp_path / f"rank_{rank}.log").write_text(f"epoch 0 begins\n{head}{RAISED}compiling\n")
    assert pipeline.judge(gather([tmp_path]), 30.0).verdict is None


def test_what_a_handler_of_logging_raises_is_no_failure_of_a_rank(tmp_path: pathlib.Path) -> None:
    (tmp_path / "train.log").write_text(f"epoch 0 begins\n--- Logging error ---\n{RAISED}compiling\n")
    assert "failed-first" not in {one.rule for one in pipeline.judge(gather([tmp_path]), 30.0).findings}


def test_an_error_behind_one_that_was_ignored_is_a_failure(tmp_path: pathlib.Path) -> None:
    ignored = f"Exception ignored in: <function Reader.__del__ at 0x7fe863d1d620>\n{RAISED}"
    said = ignored + FAILED.format(70, "KeyError: 'labels'")
    for rank in range(2):
        (tmp_path / f"rank_{rank}.log").write_text(said if rank else ignored)
    verdict = pipeline.judge(gather([tmp_path]), 30.0).verdict
    assert verdict is not None
    assert (verdict.cls, list(verdict.ranks)) == ("dead-rank", [1])
    assert "labels" in verdict.title


@pytest.mark.parametrize(
    ("said", "cls"),
    [
        ("requests.exceptions.ConnectionError: HTTPConnectionPool(host='store.example', port=80): Max retries exceeded with url: /a.tar (Caused by ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')))", "dead-rank"),
        ("torch.distributed.DistNetworkError: TCPStore: Connection reset by peer", "store-timeout"),
    ],
    ids=["a server of files", "the store of the job"],
)  # fmt: skip
def test_who_gave_up_a_server_outside_has_failed(said: str, cls: str, tmp_path: pathlib.Path) -> None:
    """Its peers are no part of that; who lost the store of the job tells of a peer."""
    (tmp_path / "task 2.log").write_text(
        'Traceback (most recent call last):\n  File "/app/train.py", line 9, in main\n    next(it)\n'
        f'  File "/app/shards.py", line 7, in __iter__\n    get(url)\n{said}\nsrun: error: n4: task 2: Exited with exit code 1\n'
    )
    late = "[rank{0}]: [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600011 milliseconds before timing out.\n"
    for rank in (0, 1, 3):
        (tmp_path / f"task {rank}.log").write_text(late.format(rank))
    verdict = pipeline.judge(gather([tmp_path])).verdict
    assert verdict is not None
    assert verdict.cls == cls


TOP = """\
    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
  820 svc       20   0   61.8g   6.1g   1.2g R 100.0   1.2 341:10.12 python
  823 svc       20   0       0      0      0 Z   0.0   0.0 302:41.98 {ended}
"""
FAULT = "[Fri Jul 19 23:40:07 2024] {name}[898]: segfault at 18 ip 00007f0bb1a7e0c4 sp 00007f0a4effc6c0 error 4 in lib.so[7f0bb13c2000+9f1000]\n"
WAITS = 'Process 820: python pipe.py\nPython v3.10.8 (python)\n\nThread 820 (active): "MainThread"\n    synchronize (torch/cuda/__init__.py:792)\n    step (pipe.py:77)\n    <module> (pipe.py:84)\n'


@pytest.mark.parametrize(
    ("ended", "name", "dead"),
    [("python", "python", True), ("sh", "sh", False), ("python", "Xorg", False)],
    ids=["one of the ranks", "another program", "a fault of another program"],
)
def test_a_zombie_whose_program_the_kernel_says_to_be_at_fault(
    ended: str, name: str, dead: bool, tmp_path: pathlib.Path
) -> None:
    """The kernel tells the number of the thread, the table that of the process."""
    (tmp_path / "rank_0.txt").write_text(WAITS)
    (tmp_path / "top.txt").write_text(TOP.format(ended=ended))
    (tmp_path / "dmesg.txt").write_text(FAULT.format(name=name))
    verdict = pipeline.judge(gather([tmp_path])).verdict
    assert (verdict is not None and (verdict.cls, verdict.certainty) == ("dead-rank", Certainty.LIKELY)) is dead


SERVED = "(Worker_TP{worker} pid={pid}) {said}\n"
IN_CALL = """\
Process 310: server
Python v3.11.4 (/usr/bin/python3.11)

Thread 310 (active): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2501)
    forward (serve/layers.py:41)
    profile (serve/runner.py:95)
    <module> (serve/worker.py:12)
"""


@pytest.mark.parametrize(("who", "failed"), [(0, True), (3, False)], ids=["another process", "the same"])
def test_who_writes_behind_an_error_is_told_by_the_number_of_the_process(
    who: int, failed: bool, tmp_path: pathlib.Path
) -> None:
    """Many processes write one log: that others get on shows nothing of the one that raised an error."""
    raised = FAILED.format(33, "ValueError: shard 4 has no header").splitlines()
    later = [f"INFO 10-09 12:02:1{at} [loader.py:267] {what}" for at, what in enumerate(("weights read", "cache made"))]
    (tmp_path / "serve.log").write_text(
        "".join(SERVED.format(worker=3, pid=313, said=line) for line in raised)
        + "".join(SERVED.format(worker=who, pid=310 + who, said=line) for line in later)
    )
    (tmp_path / "worker 0.txt").write_text(IN_CALL)
    rules = {one.rule: one for one in pipeline.judge(gather([tmp_path])).findings}
    assert ("failed-first" in rules) is failed


ACTOR = """\
Process {pid}: actor
Python v3.11.4 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    wait (threading.py:327)
    get (queue.py:180)
    next_report (lib/session.py:46)
    serve (lib/actor.py:80)
Thread {pid}1 (idle): "{name}"
{inside}"""
REDUCES = (
    "    all_reduce (torch/distributed/distributed_c10d.py:2501)\n    sync (job/fit.py:71)\n"
    "    fit (job/fit.py:60)\n    caught (job/guard.py:12)\n    run (threading.py:982)\n"
)
WRITES = (
    "    write (job/out.py:71)\n    fit (job/fit.py:60)\n    caught (job/guard.py:12)\n    run (threading.py:982)\n"
)
IDLES = "    wait (threading.py:331)\n    wait (threading.py:629)\n    run (tqdm/_monitor.py:60)\n"
IN_A_THREAD = """\
(Actor pid=512) fit failed
(Actor pid=512) Traceback (most recent call last):
(Actor pid=512)   File "/srv/job/guard.py", line 12, in caught
(Actor pid=512)     work()
(Actor pid=512)   File "/srv/job/fit.py", line 55, in fit
(Actor pid=512)     rows.append(row["label"])
(Actor pid=512) KeyError: 'label'
"""


@pytest.mark.parametrize(
    ("mine", "theirs", "sure"),
    [(IDLES, REDUCES, True), (REDUCES, REDUCES, False), (IDLES, WRITES, False)],
    ids=["it is not in it any more", "it has begun again", "nobody waits for others"],
)
def test_a_thread_that_an_error_ended_while_its_process_lives(
    mine: str, theirs: str, sure: bool, tmp_path: pathlib.Path
) -> None:
    """Its peers wait in the functions of its traceback, and none of its own threads is there."""
    (tmp_path / "actors.log").write_text(IN_A_THREAD)
    for pid, inside in ((512, mine), (510, theirs)):
        (tmp_path / f"dump_{pid}.txt").write_text(ACTOR.format(pid=pid, name="Thread-7", inside=inside))
    (found,) = (one for one in pipeline.judge(gather([tmp_path])).findings if one.rule == "failed-first")
    assert (found.certainty is Certainty.LIKELY) is sure
    assert [process.ref.pid for process in found.processes] == ([512] if sure else [])


STANDS = """\
Process 71{rank}: python -u fit.py
Python v3.10.4 (/usr/bin/python3.10)

Thread 71{rank} (active): "MainThread"
    backward (torch/autograd/__init__.py:{line})
    step (fit.py:{line})
    <module> (fit.py:90)
"""
FIT = """\
 2: iter 880/2500 loss 3.11 time 0.78
{who}: Traceback (most recent call last):
{who}:   File "/home/u/fit.py", line 41, in step
{who}:     x, y = mix(x, y)
{who}: AssertionError: an even number is needed
 0: iter 900/2500 loss 3.30 time 0.78
{end}
 4: UserWarning: this argument is deprecated
"""


@pytest.mark.parametrize(
    ("seen", "end", "sure"),
    [
        (1, "srun: error: n12: task 15: Exited with exit code 1", True),
        (1, "srun: error: n12: tasks 14-15,9: Exited with exit code 1", True),
        (1, "srun: error: n12: task 7: Exited with exit code 1", False),
        (1, "srun: error: n12: task 7-3: Exited with exit code 1", False),
        (15, "srun: error: n12: task 15: Exited with exit code 1", False),
        (1, " 3: iter 900/2500 loss 3.30", False),
    ],
    ids=["it", "it and more", "another", "nonsense", "itself was seen", "goes on"],
)
def test_an_end_that_the_launcher_tells_stands_against_good_lines(
    tmp_path: pathlib.Path, seen: int, end: str, sure: bool
) -> None:
    """The others were seen to wait: what they wrote before does not matter."""
    (tmp_path / "job.out").write_text(FIT.format(who=15, end=end))
    (tmp_path / f"rank{seen}.txt").write_text(STANDS.format(rank=seen, line=88))
    (found,) = (one for one in pipeline.judge(gather([tmp_path]), 30.0).findings if one.rule == "failed-first")
    assert found.compared is sure


CRASHED = """\
step 700 loss 0.22
Fatal Python error: {error}

Current thread 0x00007f0fa8ff9700 (most recent call first):
  File "/app/sampler.py", line 88 in pick
  File "/app/loader.py", line 140 in {caller}
"""


@pytest.mark.parametrize(
    ("error", "caller", "sure"),
    [
        ("Segmentation fault", "produce", True),
        ("Floating point exception", "produce", True),
        ("Aborted", "produce", False),
        ("Bus error", "produce", False),
        ("Segmentation fault", "_worker_loop", False),
    ],
)
def test_last_words_are_no_stack_of_one_that_stands(
    tmp_path: pathlib.Path, error: str, caller: str, sure: bool
) -> None:
    """A process that crashed is not somewhere else than the others: it is gone."""
    (tmp_path / "worker-2_previous.log").write_text(CRASHED.format(error=error, caller=caller))
    waits = STANDS.format(rank=0, line=91).replace(
        "backward (torch/autograd/__init__", "barrier (torch/distributed/distributed_c10d"
    )
    (tmp_path / "worker-0_stack.txt").write_text(waits)
    diagnosis = pipeline.judge(gather([tmp_path]), 30.0)
    said = [one for one in diagnosis.findings if one.rule == "failed-first" and one.compared]
    assert bool(said) is sure
    if sure:
        assert diagnosis.verdict is not None
        assert diagnosis.verdict.cls == "dead-rank"
