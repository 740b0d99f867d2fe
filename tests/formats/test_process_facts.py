"""Copies of a process's files under /proc, laid beside its stacks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import process_facts
from rankscope.formats.gather import gather
from rankscope.model.evidence.threads import Threads

COPIED = b"""pid 7103
/opt/venv/bin/python -u train.py
State:\tR (running)
Threads:\t5
voluntary_ctxt_switches:\t25
nonvoluntary_ctxt_switches:\t3
futex_do_wait
utime 449 stime 21
utime 456 stime 21
"""


def test_each_line_of_cpu_time_is_a_moment():
    looks = list(process_facts.read(COPIED))
    assert [(look.threads[0].tid, look.threads[0].state, look.threads[0].cpu_s) for look in looks] == [
        (7103, "R", 4.7), (7103, "R", 4.77)]  # fmt: skip
    assert (looks[0].threads[0].wchan, looks[0].threads[0].voluntary, looks[0].threads[0].involuntary) == (
        "futex_do_wait", 25, 3)  # fmt: skip


def test_they_belong_to_the_process_of_that_pid(tmp_path):
    (tmp_path / "rank_2.txt").write_bytes(COPIED)
    snapshot = gather([tmp_path])
    (process,) = (one for one in snapshot.processes if one.ref.pid == 7103)
    assert process.rank == 2
    assert [item.process for sweep in snapshot.sweeps for item in sweep.items if isinstance(item.record, Threads)] == [
        process.ref, process.ref]  # fmt: skip


OTHER = (
    COPIED.replace(b"7103", b"7104").replace(b"R (running)", b"D (disk sleep)").replace(b"futex_do", b"rpc_wait_bit")
)
STATUS = (
    b"Name:\tpython\nUmask:\t0022\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t1\n"
    b"voluntary_ctxt_switches:\t%d\nutime %d stime 1\n"
)


def shown(data: bytes) -> list[tuple[int, str, str, int, float]]:
    """Who, state, wait channel, voluntary switches and CPU time of every moment."""
    threads = [look.threads[0] for look in process_facts.read(data)]
    return [(one.tid, one.state, one.wchan, one.voluntary, one.cpu_s) for one in threads]


def test_two_processes_in_one_text_stay_two():
    """The second had the state, the channel and the times of the first."""
    assert shown(COPIED + OTHER) == [
        (7103, "R", "futex_do_wait", 25, 4.7), (7103, "R", "futex_do_wait", 25, 4.77),
        (7104, "D", "rpc_wait_bit_wait", 25, 4.7), (7104, "D", "rpc_wait_bit_wait", 25, 4.77),
    ]  # fmt: skip


def test_each_has_the_stack_of_its_own():
    """The kernel's, as /proc/PID/stack shows it, innermost first."""
    below = b"[<0>] rpc_wait_bit+0x1e/0xa0\n[<0>] nfs4_run_open_task.isra.0+0x1e/0xa0\n"
    first, _, second, _ = process_facts.read(COPIED + b"[<0>] futex_wait+0x110/0x240\n" + OTHER + below)
    assert [look.threads[0].kernel_stack for look in (first, second)] == [
        ("futex_wait",), ("rpc_wait_bit", "nfs4_run_open_task.isra.0")]  # fmt: skip


def test_copies_of_status_that_run_together_are_told_apart():
    """There the state stands above the pid."""
    body = STATUS % (b"S (sleeping)", 71, 71, 5, 9) + STATUS % (b"R (running)", 72, 72, 6, 99)
    assert shown(body) == [(71, "S", "", 5, 0.1), (72, "R", "", 6, 1.0)]
    assert shown(b"pid 71\n" + STATUS % (b"S (sleeping)", 71, 71, 5, 9)) == [(71, "S", "", 5, 0.1)]


def test_a_second_look_has_its_own_state():
    """And one that noted only the times has the state of the look before."""
    again = b"pid 7104\nutime 500 stime 21\npid 7103\nState:\tS (sleeping)\nutime 456 stime 21\n"
    assert [one[:2] for one in shown(COPIED + OTHER + again)] == [
        (7103, "R"), (7103, "R"), (7104, "D"), (7104, "D"), (7104, "D"), (7103, "S")]  # fmt: skip


def test_of_many_processes_the_last_is_read_too():
    """However long the text is."""
    body = b"".join(STATUS % (b"S (sleeping)", pid, pid, 5, pid) for pid in range(1000, 2000))
    assert [one[0] for one in shown(body)] == list(range(1000, 2000))


def test_two_processes_are_not_one_rank_twice(tmp_path):
    """A file that is called after a rank and shows two processes does not say which of them it is."""
    (tmp_path / "rank_2.txt").write_bytes(COPIED + OTHER)
    assert [(one.ref.pid, one.rank) for one in gather([tmp_path]).processes] == [(7103, None), (7104, None)]


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(data):
    process_facts.recognises(data)
    list(process_facts.read(COPIED[:40] + data))
    list(process_facts.read(data))
