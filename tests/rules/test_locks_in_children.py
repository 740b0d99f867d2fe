"""Locks below which forked children stand: those of a join of their own thread tell nothing of their parent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.analysis import order
from rankscope.formats.gather import gather
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import answer_waited_for, child_in_threaded_library, fork_took_a_lock, pipe_full

CHILD = (
    "Process 4101: python run.py\nPython v3.11.7 (python)\n\n"
    'Thread 4101 (idle): "MainThread"\n'
    "    0x7f11ddc41f16 (libc.so.6)\n"
    "    PyThread_acquire_lock_timed (libpython3.11.so.1.0)\n"
    "    lock_PyThread_acquire_lock (libpython3.11.so.1.0)\n"
    "{frames}"
    "    run (multiprocessing/process.py:108)\n"
    "    _bootstrap (multiprocessing/process.py:314)\n"
    "    _launch (multiprocessing/popen_fork.py:71)\n"
)
JOINS = (
    "    Thread._wait_for_tstate_lock (threading.py:1132)\n    Thread.join (threading.py:1112)\n    flush (work.py:8)\n"
)
WANTS = "    lookup (vocab.py:23)\n    flush (work.py:8)\n"


@pytest.mark.parametrize(("frames", "found"), [(JOINS, 0), (WANTS, 1)], ids=["joins its thread", "wants a lock"])
def test_a_join_of_an_own_thread_is_no_lock_of_the_parent(frames: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "worker.txt").write_text(CHILD.format(frames=frames))
    assert len(list(fork_took_a_lock.check(case_of(gather([tmp_path]))))) == found


# The same thread as two tools show it: below a condition stands the lock in which it sleeps.
RESTS = (
    'Thread 4102 (idle): "Saver"\n    Condition.wait (threading.py:327)\n    Event.wait (threading.py:629)\n'
    "    Saver.run (notes/saver.py:12)\n"
)
BELOW = (
    '\nThread 2 (Thread 0x7f4550c06b80 (LWP 4102) "python"):\n'
    "#0  futex_wait (private=0) at futex-internal.c:57\n"
    "#1  0x00007f4550000001 in acquire_timed () from libpython3.11.so.1.0\n"
    "#2  0x00007f4550000002 in lock_PyThread_acquire_lock () from libpython3.11.so.1.0\n"
)


@pytest.mark.parametrize(("rests", "found"), [(RESTS, 0), ("", 1)], ids=["both stacks", "the native one alone"])
def test_a_thread_that_rests_in_a_condition_wants_no_lock(rests: str, found: int, tmp_path: Path) -> None:
    child = CHILD.format(frames="    os_read (os.py:1)\n").replace(
        "    PyThread_acquire_lock_timed (libpython3.11.so.1.0)\n", ""
    )
    said = child.replace("    lock_PyThread_acquire_lock (libpython3.11.so.1.0)\n", "") + rests + BELOW
    (tmp_path / "worker.txt").write_text("".join(f"[rank3]: {line}\n" for line in said.splitlines()))
    assert len(list(fork_took_a_lock.check(case_of(gather([tmp_path]))))) == found


END = (
    'Thread 1 (Thread 0x7f4550c06b80 (LWP 4101) "python"):\n'
    "#0  futex_wait (private=0) at futex-internal.c:57\n"
    "#1  0x00007f4550000001 in acquire_timed () from libpython3.11.so.1.0\n"
    "#2  0x00007f4550000002 in atexit_callfuncs () from libpython3.11.so.1.0\n"
    "#3  0x00007f4550000003 in Py_FinalizeEx () from libpython3.11.so.1.0\n"
    "#4  0x00007f4550000004 in main ()\n"
)


def test_who_is_in_the_end_of_its_interpreter_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However well its words read: no running program stands there."""
    monkeypatch.setattr(order, "reads_well", lambda case: True)
    (tmp_path / "rank0.txt").write_text(END)
    found = judge(gather([tmp_path]))
    assert found.verdict is not None
    assert found.verdict.cls == "exit-hang"


BARRIER = (
    'Thread 4101 (active): "MainThread"\n'
    "    gomp_team_barrier_wait_end (libgomp.so.1.0.0)\n"
    "    GOMP_parallel (libgomp.so.1.0.0)\n"
    "    fit (forest/grow.py:31)\n"
)
FUTURES = "    _process_worker (concurrent/futures/process.py:239)\n    _launch (multiprocessing/popen_fork.py:71)\n"
LOKY = "    _process_worker (joblib/externals/loky/process_executor.py:428)\n"
TOP = "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n"
ROW = "   4101 ada       20   0 4120332 812044  90112 R {cpu}   1.2  88:20.11 python\n"


@pytest.mark.parametrize(
    ("frames", "cpu", "found"),
    [(FUTURES, " 99.7", 1), (LOKY, " 99.7", 0), (FUTURES, "398.3", 0)],
    ids=["forked", "a new program", "its threads compute"],
)
def test_threads_stay_behind_in_forks_alone(frames: str, cpu: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "pid 4101.txt").write_text(BARRIER + frames)
    (tmp_path / "top.txt").write_text(TOP + ROW.format(cpu=cpu))
    assert len(list(child_in_threaded_library.check(case_of(gather([tmp_path]))))) == found


MAIN = (
    "Process 4100: celery -A shop worker\nPython v3.11.7 (python)\n\n"
    'Thread 4100 (idle): "MainThread"\n    poll (kombu/utils/eventio.py:84)\n    asynloop (celery/worker/loops.py:97)\n'
    "    start (celery/bootsteps.py:116)\n"
)
OWN = (
    'Thread 4117 (idle): "a client"\n    wait (threading.py:331)\n    wait (threading.py:629)\n{inside}'
    "    run (threading.py:982)\n    _bootstrap_inner (threading.py:1045)\n    _bootstrap (threading.py:1002)\n"
)
IDLE = (
    'Process 4101: celery -A shop worker\nThread 4101 (idle): "MainThread"\n    recv (billiard/connection.py:249)\n'
    "    workloop (billiard/pool.py:351)\n    _bootstrap (billiard/process.py:320)\n    _launch (billiard/popen_fork.py:77)\n"
)


@pytest.mark.parametrize(
    ("inside", "found"),
    [
        ("    _flush (sentry_sdk/monitor.py:61)\n", 0),
        ("    _flush (sentry_sdk/monitor.py:61)\n    report (work.py:8)\n", 1),
    ],
    ids=["its own thread", "called by the job"],
)
def test_a_library_whose_own_threads_live_left_none_behind(inside: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "workers.txt").write_text(f"{MAIN}{OWN.format(inside=inside)}\n{IDLE}")
    said = [one for one in fork_took_a_lock.check(case_of(gather([tmp_path]))) if "keeps threads" in str(one.because)]
    assert len(said) == found


@pytest.mark.parametrize(
    ("inside", "found"),
    [("    _renew (redis_lock/__init__.py:244)\n", 0), ("    get (redis/client.py:24)\n    ask (work.py:8)\n", 1)],
    ids=["its own thread", "called by the job"],
)
def test_who_renews_a_lease_now_and_then_waits_for_no_answer(inside: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "workers.txt").write_text(f"{MAIN}{OWN.format(inside=inside)}")
    assert len(list(answer_waited_for.check(case_of(gather([tmp_path]))))) == found


CODE = (
    "_guard = threading.Lock()\n\ndef write(line):\n    path = PATH\n    with _guard_lock:\n        out.write(line)\n"
)
CHILD_AT = (
    'Process 4101: python run.py\nThread 4101 (idle): "MainThread"\n    write (tasks/audit.py:{line})\n    work (work.py:12)\n'
    "    run (multiprocessing/process.py:108)\n    _bootstrap (multiprocessing/process.py:314)\n{beside}"
)
BESIDE = 'Thread 4102 (idle): "writer"\n    write (tasks/audit.py:35)\n    run (threading.py:982)\n'


@pytest.mark.parametrize(
    ("line", "beside", "found"),
    [(34, "", 1), (35, "", 0), (34, BESIDE, 0)],
    ids=["at the lock", "inside of it", "held by its other thread"],
)
def test_a_child_of_one_thread_stands_at_a_lock_that_a_listing_shows(
    line: int, beside: str, found: int, tmp_path: Path
) -> None:
    (tmp_path / "worker.txt").write_text(CHILD_AT.format(line=line, beside=beside))
    (tmp_path / "sed -n 30,35p audit.py.txt").write_text(CODE)
    hits = [
        one for one in fork_took_a_lock.check(case_of(gather([tmp_path]))) if "takes _guard_lock" in str(one.because)
    ]
    assert len(hits) == found


BUFFER = (
    "#0  __futex_abstimed_wait_common64 (private=0) at ./nptl/futex-internal.c:57\n"
    "#1  0x00007f2e3b49ec78 in __new_sem_wait_slow64 (sem=0x55d0c1a7cc50) at ./nptl/sem_waitcommon.c:183\n"
    "#2  0x000055d0bf6a9c5e in PyThread_acquire_lock_timed ()\n#3  0x000055d0bf7d2a01 in _enter_buffered_busy ()\n"
    "#4  0x000055d0bf6b40c2 in _io_BufferedWriter_write ()\n(gdb) info threads\n"
    "  Id   Target Id                                   Frame\n"
    '* 1    Thread 0x7f2e3b3e1000 (LWP 4101) "python3" __futex_abstimed_wait_common64 (...)\n'
)
SECOND = '  2    Thread 0x7f2e3b3e2000 (LWP 4102) "python3" write (...)\n'


@pytest.mark.parametrize(("more", "found"), [("", 1), (SECOND, 0)], ids=["alone", "beside another thread"])
def test_one_thread_alone_waits_for_a_buffer_only_after_a_fork(more: str, found: int, tmp_path: Path) -> None:
    (tmp_path / "gdb -p 4101.txt").write_text(BUFFER + more)
    assert len(list(fork_took_a_lock.check(case_of(gather([tmp_path]))))) == found


BLOCKS = "[pid  7719] wait4(7741,  <unfinished ...>\n"
WRITES = '[pid  7731] write(1, "[hb] 2025-01-22T11:20:07 queue=0"..., 41{end}\n'


@pytest.mark.parametrize(("end", "found"), [(" <unfinished ...>", True), (") = 41", False)])
def test_a_write_that_returned_waits_for_no_reader(end: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "strace.txt").write_text(WRITES.format(end=end) + BLOCKS)
    says = "a write does not return, and its parent"
    assert any(says in str(one.because) for one in pipe_full.check(case_of(gather([tmp_path])))) == found


TEAM = (
    "Attaching to process 4102\n"
    'Thread 1 (Thread 0x7f4ce2a0b740 (LWP 4102) "python"):\n'
    "#0  0x00007f4c0f91e5a9 in do_wait () from /opt/torch/lib/libgomp.so.1\n"
    "#1  0x00007f4c0f91e70f in gomp_team_barrier_wait_end () from /opt/torch/lib/libgomp.so.1\n"
    "#2  0x00007f4c0f91c2d8 in gomp_team_start () from /opt/torch/lib/libgomp.so.1\n"
    "#3  0x00007f4c9d20f3c1 in at::internal::invoke_parallel(long, long) () from /opt/torch/lib/libtorch_cpu.so\n"
)
ROWS = """\
  PID  PPID NLWP STAT     TIME COMMAND
 4100     1 {threads} Sl 00:08:13 python score.py
 4102  4100    1 S 00:00:00 {command}
"""


@pytest.mark.parametrize(
    ("threads", "command", "found"),
    [(143, "python score.py", True), (1, "python score.py", False), (143, "python other.py", False)],
    ids=["a copy", "its parent has no threads either", "a program of its own"],
)
def test_a_table_of_processes_tells_who_was_forked(threads: int, command: str, found: bool, tmp_path: Path) -> None:
    (tmp_path / "gdb_-p_4102.txt").write_text(TEAM)
    (tmp_path / "ps.txt").write_text(ROWS.format(threads=threads, command=command))
    rules = {one.rule for one in judge(gather([tmp_path])).findings}
    assert ("child-in-threaded-library" in rules) is found
