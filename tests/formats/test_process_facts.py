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


@given(st.binary(max_size=300))
def test_any_bytes_are_read_without_an_error(data):
    process_facts.recognises(data)
    list(process_facts.read(COPIED[:40] + data))
    list(process_facts.read(data))
