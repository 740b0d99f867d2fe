"""DLRover's binary stack files: written here by the field numbers of its published message."""

from __future__ import annotations

import pathlib

from hypothesis import given
from hypothesis import strategies as st

from rankscope.formats import dlrover
from rankscope.formats.gather import gather
from rankscope.formats.records import Dump
from rankscope.model.evidence.stacks import NativeStacks, PythonStacks
from rankscope.model.gap import Gap, Why


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(raw)) + raw


def frame(function: str, file: str) -> bytes:
    return field(1, function) + field(2, file)


NATIVE = field(1, 91) + field(2, "python") + field(3, frame("pthread_cond_wait", "/usr/lib/libpthread.so.0"))
PYTHON = (
    field(1, 90) + field(2, 1 << 40) + field(3, "MainThread") + field(4, 90) + field(6, 1)
    + field(7, frame("all_reduce", "torch/distributed/distributed_c10d.py:2501")) + field(7, frame("<module>", "train.py:7"))
)  # fmt: skip
MESSAGE = field(1, NATIVE) + field(2, PYTHON) + field(3, 90) + field(4, 5) + field(11, "S (sleeping)")


def test_threads_of_a_process_with_rank_and_pid(tmp_path: pathlib.Path) -> None:
    """Whatever the file is called, its content says what it is."""
    (tmp_path / "anything.bin").write_bytes(MESSAGE)
    found = gather([tmp_path])
    (process,) = found.processes
    assert (process.rank, process.ref.pid) == (5, 90)
    records = {type(item.record): item.record for sweep in found.sweeps for item in sweep.items}
    python, native = records[PythonStacks], records[NativeStacks]
    assert isinstance(python, PythonStacks)
    assert isinstance(native, NativeStacks)
    thread = python.threads[0]
    assert [(f.function, f.line) for f in thread.stack] == [("<module>", 7), ("all_reduce", 2501)]
    assert (thread.tid, thread.name, thread.holds_gil, thread.active) == (90, "MainThread", True, False)
    assert native.threads[0].stack[0].library == "/usr/lib/libpthread.so.0"


def test_a_negative_rank_is_none() -> None:
    """A negative number is written as one of 64 bits."""
    (found,) = dlrover.read(field(2, PYTHON) + field(3, 90) + field(4, (1 << 64) - 1))
    assert isinstance(found, Dump)
    assert found.rank is None


def test_a_file_cut_off_keeps_its_first_threads() -> None:
    said = list(dlrover.read(MESSAGE[: len(field(1, NATIVE)) + 20], "x"))
    assert [type(one) for one in said] == [Dump, Gap]
    assert isinstance(said[1], Gap)
    assert said[1].why is Why.DAMAGED


def test_other_bytes_are_not_taken_for_it() -> None:
    assert dlrover.recognises(MESSAGE)
    for other in (b"\x0a\x0a\x0a text that begins with empty lines\n", b"", b"\x12\x00", b"\n" * 400, b"\x80\x04}"):
        assert not dlrover.recognises(other)


@given(st.binary(max_size=400))
def test_any_bytes_come_to_an_end(data: bytes) -> None:
    dlrover.recognises(data)
    assert all(isinstance(one, (Dump, Gap)) for one in dlrover.read(data))
