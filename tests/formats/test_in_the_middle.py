"""Readers say themselves whether they are in the middle of something: then they are shown lines that nobody would know."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from rankscope.formats import text
from rankscope.formats.events import families
from rankscope.formats.lines import Line, lines_of
from rankscope.formats.records import LineReader
from rankscope.formats.text import DUMPS, TextReader
from rankscope.model.evidence.events import Event

# Their lines are whole in themselves, and what they give at the end is a sum.
BY_LINES = {"strace", "processes", "folded", "pylist"}

TEXT = """\
[rank3]: Traceback (most recent call last):
[rank3]:   File "/job/train.py", line 3, in main
[rank3]:     load(x)
[rank3]: ValueError: shard 17
[Rank 0] Watchdog caught collective operation timeout:
  WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600)
  ran for 700 milliseconds before timing out.
torch.distributed.DistBackendError: NCCL error in: NCCLUtils.hpp:275, remote process exited or there was a network error
Last error:
socketProgress: Connection closed by remote peer node7
index, utilization.gpu [%], memory.used [MiB]
0, 100 %, 70000 MiB
Root Cause (first observed failure):
[0]:
  time      : x
  rank      : 3 (local_rank: 3)
  exitcode  : 1 (pid: 25)
  traceback : x
Process 41: python train.py
Python v3.11.4 (/usr/bin/python3.11)

Thread 41 (idle): "MainThread"
    poll (selectors.py:415)
    main (train.py:9)
Thread 0x00007f11 (most recent call first):
  File "/job/train.py", line 17 in step
  File "/job/train.py", line 9 in main

Thread 3 (Thread 0x7f11 (LWP 91) "python"):
#0  0x00007f00 in poll () from /lib/libc.so.6
#1  0x00007f01 in main () from /usr/bin/python3
frame #0: c10::Error::Error() + 0x57 (0x7f11 in /opt/libc10.so)
(C) File "src/poll.c", line 3, in poll (/usr/lib/libc.so.6)
(Python) File "/job/train.py", line 3, in main
Traceback (most recent call first):
  File "/job/train.py", line 3, in main
    load(x)
Traceback for thread 91 (python) [] (most recent call last):
    (Python) File "/job/train.py", line 3, in main
        load(x)
"""


def readers() -> Iterator[tuple[str, type[LineReader]]]:
    for module in (*families(), *DUMPS):
        yield module.__name__.rsplit(".", 1)[-1], module.Reader


def begun() -> Iterator[tuple[str, LineReader]]:
    """Every reader after every number of lines."""
    lines = list(lines_of(TEXT))
    for name, make in readers():
        for end in range(len(lines) + 1):
            reader = make()
            for line in lines[:end]:
                list(reader.feed(line))
            yield name, reader


def test_what_a_reader_holds_back_it_tells() -> None:
    """Nothing comes from one that is closed while it is at rest."""
    held = set()
    for name, reader in begun():
        busy = reader.busy
        if list(reader.close()) and name not in BY_LINES:
            assert busy, name
            held.add(name)
    assert (
        held
        == {"python", "elastic", "torch_distributed", *(one.__name__.rsplit(".", 1)[-1] for one in DUMPS)} - BY_LINES
    )


def test_all_that_wait_for_further_lines_are_met_here() -> None:
    """And nobody waits before anything came."""
    assert {name for name, reader in begun() if reader.busy} == {
        "python", "elastic", "nccl", "nvidia_smi", "torch_distributed", *(one.__name__.rsplit(".", 1)[-1] for one in DUMPS)
    } - BY_LINES  # fmt: skip
    assert not [name for name, make in readers() if make().busy]


class _Pair:
    """A family of its own: a head, and whatever comes next."""

    def __init__(self) -> None:
        self._pending: Line | None = None

    @property
    def busy(self) -> bool:
        return self._pending is not None

    def feed(self, line: Line) -> Iterator[Event]:
        if self._pending is not None:
            yield Event("pair", line=self._pending.number, text=line.text)
            self._pending = None
        elif line.text == "head-of-a-pair":
            self._pending = line

    def close(self) -> tuple[Event, ...]:
        return ()


def test_a_reader_may_call_what_it_holds_as_it_likes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown the next line, in which there is no word that it knows."""
    monkeypatch.setattr(text, "families", lambda: (SimpleNamespace(NEEDLES=("head-of-a-pair",), Reader=_Pair),))
    # What they look for is remembered by the whole process: the real answer is not to be this one.
    monkeypatch.setattr(text, "all_needles", lambda: ("head-of-a-pair",))
    reader = TextReader(small=False)
    said = [one for number, line in enumerate(["head-of-a-pair", "zzz", "zzz"]) for one in reader.feed(number, line)]
    assert [one.text for one in said if isinstance(one, Event)] == ["zzz"]
