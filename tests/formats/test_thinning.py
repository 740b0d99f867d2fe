"""Of a long log, what looks like many lines before it is not read; what begins something, is rare or stands at the end is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats.gather import gather
from rankscope.formats.reading import LAST_OF_A_KIND
from rankscope.formats.text import TextReader
from rankscope.formats.thinning import EVENTS_PER_KIND, TAIL_BYTES, Thinning
from rankscope.model.evidence.events import Event, Events

COLL = (
    "node{0}:{1}:{2} [{0}] NCCL INFO AllReduce: opCount {3:x} sendbuff 0x7f{3:08x} recvbuff 0x7f{3:08x} count {2} datatype 9 "
    "op 0 root 0 comm 0x55d{0:06x} [nranks=8] stream 0x55d\n"
)
STEP = "2025-05-04 04:10:27,{0:03d} - trainer - DEBUG - rank {1}: batch {0} data loading took 0.{2:04d}s\n"


def chatter(begin: int, lines: int) -> str:
    """What a job writes with NCCL_DEBUG_SUBSYS=COLL: a line of NCCL in eight."""
    return "".join(
        COLL.format(at % 7, 1000 + at % 7, at * 7919 % 9973, at)
        if at % 8 == 0
        else STEP.format(at % 1000, at % 7, at * 7919 % 9973)
        for at in range(begin, begin + lines)
    )


ENDLESS = 60_000  # lines, of which every eighth makes an event
TRACEBACK = (
    "[rank3]: Traceback (most recent call last):\n"
    '[rank3]:   File "/app/train.py", line 70, in main\n'
    "[rank3]:     x = table[key]\n"
    "[rank3]: KeyError: 'lang=zz'\n"
)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the lines that a reader was shown."""
    shown: list[int] = []
    feed = TextReader.feed

    def noted(self: TextReader, number: int, *rest: Any) -> Iterator[Any]:
        shown.append(number)
        return feed(self, number, *rest)

    monkeypatch.setattr(TextReader, "feed", noted)
    return shown


def events(path: Path) -> list[Event]:
    """What was read, without plain lines."""
    items = [item.record for sweep in gather([path]).sweeps for item in sweep.items]
    found = [event for record in items if isinstance(record, Events) for event in record.events]
    return [event for event in found if not event.event.startswith("text.")]


def test_most_of_a_long_log_of_chatter_is_not_read(tmp_path: Path, read: list[int]) -> None:
    """As many lines of NCCL as are kept, some dozen of each other kind, and the end."""
    (tmp_path / "job.log").write_text(chatter(0, ENDLESS))
    (gap,) = gather([tmp_path]).gaps
    assert gap.detail == f"{ENDLESS // 8 - EVENTS_PER_KIND - LAST_OF_A_KIND} more nccl.coll left out"
    assert EVENTS_PER_KIND < len(read) < EVENTS_PER_KIND + 1000 + TAIL_BYTES // 80
    assert read == sorted(set(read))
    assert max(read) > ENDLESS - 8


def test_a_traceback_behind_much_chatter_is_read(tmp_path: Path) -> None:
    """Wherever it stands, with all of its lines; the chatter of others in the middle of it does not matter."""
    first, second, *rest = TRACEBACK.splitlines(keepends=True)
    said = first + chatter(1, 2) + second + chatter(1, 2) + "".join(rest)
    (tmp_path / "job.log").write_text(chatter(0, ENDLESS) + said + chatter(ENDLESS, ENDLESS))
    (failed,) = (event for event in events(tmp_path) if event.event == "python.exception")
    assert (failed.rank, failed.fields["type"], failed.line) == (3, "KeyError", ENDLESS + 8)
    assert failed.fields["frames"] == ("/app/train.py:70 main",)


def test_errors_of_many_ranks_that_are_alike_are_all_read(tmp_path: Path) -> None:
    """Only the number of the rank makes a difference between them, and is what matters."""
    said = [
        f"[rank{rank}]:[E504 06:33:29.1 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=2000, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600012 "
        "milliseconds before timing out.\n"
        for rank in range(1500)
    ]
    (tmp_path / "job.log").write_text(chatter(0, ENDLESS) + "".join(said) + chatter(ENDLESS, ENDLESS))
    late = [event.rank for event in events(tmp_path) if event.event == "torch.watchdog_timeout"]
    assert late == list(range(1500))


def test_the_last_of_very_many_errors_are_kept(tmp_path: Path) -> None:
    """The first and the last tell more than those between them."""
    said = [f"[rank{at % 8}]: ValueError: sample {at} is empty\n" for at in range(8000)]
    (tmp_path / "job.log").write_text("".join(said) + "[rank5]: KeyError: 'lang=zz'\n")
    found = [event for event in events(tmp_path) if event.event == "python.exception"]
    assert (found[0].line, found[-1].fields["type"], found[-1].rank) == (1, "KeyError", 5)


@given(st.lists(st.text(alphabet="ab1 -:", min_size=1, max_size=9), max_size=30), st.integers(1, 5))
def test_who_learns_nothing_leaves_nothing_out(lines: list[str], size: int) -> None:
    """All lines come out as they came in, however they are cut into blocks."""
    raw = [line.encode() for line in lines]
    blocks = [b"".join(one + b"\n" for one in raw[at : at + size]) for at in range(0, len(raw), size)]
    assert list(Thinning().lines(blocks)) == raw


def test_a_shape_that_began_something_is_always_read() -> None:
    """A heading names the rank of the lines below it, whatever its number is."""
    thinning = Thinning()
    block = b"".join(b"%d:== rank %d ==\n%d-words\n" % (n, n, n) for n in range(1, 1001)).ljust(TAIL_BYTES, b"x")
    shown = []
    for line in thinning.lines([block, b"1001:the end\n" * (TAIL_BYTES // 13 + 1)]):
        shown.append(line)
        thinning.learn([], began=b"==" in line, is_open=False)
    assert sum(b"==" in line for line in shown) == 1000
    assert sum(b"words" in line for line in shown) < 100


def test_what_never_ends_does_not_make_all_be_read() -> None:
    """A traceback that was cut stays open; lines of a known shape are left out again after a while."""
    thinning = Thinning()
    block = b"".join(b"%d-words\n" % n for n in range(9000))
    shown = 0
    for line in thinning.lines([block, b"1:Traceback\n", block, b"9:the end\n" * (TAIL_BYTES // 10 + 1)]):
        shown += b"words" in line
        thinning.learn([], began=False, is_open=shown > 60 or b"Trace" in line)
    assert shown < 3000
