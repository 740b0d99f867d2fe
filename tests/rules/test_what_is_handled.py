"""The error in whose handler a program stands tells why it tries again; who does something else is left alone."""

from __future__ import annotations

import dataclasses
import errno

import pytest
from test_one_machine import MAIN, Body, One, body, causes, told

from rankscope.model.diagnosis import Kind
from rankscope.model.evidence.blocked import BlockedCall
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.sockets import Socket, Sockets
from rankscope.model.evidence.stacks import Frame, PythonStacks
from rankscope.model.evidence.task_limit import TaskLimit
from rankscope.model.evidence.threads import Threads
from rankscope.model.process import Role

NAPS = One((MAIN, Frame("keep", "/job/train.py", 3)), BlockedCall(0, "clock_nanosleep", timed=True), wchan="hrtimer_nanosleep",
           still_s=0.1, turns=9)  # fmt: skip
ASKS = One(
    (MAIN, Frame("step", "/job/train.py", 9)), BlockedCall(0, "recvfrom", (3,)), wchan="unix_stream_read_generic"
)


def handling(made: Body, name: str, number: int) -> Body:
    """The same process, whose main thread handles an error."""
    process, looks = made
    return process, tuple(tuple(_handling(record, name, number) for record in look) for look in looks)


def _handling(record: object, name: str, number: int) -> object:
    if not isinstance(record, PythonStacks):
        return record
    first, *rest = record.threads
    return dataclasses.replace(record, threads=(dataclasses.replace(first, handles=name, errno=number), *rest))


def rank(number: int, one: One, peer: int | None = None, *more: object) -> Body:
    """A rank; with a peer, the two are connected."""
    pid = 70 + number
    ends = (
        (OpenFiles((OpenFile(3, f"socket:[{pid}]", "rw"),)), Sockets((Socket(pid, "unix", peer_inode=70 + peer),)))
        if peer is not None
        else ()
    )
    return body(pid, one, rank=number, role=Role.RANK, more=(*ends, *more))


@pytest.mark.parametrize(
    ("number", "cls"),
    [
        (errno.ENOSPC, "storage-full"),
        (errno.EDQUOT, "storage-full"),
        (errno.EFBIG, "resource-limit"),
        (errno.EAGAIN, "rank-stuck-in-user-code"),
    ],
)
def test_a_write_that_found_no_room_is_tried_again(number: int, cls: str) -> None:
    """No file is open while it pauses; the error is all that is left of the write."""
    found = told(handling(rank(0, NAPS, 1), "OSError", number), rank(1, ASKS, 0), launcher="environment")
    assert found.verdict is not None
    assert (found.verdict.cls, str(found.verdict.ranks)) == (cls, "0")


@pytest.mark.parametrize(
    ("name", "number", "count", "cls"),
    [
        ("BlockingIOError", errno.EAGAIN, 7, "resource-limit"),
        ("RuntimeError", 0, 7, "resource-limit"),
        ("BlockingIOError", errno.EAGAIN, 5, "rank-stuck-in-user-code"),
        ("TimeoutError", errno.ETIMEDOUT, 7, "rank-stuck-in-user-code"),
    ],
)
def test_a_group_that_is_full_lets_nobody_fork(name: str, number: int, count: int, cls: str) -> None:
    """One that has room, and an error that has nothing to do with processes, explain nothing."""
    tries = handling(rank(0, NAPS, 1, TaskLimit("/step", count, 7)), name, number)
    found = told(tries, rank(1, ASKS, 0), launcher="environment")
    assert found.verdict is not None
    assert (found.verdict.cls, str(found.verdict.ranks)) == (cls, "0")


def test_the_error_is_a_reason_where_no_rule_knows_it() -> None:
    found = told(handling(rank(0, NAPS, 1), "ConnectionRefusedError", 111), rank(1, ASKS, 0), launcher="environment")
    texts = [why.text for one in found.findings if one.kind is Kind.CAUSE for why in one.because]
    assert "it is handling ConnectionRefusedError (ECONNREFUSED: Connection refused)" in texts


def test_all_ranks_ask_for_a_name_that_exists() -> None:
    both = [handling(rank(number, NAPS), "FileExistsError", errno.EEXIST) for number in (0, 1)]
    found = told(*both, launcher="environment")
    assert causes(found) == {("exists-already", "file-lock-stale")}
    assert found.verdict is not None
    assert str(found.verdict.ranks) == "0-1"


@pytest.mark.parametrize(
    "other", [NAPS, One((MAIN, Frame("write", "/job/train.py", 30)), state="R", wchan="", still_s=0.0, turns=5)]
)
def test_a_rank_that_does_something_else_may_be_the_one_that_holds_it(other: One) -> None:
    found = told(handling(rank(0, NAPS), "FileExistsError", errno.EEXIST), rank(1, other), launcher="environment")
    assert ("exists-already", "file-lock-stale") not in causes(found)


@pytest.mark.parametrize(("other", "found"), [
    (handling(body(72, NAPS, parent=70), "FileExistsError", errno.EEXIST), {("exists-already", "file-lock-stale")}),
    (body(72, NAPS, parent=70), set()),
])  # fmt: skip
def test_all_children_of_a_program_without_ranks_ask_for_a_name_that_exists(
    other: Body, found: set[tuple[str, str]]
) -> None:
    """Their parent waits for their end: how long it has done so tells nothing. One that does something else may hold it."""
    minds = One(
        (MAIN, Frame("Popen.wait", "/usr/lib/python3.11/subprocess.py", 1264)),
        BlockedCall(0, "wait4", child=71),
        wchan="do_wait",
    )
    asks = handling(body(71, NAPS, parent=70), "FileExistsError", errno.EEXIST)
    said = told(body(70, minds, role=Role.LAUNCHER), asks, other)
    assert {one for one in causes(said) if one[0] == "exists-already"} == found


@pytest.mark.parametrize(("still_s", "accused"), [(99.0, True), (0.4, False)])
def test_who_has_only_begun_to_wait_for_it_accuses_nobody(still_s: float, accused: bool) -> None:
    """A lock that is left for a moment, or broken by its age, is asked for like one that stays."""
    peer = dataclasses.replace(ASKS, still_s=still_s)
    asks = handling(rank(0, NAPS, 1), "FileExistsError", errno.EEXIST)
    found = told(asks, rank(1, peer, 0), launcher="environment")
    assert (("exists-already", "file-lock-stale") in causes(found)) is accused


def test_what_is_written_again_and_again_without_room_is_no_progress() -> None:
    """Each try writes until the disk is full."""
    process, looks = handling(rank(0, NAPS, 1), "OSError", errno.ENOSPC)
    writes = tuple(tuple(_wrote(record, at << 20) for record in look) for at, look in enumerate(looks))
    found = told((process, writes), rank(1, ASKS, 0), launcher="environment")
    assert found.verdict is not None
    assert found.verdict.cls == "storage-full"


def _wrote(record: object, size: int) -> object:
    return dataclasses.replace(record, written_bytes=size, read_bytes=0) if isinstance(record, Threads) else record


def test_a_write_without_a_known_file_is_asked_about_where_its_process_is() -> None:
    """Its reader stands somewhere else."""
    found = told(handling(rank(0, NAPS, 1), "OSError", errno.ENOSPC), rank(1, ASKS, 0), launcher="environment")
    steps = [str(one) for one in found.next if str(one).startswith(("df", "du"))]
    assert all("/proc/70/cwd/" in one for one in steps), steps
    assert steps
