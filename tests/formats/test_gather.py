"""Files in any mix become one snapshot: who is who, what is one process, and what is another moment."""

from __future__ import annotations

import gzip
import json
import pathlib
import shutil
from collections.abc import Iterator

import pytest
from test_dlrover import MESSAGE

from rankscope.errors import RankscopeError
from rankscope.formats import files, flight_recorder, reading
from rankscope.formats.gather import events, gather
from rankscope.model.evidence.events import Event, Events
from rankscope.model.evidence.stacks import NativeStacks, PythonStacks
from rankscope.model.gap import Gap, Why
from rankscope.model.process import UNNUMBERED, Role
from rankscope.model.snapshot import Snapshot

STACK = 'Thread 0x7F0 (idle): "MainThread"\n    step (train.py:{})\n    main (train.py:9)\n'


def write(folder: pathlib.Path, **files: str) -> pathlib.Path:
    for name, body in files.items():
        (folder / f"{name}.txt").write_text(body)
    return folder


def stacks(snapshot: Snapshot) -> list[tuple[int, int | None, int]]:
    """(sweep, rank, depth) of every Python stack."""
    ranks = {process.ref: process.rank for process in snapshot.processes}
    return [
        (sweep.index, ranks[item.process], len(thread.stack))
        for sweep in snapshot.sweeps
        for item in sweep.items
        if isinstance(item.record, PythonStacks) and item.process is not None
        for thread in item.record.threads
    ]


def test_a_label_with_several_ranks_is_several_processes(tmp_path: pathlib.Path) -> None:
    """Each of the ranks has the stack that the file shows for all of them."""
    found = gather([write(tmp_path, **{"00_ranks_1-3": STACK.format(5), "01_rank_0": STACK.format(7)})])
    assert sorted(stacks(found)) == [(0, 0, 2), (0, 1, 2), (0, 2, 2), (0, 3, 2)]
    assert {process.role for process in found.processes} == {Role.RANK}
    assert not found.live


def test_two_looks_at_one_rank_are_two_moments(tmp_path: pathlib.Path) -> None:
    """The same thread again is the next sweep, not another process."""
    first, later = STACK.format(5), STACK.format(6)
    found = gather([write(tmp_path, **{"00_rank_2,_first": first, "01_rank_2,_a_minute_later": later})])
    assert stacks(found) == [(0, 2, 2), (1, 2, 2)]
    assert len(found.processes) == 1


def test_the_pid_of_a_dump_joins_its_threads(tmp_path: pathlib.Path) -> None:
    """A Python dump and a native one of one pid are one process."""
    python = 'Process 41: python\nPython v3.11.4 (/usr/bin/python)\n\nThread 41 (idle): "MainThread"\n    f (a.py:1)\n'
    native = 'Process 41: python\n\nThread 41 (idle): "MainThread"\n    poll (libc.so.6)\n    f (a.py:1)\n'
    found = gather([write(tmp_path, a=python, b=native)])
    assert [process.ref.pid for process in found.processes] == [41]
    assert {type(item.record) for sweep in found.sweeps for item in sweep.items} >= {PythonStacks, NativeStacks}


def test_what_cannot_be_read_is_a_gap(tmp_path: pathlib.Path) -> None:
    """A picture among the files costs nothing but a word."""
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n" + bytes(range(256)) * 20)
    write(tmp_path, rank_0=STACK.format(1))
    found = gather([tmp_path])
    assert [gap.what for gap in found.gaps] == ["a.png"]
    assert len(found.processes) == 1


def test_a_reader_that_fails_costs_its_file_alone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other files say stands, and the defect is told."""

    def fails(*_: object) -> None:
        raise ValueError("odd")

    (tmp_path / "a.txt").write_text("step 1\n")
    monkeypatch.setattr(reading, "_text", fails)
    (gap,) = gather([tmp_path]).gaps
    assert (gap.why, "our reader failed: ValueError: odd" in gap.detail) == (Why.FAILED, True)


@pytest.mark.parametrize(
    "odd",
    [
        "PID STAT CMD\n\u00b2 D x\n",
        "PID PPID STAT CMD\n7 \u00b2 D x\n",
        f"Nov 21 09:00:01 node7 python[{'1' * 5000}]: x\n",
        f"(worker pid={'1' * 5000}) x\n",
        f"Process {'1' * 5000}: python\n",
    ],
)
def test_numbers_that_are_none_lose_nothing(odd: str, tmp_path: pathlib.Path) -> None:
    """Digits of other scripts, and more of them than any pid has."""
    (tmp_path / "a.txt").write_text(odd + "ValueError: bad shard\n")
    assert not gather([tmp_path]).gaps


def test_stacks_beyond_the_limit_are_told(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "DUMPS_PER_FILE", 1)
    dumps = "".join(f'Thread {number} (idle): "x"\n    f (a.py:{number})\n' for number in (1, 2, 3))
    (tmp_path / "a.txt").write_text(f"Process 1: python\n\n{dumps}")
    assert [gap.detail for gap in gather([tmp_path]).gaps] == ["2 more stacks left out"]


def test_gzip_is_opened(tmp_path: pathlib.Path) -> None:
    (tmp_path / "rank_4.txt.gz").write_bytes(gzip.compress(STACK.format(3).encode()))
    assert stacks(gather([tmp_path])) == [(0, 4, 2)]


@pytest.mark.skipif(shutil.which("grep") is None, reason="grep is not here")
def test_a_sieved_log_says_the_same(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether grep looks first or our readers see every line, the events are equal."""
    filler = "".join(f"step {number} loss 1.5 tokens/s 9000\n" for number in range(400))
    trouble = "\n".join(
        [
            "[rank3]: Traceback (most recent call last):",
            '[rank3]:   File "/job/train.py", line 3, in main',
            "[rank3]:     load(x)",
            "[rank3]: ValueError: shard 17",
            "[Rank 0] Watchdog caught collective operation timeout:",
            "  WorkNCCL(SeqNum=5, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600)",
            "  ran for 700 milliseconds before timing out.",
            "Root Cause (first observed failure):",
            "[0]:",
            "  time      : x",
            "  rank      : 3 (local_rank: 3)",
            "  exitcode  : 1 (pid: 25)",
            "",
        ]
    )
    (tmp_path / "big.log").write_text((filler + trouble) * 20)
    monkeypatch.setattr(files, "BUFFER", 4096)
    sieved = list(events([tmp_path / "big.log"]))
    monkeypatch.setattr(files, "BUFFER", 1 << 24)
    assert sieved == list(events([tmp_path / "big.log"]))
    assert len(sieved) == 3 * 20


NEWER = '{"is":"snapshot","schema":"rankscope/snapshot","version":99,"made_by":"rankscope 9"}\n'
TORN = '{"is":"snapshot","schema":"rankscope/snapshot","vers\n'


@pytest.mark.parametrize(("head", "why"), [(NEWER, Why.UNSUPPORTED), (TORN, Why.DAMAGED)], ids=["newer", "torn"])
def test_a_snapshot_that_cannot_be_read_costs_no_other_file(tmp_path: pathlib.Path, head: str, why: Why) -> None:
    """It is told as what is missing, and the log beside it is judged."""
    write(tmp_path, job=head, rank_0="ValueError: bad shard\n")
    (gap,) = gather([tmp_path]).gaps
    assert (gap.what, gap.why) == ("job.txt", why)
    told = list(events([tmp_path]))
    assert [one.event for one in told if isinstance(one, Event)] == ["python.exception"]
    assert [one for one in told if isinstance(one, Gap)] == [gap]


@pytest.mark.parametrize(("head", "what"), [(NEWER, "has version 99"), (TORN, "is damaged")], ids=["newer", "torn"])
@pytest.mark.parametrize("beside", ["", "\x00\x01\x02" * 99], ids=["alone", "beside nothing"])
def test_where_there_is_nothing_else_it_is_an_error(tmp_path: pathlib.Path, head: str, what: str, beside: str) -> None:
    """Nothing could be done with what was asked for."""
    write(tmp_path, job=head, **({"other": beside} if beside else {}))
    for ask in (gather, lambda paths: list(events(paths))):
        with pytest.raises(RankscopeError, match=what):
            ask([tmp_path])


def spied(*pids: int) -> str:
    """What py-spy writes of processes, one document for each."""
    frames = [{"name": "step", "filename": "train.py", "line": 5}, {"name": "main", "filename": "train.py", "line": 9}]
    return "\n".join(
        json.dumps([{"pid": pid, "thread_id": pid, "os_thread_id": pid, "frames": frames}], indent=1) for pid in pids
    )


PICKLED = b"\x80\x02}q\x00X\x07\x00\x00\x00entriesq\x01]q\x02s." + bytes(4000)


@pytest.mark.parametrize(
    ("data", "whole", "bound", "limit", "told"),
    [
        (spied(41, 42).encode(), [], (reading, "EXPORT_LIMIT"), len(spied(41)) + 9, [Why.CUT, Why.DAMAGED]),
        (PICKLED, [Why.MISSING], (flight_recorder, "MOST_BYTES"), 99, [Why.CUT]),
        (MESSAGE * 2, [], (reading, "WHOLE_LIMIT"), len(MESSAGE), [Why.CUT]),
    ],
    ids=["json", "recorder", "protobuf"],
)
def test_what_is_too_large_for_one_piece_is_said(
    data: bytes, whole: list[Why], bound: tuple[object, str], limit: int, told: list[Why], tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """It was cut in silence, or taken as damaged. Of a whole recorder is told that its ring is empty."""
    (tmp_path / "dump").write_bytes(data)
    assert [gap.why for gap in gather([tmp_path]).gaps] == whole
    monkeypatch.setattr(*bound, limit)
    assert [gap.why for gap in gather([tmp_path]).gaps] == told


def test_json_that_is_cut_keeps_the_threads_before(tmp_path: pathlib.Path) -> None:
    """Those of whole documents, and those that are whole in one that breaks off."""
    text = spied(41) + json.dumps([json.loads(spied(pid))[0] for pid in (42, 43, 44)])
    for cut, pids in ((0, [41, 42, 43, 44]), (1, [41, 42, 43, 44]), (30, [41, 42, 43]), (len(text) - 9, [])):
        (tmp_path / "dump.json").write_text(text[: len(text) - cut])
        found = gather([tmp_path])
        assert sorted(process.ref.pid for process in found.processes if process.ref.started != UNNUMBERED) == pids


def test_a_file_too_large_for_memory_costs_no_other(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read of it before counts as well."""

    def grows(*_: object) -> Iterator[Event]:
        yield Event("python.exception", line=1, text="ValueError: bad shard")
        raise MemoryError

    write(tmp_path, a="step 1\n", rank_0=STACK.format(3))
    text = reading._text
    monkeypatch.setattr(
        reading, "_text", lambda stream, *more: (grows if stream.peek()[:4] == b"step" else text)(stream, *more)
    )
    found = gather([tmp_path])
    assert [(gap.what, gap.why, gap.detail) for gap in found.gaps] == [("a.txt", Why.FAILED, "too large for memory")]
    assert stacks(found) == [(0, 0, 2)]
    assert any(isinstance(item.record, Events) for sweep in found.sweeps for item in sweep.items)


def test_what_is_empty_is_called_so(tmp_path: pathlib.Path) -> None:
    """A directory without a file, files without a word; beside others an empty one is nothing to tell."""
    assert [(gap.what, gap.detail) for gap in gather([tmp_path]).gaps] == [(str(tmp_path), "no file is in it")]
    (tmp_path / "a.log").touch()
    (tmp_path / "b.log").write_bytes(bytes(4096))
    assert [(gap.what, gap.detail) for gap in gather([tmp_path]).gaps] == [
        ("a.log", "it is empty"), ("b.log", "it is empty"),
    ]  # fmt: skip
    (tmp_path / "c.log").write_text("hello\n")
    assert gather([tmp_path]).gaps == ()
