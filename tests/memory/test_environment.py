"""What a process set on itself after it was started is read from its memory, by name and nothing else."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness import judging
from harness.pieces import BytesMemory
from memory.standing import label, pythons
from rankscope.memory import environment
from rankscope.memory.source import Unreadable

BASE = 0x5000_0000
NAMES = frozenset({"RANK", "WORLD_SIZE"})
LATE = "import os, sys; os.environ.update(RANK='5', WORLD_SIZE='7', TOKEN='s'); print(1, flush=True); sys.stdin.read()"


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_variables_that_were_set_late_are_there(python: str) -> None:
    """Of every build: with the interpreter in the program itself, or in a library."""
    env = {name: value for name, value in os.environ.items() if name not in NAMES}
    with subprocess.Popen(
        [python, "-c", LATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**env, "RANK": "3"}
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = environment.read("/proc", process.pid, NAMES)
        process.communicate()
    assert found == {"RANK": "5", "WORLD_SIZE": "7"}


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 600).map(lambda n: BASE + n) | st.integers(0, 2**64 - 1), max_size=64),
    st.binary(max_size=300),
)
def test_any_memory_gives_wanted_names_or_a_refusal(words: list[int], tail: bytes) -> None:
    memory = BytesMemory({BASE: struct.pack(f"<{len(words)}Q", *words) + tail})
    try:
        found = environment.values(memory, BASE, NAMES)
    except Unreadable:
        return
    assert set(found) <= NAMES


SCRIPT = """
import multiprocessing, os, sys, time

def work(number):
    os.environ.update(RANK=str(number), WORLD_SIZE="3", LOCAL_RANK=str(number))
    print(number, flush=True)
    time.sleep(1000)

if __name__ == "__main__":
    children = [multiprocessing.get_context("fork").Process(target=work, args=(n,), daemon=True) for n in range(3)]
    [child.start() for child in children]
    sys.stdin.read()
"""


def test_children_that_number_themselves_are_ranks() -> None:
    """Nothing tells their number but what they set themselves."""
    env = {name: value for name, value in os.environ.items() if not name.endswith(("RANK", "WORLD_SIZE"))}
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env
    ) as process:
        assert process.stdout is not None
        [process.stdout.readline() for _ in range(3)]
        look = judging.run("diagnose", "--json", f"pid:{process.pid}", "--interval", "0.2")
        process.communicate()
    assert look.diagnosis is not None, look.errors
    assert (look.diagnosis["job"]["ranks"], look.diagnosis["job"]["world_size"]) == ([0, 1, 2], 3)
