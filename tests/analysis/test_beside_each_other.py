"""What people save beside each other: two tools of one rank, a log beside stacks, a process table beside a log."""

from __future__ import annotations

from pathlib import Path

from rankscope.analysis.accounts import accounts
from rankscope.analysis.looked_twice import gets_on
from rankscope.formats.gather import gather
from rankscope.model.diagnosis import GETS_ON, Diagnosis, Kind
from rankscope.pipeline import case_of, judge
from rankscope.rules.told import prints_compared
from rankscope.rules.told._threads_calling import calls_at_once

STEPS = "".join(
    f"2026-03-02 10:00:{step:02d},100 [rank{rank}] INFO engine: epoch 0 step {step} loss 2.{99 - step}\n"
    for step in range(5, 25, 5)
    for rank in range(3)
)
ROWS = (
    "  PID  PPID STAT WCHAN                ELAPSED     TIME COMMAND\n"
    "--\n"
    "4101 4100 Ssl  futex_do_wait            01:04 00:00:02 python -u train.py\n"
    "4102 4100 Tl   do_signal_stop           01:04 00:00:02 python -u train.py\n"
)


FAULT = (
    "Current thread 0x00007f4550c06b80 (most recent call first):\n"
    '  File "torch/distributed/distributed_c10d.py", line 3038 in all_reduce\n  File "hook.py", line 9 in publish\n'
)


def _dump(rank: int, *frames: str) -> str:
    lines = "".join(f"    {frame}\n" for frame in frames)
    return f'Process 410{rank}: python -u train.py\nPython v3.11.7 (python)\n\nThread 410{rank} (idle): "MainThread"\n{lines}'


def _in_all_reduce(rank: int) -> str:
    return _dump(
        rank, "all_reduce (torch/distributed/distributed_c10d.py:3038)", "publish (hook.py:9)", "<module> (train.py:17)"
    )


def _in(rank: int, call: str) -> str:
    return _dump(
        rank, f"{call} (torch/distributed/distributed_c10d.py:2300)", "give (stage.py:9)", "<module> (train.py:17)"
    )


def _elsewhere(rank: int) -> str:
    return _dump(rank, "add (registry.py:18)", "<module> (train.py:17)")


def _native(rank: int) -> str:
    return (
        f'Thread 1 (Thread 0x7f4550c06b80 (LWP 77{rank}) "python"):\n'
        "#0  futex_wait (private=0) at futex-internal.c:57\n"
        "#1  0x00007f453fd12501 in c10d::Work::wait(std::chrono::duration<long>) () from libtorch_cpu.so\n"
        "#2  0x000055953d163081 in _start ()\n"
    )


def _judged(tmp_path: Path, files: dict[str, str]) -> Diagnosis:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return judge(gather([tmp_path]))


def test_a_second_tool_makes_no_second_collective(tmp_path: Path) -> None:
    """gdb calls every collective a wait; who was seen by both stands where the dump with the pid says."""
    files = {f"pyspy/rank{rank}.txt": _in_all_reduce(rank) for rank in (0, 2)} | {"pyspy/rank1.txt": _in(1, "barrier")}
    files |= {f"gdb/rank{rank}.txt": _native(rank) for rank in (0, 1)}
    found = _judged(tmp_path, files)
    assert found.verdict is not None
    assert list(found.verdict.ranks) == [1]
    assert [one.title for one in found.findings if "another collective" in one.title] == [
        "rank 1 stands in another collective (barrier) than the others"
    ]


def test_of_two_ranks_nobody_is_the_other(tmp_path: Path) -> None:
    found = _judged(tmp_path, {"rank0.txt": _in(0, "barrier"), "rank1.txt": _in(1, "broadcast")})
    assert found.verdict is not None
    assert found.verdict.cls == "collective-missed-by-rank"
    assert list(found.verdict.ranks) == []


def test_steps_in_a_log_do_not_clear_what_stacks_show(tmp_path: Path) -> None:
    """Nothing tells whether the log or the stacks are later: nothing is decided, and what they show is told."""
    files = {f"pyspy/rank{rank}.txt": _in_all_reduce(rank) for rank in (0, 1)} | {"pyspy/rank2.txt": _elsewhere(2)}
    found = _judged(tmp_path, files | {"console.log": STEPS})
    assert found.verdict is None
    assert found.evidence_weak
    assert any(one.kind is Kind.NOTE and GETS_ON in one.against for one in found.findings)


def test_what_a_console_says_is_done_waits_for_nobody(tmp_path: Path) -> None:
    """Ranks in sends and receives are all that stand, whatever was done before, and whatever a process table shows of futexes."""
    files = {f"pyspy/rank{rank}.txt": _in(rank, "recv" if rank else "send") for rank in range(3)}
    done = "".join(f"2026-03-02 10:00:0{n},100 [rank{n % 3}] INFO train: micro batch {n} done\n" for n in range(9))
    found = _judged(
        tmp_path, files | {"console.log": done, "ps.txt": ROWS.replace("Tl   do_signal_stop", "Ssl  futex_do_wait ")}
    )
    assert found.verdict is not None
    assert found.verdict.cls == "p2p-order-deadlock"


def test_a_stopped_process_is_stopped_whatever_its_log_said_before(tmp_path: Path) -> None:
    """The rows stand behind a separator of grep."""
    found = _judged(tmp_path, {"console.log": STEPS, "ps.txt": ROWS})
    assert found.verdict is not None
    assert found.verdict.cls == "process-stopped"
    assert "4102" in found.verdict.title


def test_that_programs_are_there_is_no_good_news(tmp_path: Path) -> None:
    """Three steps in a log beside a table in which everybody sleeps do not make "nothing wrong"."""
    sleeping = ROWS.replace("Tl   do_signal_stop ", "Ssl  futex_do_wait  ")
    found = _judged(tmp_path, {"console.log": "".join(STEPS.splitlines(True)[::3]), "ps.txt": sleeping})
    assert found.verdict is None
    assert found.evidence_weak


def test_a_tool_without_pids_shows_the_process_that_is_known(tmp_path: Path) -> None:
    """faulthandler and gdb beside py-spy: three pictures of one thread are neither three ranks nor three threads in a call."""
    files = {f"pyspy/rank{rank}.txt": _in_all_reduce(rank) for rank in (0, 1)} | {"pyspy/rank2.txt": _in(2, "barrier")}
    files["fh/fh_rank0.txt"] = FAULT
    files["gdb/rank0.txt"] = _native(0).replace("LWP 770", "LWP 4100")
    found = _judged(tmp_path, files)
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("collective-missed-by-rank", [2])
    assert not any("two threads" in one.title for one in found.findings)
    files["child/rank0-child4109.txt"] = _dump(0, "get (queues.py:367)", "worker (pool.py:114)").replace("4100", "4109")
    found = _judged(tmp_path, files)
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("collective-missed-by-rank", [2])
    case = case_of(gather([tmp_path]))
    assert sorted(member.ref.pid for member in case.members) == [4100, 4101, 4102, 4109]
    assert sum(0 in one.ranks for one in accounts(case)) == 2  # the rank, and its child that has its name


def test_two_tools_are_no_two_moments(tmp_path: Path) -> None:
    """Native frames that py-spy and gdb name in two ways have not moved in between; the same tool twice tells."""
    spied = _dump(0, "futex_wait (libc.so.6)", "c10d::Work::wait (libtorch.so)", "forward (model.py:9)")
    moved = spied.replace("futex_wait", "epoll_wait").replace("forward (model.py:9)", "step (optim.py:4)")
    debugged = f"Attaching to process 4100\n{_native(0).replace('LWP 770', 'LWP 4100')}"
    for folder, text in (("two", spied), ("one", f"{spied}\n{moved}")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rank0.txt").write_text(text)
        (tmp_path / folder / "gdb_rank0.txt").write_text(debugged)
    cases = {folder: case_of(gather([tmp_path / folder])) for folder in ("two", "one")}
    assert [any(one.again for one in accounts(case)) for case in cases.values()] == [False, True]
    assert {folder: gets_on(case) for folder, case in cases.items()} == {"two": None, "one": "gdb rank0"}


def test_a_call_that_two_tools_show_is_no_call_of_two_threads(tmp_path: Path) -> None:
    (tmp_path / "spied.txt").write_text(_in_all_reduce(0))
    (tmp_path / "fh_pid4100.txt").write_text(FAULT)
    (account,) = (one for one in accounts(case_of(gather([tmp_path]))) if one.seen)
    assert {seen.engine for seen in account.seen} == {"py-spy dump", "faulthandler"}
    assert not calls_at_once(account)


def test_the_heading_of_a_dump_is_no_print_of_a_rank(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Process 3: joined\nProcess 2: joined\n")
    (tmp_path / "rank1.txt").write_text(_elsewhere(1))
    case = case_of(gather([tmp_path]))
    assert set(prints_compared.printed(case)) == {2, 3}


def test_one_dump_of_who_waits_for_an_empty_queue_is_not_clean(tmp_path: Path) -> None:
    """Somebody put into it, and nothing tells for how long nobody has taken it; who waits to get something may idle."""
    frames = ("Condition.wait (threading.py:327)", "Queue.{} (queue.py:90)", "flush (uploads.py:27)")
    weak = {}
    for call in ("join", "get"):
        (tmp_path / call).mkdir()
        (tmp_path / call / "rank0.txt").write_text(_dump(0, *(frame.format(call) for frame in frames)))
        found = judge(gather([tmp_path / call]))
        assert found.verdict is None
        weak[call] = found.evidence_weak
    assert weak == {"join": True, "get": False}


def test_who_moved_between_two_looks_of_a_tool_without_pids_has_moved(tmp_path: Path) -> None:
    """However often another tool has looked."""
    steps = FAULT.replace("in all_reduce", "in barrier").replace("line 9 in publish", "line 12 in clear")
    for folder, text in (("stands", FAULT + FAULT), ("moves", f"{FAULT}\n{steps}")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "rank0.txt").write_text(_in_all_reduce(0))
        (tmp_path / folder / "fh_rank0.txt").write_text(text)
    assert {name: gets_on(case_of(gather([tmp_path / name]))) is not None for name in ("stands", "moves")} == {
        "stands": False,
        "moves": True,
    }


def test_a_log_that_gets_on_does_not_clear_who_waits(tmp_path: Path) -> None:
    """It may have ended before somebody looked: nothing is decided, and that is said."""
    files = {f"pyspy/rank{rank}.txt": _in_all_reduce(rank) for rank in range(3)}
    found = _judged(tmp_path, files | {"console.log": STEPS})
    assert found.verdict is None
    assert found.evidence_weak


def test_calls_that_strace_saw_return_are_no_waits(tmp_path: Path) -> None:
    """strace -f breaks a call off where another thread's comes between; the rest of it stands below."""
    call = "[pid 4103] 10:00:0{} futex(0x7f20, FUTEX_WAIT_PRIVATE, 2, NULL <unfinished ...>\n"
    back = "[pid 4103] 10:00:02 <... futex resumed>) = -1 EAGAIN (Resource temporarily unavailable)\n"
    forked = {"note.txt": "the workers are forked (popen_fork.py)\n"}
    assert _judged(tmp_path / "stands", {"trace.txt": call.format(1)} | forked).verdict is not None
    assert _judged(tmp_path / "returns", {"trace.txt": call.format(1) + back} | forked).verdict is None


def test_states_and_calls_alone_are_not_clean(tmp_path: Path) -> None:
    for name, text in (
        ("trace.txt", "strace: Process 4101 attached\n"),
        ("status.txt", "Name:\tpython\nState:\tS (sleeping)\n"),
    ):
        found = _judged(tmp_path / name.partition(".")[0], {name: text})
        assert found.verdict is None
        assert found.evidence_weak


def test_a_log_that_ends_in_an_error_does_not_read_well(tmp_path: Path) -> None:
    """However many good steps it has before it."""
    error = "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/app/v.py\", line 3, in ids\n[rank1]: KeyError: 'a'\n"
    found = _judged(tmp_path, {"console.log": STEPS + error})
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("dead-rank", [1])


LOOP = _dump(1, "work (train.py:9)", "main (train.py:30)", "<module> (train.py:40)")


def test_who_runs_at_one_place_may_be_at_work(tmp_path: Path) -> None:
    """Also where it was looked at twice: at how long a step it is, two looks do not tell."""
    others = {f"pyspy/rank{rank}.txt": _in_all_reduce(rank) for rank in (0, 2)}
    for state, sure in (("active", "possible"), ("idle", "likely")):
        look = LOOP.replace("(idle)", f"({state})")
        found = _judged(tmp_path / state, others | {"pyspy/rank1.txt": look, "pyspy/rank1_again.txt": look})
        (alone,) = (one for one in found.findings if one.rule == "person-asked")
        assert (alone.certainty.value, list(alone.ranks)) == (sure, [1])


def test_who_left_the_common_way_first_is_the_odd_one(tmp_path: Path) -> None:
    """Each stands in a place of its own; two of them are in one kind of call, below the same loop."""
    ways = {
        0: (
            "all_reduce (torch/distributed/distributed_c10d.py:3252)",
            "reduce_tp (p.py:19)",
            "epoch (t.py:23)",
            "main (t.py:36)",
        ),
        1: ("barrier (torch/distributed/distributed_c10d.py:5356)", "main (t.py:38)"),
        2: (
            "all_reduce (torch/distributed/distributed_c10d.py:3252)",
            "average_dp (p.py:25)",
            "epoch (t.py:24)",
            "main (t.py:36)",
        ),
    }
    found = _judged(tmp_path, {f"pyspy/rank{rank}.txt": _dump(rank, *way) for rank, way in ways.items()})
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("collective-missed-by-rank", [1])


def test_a_call_under_a_lock_that_the_others_wait_for(tmp_path: Path) -> None:
    inside = _dump(
        0,
        "barrier (torch/distributed/distributed_c10d.py:5356)",
        "after (data.py:15)",
        "prepare (data.py:12)",
        "main (t.py:8)",
    )
    outside = ("FileLock.__enter__ (locks.py:5)", "prepare (data.py:9)", "main (t.py:8)")
    files = {"pyspy/rank0.txt": inside, "pyspy/rank1.txt": _dump(1, *outside), "pyspy/rank2.txt": _dump(2, *outside)}
    found = _judged(tmp_path / "sick", files)
    assert found.verdict is not None
    assert (found.verdict.cls, list(found.verdict.ranks)) == ("lock-order-deadlock", [0])
    elsewhere = inside.replace("prepare (data.py:12)", "tidy (data.py:40)")
    beside = _judged(tmp_path / "alike", files | {"pyspy/rank0.txt": elsewhere})
    assert "call-under-a-lock" not in {one.rule for one in beside.findings}
