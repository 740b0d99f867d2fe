"""The exception that a thread is handling is read on every Python: its type, and the system's number of an OSError."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standing import label, pythons
from test_hostile_memory import BASE, LAYOUTS, PIECES

from harness.pieces import BytesMemory
from rankscope.memory import caught, layouts
from rankscope.memory.objects import Objects
from rankscope.model.evidence.stacks import PythonStacks
from rankscope.model.process import ProcessRef
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

PROGRAM = """
import os, sys, time
class Own(Exception): pass
def pause():
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    time.sleep(1000)
def tries():
    try:
        raise {error}
    except {name}:
        {then}
    yield
def train():
    for _ in tries(): pass
{start}
"""
CASES = {
    "in its handler": ("FileExistsError(17, 'there', 'index')", "FileExistsError", "pause()", "train()", ("FileExistsError", 17)),
    "of another kind": ("ValueError(17)", "ValueError", "pause()", "train()", ("ValueError", 0)),
    "of the program's own": ("Own(28)", "Own", "pause()", "train()", ("Own", 0)),
    "after its handler": ("OSError(28, 'full')", "OSError", "pass", "train(); pause()", ("", 0)),
    "without a number": ("OSError('full')", "OSError", "pause()", "train()", ("OSError", 0)),
    "around a generator": (
        "OSError(28, 'full')", "OSError", "pass\n    pause()",
        "\ntry: os.mkdir('/')\nexcept OSError: train()", ("FileExistsError", errno.EEXIST),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("python", pythons(), ids=label)
def test_what_a_thread_is_handling(tmp_path: Path, python: str, case: str) -> None:
    error, name, then, start, expected = CASES[case]
    path = tmp_path / "train.py"
    path.write_text(PROGRAM.format(error=error, name=name, then=then, start=start))
    with subprocess.Popen([python, str(path)], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            record = memory.make().stacks(ProcessRef("here", child.pid), None, None, StackOptions())
            assert isinstance(record, PythonStacks), record
            assert [(thread.handles, thread.errno) for thread in record.threads] == [expected]
        finally:
            child.kill()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(LAYOUTS, PIECES, st.integers(0, 500))
def test_memory_of_any_content_tells_a_type_or_nothing(layout: layouts.Layout, piece: bytes, start: int) -> None:
    """Whatever lies there, the answer is a name and a number."""
    name, number = caught.of(Objects(BytesMemory({BASE: piece}), layout, {}), BASE + 8 * start)
    assert isinstance(name, str)
    assert 0 <= number < 1 << 32
