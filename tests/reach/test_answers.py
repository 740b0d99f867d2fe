"""Answers of nodes: whole, broken off, damaged, noisy, or much too large."""

from __future__ import annotations

import base64
import errno
import zlib
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from rankscope.model.gap import Why
from rankscope.probe.post import MARK
from rankscope.reach import answers
from rankscope.reach.answers import Answers, Inbox

from .conftest import answer

WHOLE = answer("node1", (0, 1))


def read(raw: bytes) -> Inbox:
    inbox = Inbox("node1", now=lambda: 0.0)
    for line in raw.split(b"\n"):
        inbox.feed(line)
    return inbox


def test_a_whole_answer_holds_the_job_its_processes_and_both_sweeps() -> None:
    inbox = read(WHOLE)
    (part,) = inbox.parts()
    assert inbox.ended
    assert part.host.name == "node1"
    assert [process.rank for process in part.snapshot.processes] == [0, 1]
    assert [len(sweep.items) for sweep in part.snapshot.sweeps] == [4, 4]


@given(st.integers(0, len(WHOLE)))
def test_an_answer_that_breaks_off_anywhere_keeps_what_had_arrived(cut: int) -> None:
    inbox = read(WHOLE[:cut])
    seen = [process.rank for part in inbox.parts() for process in part.snapshot.processes]
    assert seen in ([], [0], [0, 1])
    assert inbox.ended == (
        cut >= len(WHOLE) - 1 or WHOLE[:cut].rsplit(b"\n", 1)[-1].startswith(f"{MARK} 1 end".encode())
    )


@given(st.integers(0, len(WHOLE) - 1), st.binary(min_size=1, max_size=3))
def test_an_answer_that_was_damaged_on_the_way_never_raises(at: int, garbage: bytes) -> None:
    read(WHOLE[:at] + garbage + WHOLE[at + len(garbage) :]).parts()


@given(st.lists(st.binary(max_size=60), max_size=8))
def test_anything_a_node_says_is_read_without_harm(lines: list[bytes]) -> None:
    inbox = read(b"\n".join(lines))
    assert inbox.parts() == ()


def test_what_a_login_script_prints_is_passed_over_and_kept_as_a_hint() -> None:
    inbox = read(b"Welcome\r\n: looks like data\n" + WHOLE + b"bye\n")
    assert inbox.ended
    assert len(inbox.parts()) == 1
    assert b"Welcome" in inbox.noise


def test_an_answer_that_unpacks_without_end_is_cut(monkeypatch) -> None:
    monkeypatch.setattr(answers, "UNPACKED_LIMIT", 1 << 20)
    bomb = base64.b64encode(zlib.compress(b"x" * (64 << 20)))
    lines = [WHOLE.split(b"\n")[0], *(b":" + bomb[i : i + 980] for i in range(0, len(bomb), 980))]
    inbox = read(b"\n".join(lines))
    assert "more than 1 MiB" in inbox.trouble()


def test_another_version_of_the_agent_is_refused_by_name() -> None:
    inbox = read(b"rankscope-agent 9 begin {}\n")
    assert "version '9'" in inbox.trouble()


def test_the_offset_of_a_hosts_clock_is_measured(make_answer: Callable[..., bytes]) -> None:
    late = Inbox("node1", now=lambda: 10.0)
    late.feed(b'rankscope-agent 1 begin {"host": "node1", "now": 3610.5}')
    assert late.offset_s == 3600.5


def test_each_job_of_a_host_is_a_part_of_its_own(make_answer: Callable[..., bytes]) -> None:
    """Two headers in one answer: processes belong to the header before them, evidence to its process."""
    from rankscope.model import wire
    from rankscope.model.process import Process, ProcessRef, Role
    from rankscope.model.snapshot import Effort, Host, Job
    from rankscope.probe.post import Post

    out: list[bytes] = []
    post = Post(out.append)
    post.begin("node1")
    writer = wire.Writer(post.text)
    for name, pid in (("a.py", 10), ("b.py", 20)):
        writer.header("test", Job("torchrun", name=name), (Host("node1"),))
        writer.process(Process(ProcessRef("node1", pid, 1), Role.RANK, rank=0))
    writer.sweep(0, 1.0)
    writer.present((ProcessRef("node1", 10, 1), ProcessRef("node1", 20, 1)))
    writer.end(Effort())
    post.end()
    parts = read(b"".join(out)).parts()
    assert [(part.job.name, [p.ref.pid for p in part.snapshot.processes]) for part in parts] == [
        ("a.py", [10]), ("b.py", [20])]  # fmt: skip
    assert [sweep.present[0].pid for part in parts for sweep in part.snapshot.sweeps] == [10, 20]


def test_silence_is_a_gap_with_its_reason() -> None:
    heard = Answers(("node1", "node2"))
    for line in WHOLE.split(b"\n"):
        heard.feed("node1", line)
    heard.feed("node2", b"Last login: today")
    heard.close(20.0)
    assert list(heard.gaps) == ["node2"]
    assert heard.gaps["node2"].why is Why.TIMEOUT
    assert "Last login" in heard.gaps["node2"].detail


def test_an_answer_that_cannot_be_taken_costs_no_other_its_own() -> None:
    """A number of 400 digits, and a header of a newer rankscope: the other host is heard to its end."""
    for line in (
        b'rankscope-agent 1 begin {"now": ' + b"9" * 400 + b"}",
        b'rankscope-agent 1 begin {"now": Infinity}',
        answer("node1", (0, 1)).split(b"\n")[0]
        + b"\n:"
        + _packed(b'{"is":"snapshot","schema":"rankscope/snapshot","version":99}\n'),
    ):
        heard = Answers(("node1", "node2"))
        for one in (*line.split(b"\n"), f"{MARK} 1 end 9".encode()):
            heard.feed("node1", one)
        for one in answer("node2", (0, 1)).split(b"\n"):
            heard.feed("node2", one)
        heard.close(20.0)
        assert list(heard.gaps) == ["node1"]
        assert heard.inboxes["node2"].ended


def test_a_full_disk_below_raw_dir_costs_what_is_kept_and_nothing_else() -> None:
    def full(_: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    heard = Answers(("node1",))
    heard.inboxes["node1"].raw = full
    for line in WHOLE.split(b"\n"):
        heard.feed("node1", line)
    heard.close(20.0)
    assert len(heard.inboxes["node1"].parts()) == 1
    assert not heard.gaps
    (word,) = heard.words()
    assert "No space left" in word.detail


def test_an_answer_with_a_damaged_middle_says_so() -> None:
    first, *data, last = [line for line in WHOLE.split(b"\n") if line]
    heard = Answers(("node1",))
    for line in (first, data[0], b":!!!!", *data[1:], last):
        heard.feed("node1", line)
    heard.close(20.0)
    (word,) = heard.words()
    assert (word.what, word.why) == ("answer", Why.DAMAGED)


def _packed(text: bytes) -> bytes:
    return base64.b64encode(zlib.compress(text))
