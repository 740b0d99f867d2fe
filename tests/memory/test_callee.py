"""Which compiled function a Python frame has called is read from its value stack, on every Python."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standing import label, pythons
from test_hostile_memory import BASE, LAYOUTS, PIECES

from harness.pieces import BytesMemory
from rankscope.memory import callee
from rankscope.memory.code import Body, Code
from rankscope.memory.frames import RawFrame
from rankscope.memory.objects import Objects
from rankscope.model.evidence.stacks import MPI, Frame, PythonStacks
from rankscope.model.process import ProcessRef
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

PROGRAM = """
import functools, sys, threading, time
from time import sleep
LOCK = threading.Lock()
HELD = threading.Lock()
HELD.acquire()
READY = threading.Condition()
PARTLY = functools.partial(sleep)
def train(rank):
    for step in range(3):
        with LOCK, READY:
            left = [rank, rank, rank, rank, rank, rank + (sleep(0) or 5)]
            sys.stdout.write("ready\\n"); sys.stdout.flush()
            {line}
train(7)
"""
# A method of a compiled module, bound to an object that begins as pybind11's do: its head, then a pointer to a C++ object with a
# virtual table, before which lies its type. It never returns, and asks nothing of the interpreter meanwhile.
HANDLE = """
import ctypes, types
class Definition(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p)]
NAME = ctypes.create_string_buffer(b"{kind}")
TYPE = (ctypes.c_void_p * 2)(None, ctypes.addressof(NAME))
TABLE = (ctypes.c_void_p * 2)(ctypes.addressof(TYPE), None)
class Work(ctypes.c_void_p):
    pass
WORK = Work(ctypes.addressof(TABLE) + 8)
PAUSE = Definition(b"wait", ctypes.cast(ctypes.CDLL(None).pause, ctypes.c_void_p).value, 1, None)
make = ctypes.pythonapi.PyCFunction_NewEx
make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
wait = types.MethodType(make(ctypes.addressof(PAUSE), None, "torch._C._distributed_c10d"), WORK)
"""
PYTHONS = pytest.mark.parametrize("python", pythons(), ids=label)


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of the standard library and a type stand for those in which ranks meet."""
    monkeypatch.setattr(callee, "_KNOWN", {"time.": MPI, "_thread.lock.": MPI})


@contextmanager
def running(folder: Path, python: str, line: str, before: str = "") -> Iterator[int]:
    path = folder / "train.py"
    path.write_text(before + PROGRAM.format(line=line))
    with subprocess.Popen([python, str(path)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            yield child.pid
        finally:
            child.kill()


def innermost(pid: int) -> Frame:
    answer = memory.make().stacks(ProcessRef("here", pid), None, None, StackOptions())
    assert isinstance(answer, PythonStacks), answer
    return answer.threads[0].stack[-1]


def comes(pid: int, frame: Frame) -> bool:
    """Whether it is the innermost frame within many looks: right after its message the program still gets there."""
    return any(innermost(pid) == frame for _ in range(500))


@PYTHONS
@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("sleep(1000)", "sleep"),
        ("left = 1.5 + 2 * time.sleep(1000)", "sleep"),
        ("HELD.acquire()", "acquire"),
        ("left = (rank, HELD.acquire(timeout=1000))", "acquire"),
    ],
)
def test_the_function_that_was_called_is_a_frame_of_its_own(
    tmp_path: Path, python: str, line: str, called: str
) -> None:
    """Inside loops and ``with`` blocks, below what earlier calls left on the stack; the locals keep their places."""
    with running(tmp_path, python, line) as pid:
        assert comes(pid, Frame(called, MPI))
        answer = memory.make().stacks(ProcessRef("here", pid), None, None, StackOptions())
        assert isinstance(answer, PythonStacks)
        main = answer.threads[0]
        assert {each.name: (each.depth, each.value) for each in main.locals}["rank"] == (len(main.stack) - 2, "7")


@PYTHONS
@pytest.mark.parametrize("line", ["PARTLY(1000)", "min(map(sleep, [1000, 1000]))"])
def test_what_is_called_by_another_function_is_not_named(tmp_path: Path, python: str, line: str) -> None:
    """The frame called a partial, or a builtin: what these call in turn does not show."""
    with running(tmp_path, python, line) as pid:
        assert not any(innermost(pid).file == MPI for _ in range(50))


@PYTHONS
@pytest.mark.parametrize(
    ("kind", "called"),
    [
        ("N4c10d16ProcessGroupGloo8RecvWorkE", "c10d::ProcessGroupGloo::RecvWork::wait"),
        ("N4c10d18AsyncAllreduceWorkE", "c10d::Work::wait"),
        ("*N4c10d12_GLOBAL__N_118AsyncBroadcastWorkE", "c10d::Work::wait"),
        ("N4c10d8TCPStoreE", None),
    ],
)
def test_what_a_handle_of_torch_waits_for_is_told_by_its_type(
    tmp_path: Path, python: str, kind: str, called: str | None
) -> None:
    with running(tmp_path, python, "wait()", HANDLE.format(kind=kind)) as pid:
        if called is None:
            assert not any(innermost(pid).library for _ in range(50))
        else:
            assert comes(pid, Frame(called, "", library="libtorch_cpu.so"))


@PYTHONS
def test_a_loop_is_no_call(tmp_path: Path, python: str) -> None:
    """What an earlier call left on the stack does not count while nothing is called."""
    with running(tmp_path, python, "while left: left = [rank * step, -rank]") as pid:
        assert not any(innermost(pid).file == MPI for _ in range(50))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(PIECES, LAYOUTS, st.integers(0, 400))
def test_arbitrary_memory_names_a_function_or_none(piece: bytes, layout: object, at: int) -> None:
    """Whatever lies there, reading it ends within bounds and without an error."""
    held = BytesMemory({BASE: piece})
    (kind,) = struct.unpack_from("<Q", piece.ljust(512, b"\0"), at)
    for name in ("builtin_function_or_method", "method_descriptor", "method"):
        objects = Objects(held, layout, {kind: name})  # type: ignore[arg-type]
        code = Code(BASE, piece.ljust(512, b"\0")[:512], Body("/job/train.py", "train", 1, b""))
        found = callee.of(objects, RawFrame(BASE + at, BASE, at), code)
        assert found is None or found.file == MPI or found.library
    assert held.reads < 10_000
