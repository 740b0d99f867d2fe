"""What a thread may wait on, from its wait channel and the descriptors of its process."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.hidden import tcp
from rankscope.model.evidence.files import OpenFile, OpenFiles
from rankscope.model.evidence.may_wait import MayWait, OpenWait
from rankscope.model.evidence.sockets import Socket
from rankscope.model.evidence.threads import KernelThread, Threads
from rankscope.model.process import Process, ProcessRef, Role
from rankscope.probe.collector import Target
from rankscope.probe.collectors.may_wait import collect, possible

FILES = (
    OpenFile(0, "/dev/pts/0", "rw"), OpenFile(1, "/dev/pts/0", "rw"), OpenFile(3, "pipe:[1]", "r"), OpenFile(4, "pipe:[2]", "w"),
    OpenFile(5, "socket:[11]", "rw"), OpenFile(6, "socket:[12]", "rw"), OpenFile(7, "socket:[13]", "rw"),
    OpenFile(8, "socket:[14]", "rw"), OpenFile(9, "socket:[11]", "rw"),
)  # fmt: skip
LISTENS = Socket(14, "tcp", "10.0.0.1:14", "0.0.0.0:0", "listen")
SOCKETS = {
    11: tcp(11, 21),
    12: tcp(12, 22, received=8),
    13: Socket(13, "unix", state="established", peer_inode=23),
    14: LISTENS,
}


@pytest.mark.parametrize(
    ("wchan", "fds"),
    [
        ("anon_pipe_read", (3,)),
        ("pipe_read", (3,)),
        ("anon_pipe_write", (4,)),
        ("wait_woken", (5, 0)),  # not the connection in which data lies; a terminal sleeps there as well
        ("unix_stream_read_generic", (7,)),
        ("inet_csk_accept", (8,)),
        ("poll_schedule_timeout.constprop.0", (3, 5, 7, 8)),
    ],
)
def test_a_wait_channel_leaves_what_fits_it(wchan: str, fds: tuple[int, ...]) -> None:
    """Each connection once, by its first descriptor."""
    found = possible(KernelThread(7, "python", "S", wchan), FILES, SOCKETS)
    assert found is not None
    assert found.fds == fds
    assert found.writes is ("write" in wchan)


def test_what_an_epoll_watches_is_its_threads_business() -> None:
    """The thread in the epoll waits on all of it, another one on none of it."""
    loop = possible(KernelThread(7, "python", "S", "do_epoll_wait"), FILES, SOCKETS, ((5, 7),))
    reads = possible(KernelThread(8, "python", "S", "poll_schedule_timeout"), FILES, SOCKETS, ((5, 7),))
    assert loop == OpenWait(7, (5, 7), many=True)
    assert reads is not None
    assert reads.fds == (3, 8)


def test_who_has_data_in_every_connection_and_much_to_send_writes() -> None:
    """A reader would have taken it."""
    full = {11: tcp(11, 21, received=9, sent=4 << 20)}
    found = possible(KernelThread(7, "python", "S", "wait_woken"), FILES[4:5], full)
    assert found == OpenWait(7, (5,), writes=True)


@pytest.mark.parametrize("wchan", ["futex_do_wait", "hrtimer_nanosleep", "do_wait", "0", ""])
def test_other_channels_are_about_no_descriptor(wchan: str) -> None:
    """Locks, the clock and children have none."""
    assert possible(KernelThread(7, "python", "S", wchan), FILES, SOCKETS) is None


def test_an_epoll_that_is_closed_meanwhile_hides_nothing_else(tmp_path: Path) -> None:
    """Its fdinfo is gone; of the others nothing is left out, and no other one is taken for the only one."""
    files = (*FILES[2:4], OpenFile(10, "anon_inode:[eventpoll]"), OpenFile(11, "anon_inode:[eventpoll]"))
    (tmp_path / "7" / "fdinfo").mkdir(parents=True)
    (tmp_path / "7" / "fdinfo" / "10").write_text("tfd:        5 events:       19\n")
    tasks = (KernelThread(7, "python", "S", "pipe_read"), KernelThread(8, "python", "S", "ep_poll"))
    process = Process(ProcessRef("here", 7, 0), Role.RANK)
    target = Target(process, str(tmp_path), seen={"threads": Threads(tasks), "files": OpenFiles(files)})
    assert collect(target) == MayWait((OpenWait(7, (3,)),))


@settings(deadline=None)
@given(
    st.text(max_size=30),
    st.lists(st.tuples(st.integers(0, 9), st.text(max_size=12), st.sampled_from(["", "r", "w", "rw"]))),
)
def test_no_channel_and_no_link_is_too_strange(wchan: str, files: list[tuple[int, str, str]]) -> None:
    """Names of links are the job's own."""
    found = possible(KernelThread(7, "x", "S", wchan), [OpenFile(*one) for one in files], {})
    assert found is None or found.tid == 7
