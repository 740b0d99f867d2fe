"""Scalar locals and module globals are read on every Python; strings only when somebody asks for them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest
from standing import label, pythons

from rankscope.memory.scope import telling
from rankscope.model.evidence.stacks import PythonStacks
from rankscope.model.process import ProcessRef
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

PROGRAM = """
import sys, time
class Config:
    lr = 0.1
password = "hunter2"
limit = 23
def work(step, *rest, flag=False, **more):
    global_rank = 5
    loss, nothing, big, small, text = 0.25, None, 3 << 70, -7, "secret"
    shape, sizes, table = (2, 3), [1, 2, 3], {1: 2.5}
    words, nested, long, config = ["a"], [[1]], list(range(100)), Config()
    infinite, empty, one = float("-inf"), (), (True,)
    def inner(unused=None):
        return small
    del text
    sys.stdout.write("ready\\n"); sys.stdout.flush()
    time.sleep(1000)
for step in range(41, 43):
    work(step)
"""
EXPECTED = {
    "global_rank": "5",
    "step": "41",
    "rest": "()",
    "flag": "False",
    "more": "{}",
    "loss": "0.25",
    "nothing": "None",
    "big": str(3 << 70),
    "small": "-7",
    "shape": "(2, 3)",
    "sizes": "[1, 2, 3]",
    "table": "{1: 2.5}",
    "infinite": "-inf",
    "empty": "()",
    "one": "(True,)",
}


@pytest.fixture(scope="module", params=pythons(), ids=label)
def pid(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The program, running on each Python."""
    path = tmp_path_factory.mktemp("job") / "train.py"
    path.write_text(PROGRAM)
    child = subprocess.Popen([request.param, str(path)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        yield child.pid
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def locals_at(pid: int, depth: int, options: StackOptions) -> dict[str, str]:
    """Name and value of the locals of one frame of the main thread."""
    answer = memory.make().stacks(ProcessRef("here", pid), None, None, options)
    assert isinstance(answer, PythonStacks), answer
    return {each.name: each.value for each in answer.threads[0].locals if each.depth == depth}


def test_scalars_are_read_and_nothing_else(pid: int) -> None:
    """Numbers, None and small containers of them; no strings, no objects, no deep or long containers."""
    assert locals_at(pid, 1, StackOptions()) == EXPECTED
    assert locals_at(pid, 1, StackOptions(locals=False)) == {"global_rank": "5"}
    assert locals_at(pid, 0, StackOptions(locals=False)) == {}


def test_a_loop_at_module_level_keeps_its_counter_among_the_globals(pid: int) -> None:
    """The globals of a module frame are its locals; strings among them stay where they are."""
    assert locals_at(pid, 0, StackOptions()) == {"limit": "23", "step": "41"}


def test_strings_are_read_on_request_only(pid: int) -> None:
    """They may hold secrets."""
    asked = StackOptions(strings=True)
    assert locals_at(pid, 0, asked)["password"] == "'hunter2'"
    assert locals_at(pid, 1, asked)["words"] == "['a']"


def test_locals_of_libraries_are_left_alone() -> None:
    """But for those whose locals say who waits for whom."""
    assert telling("/home/me/train.py")
    assert not telling("/env/lib/python3.11/site-packages/torch/nn/modules/module.py")
    assert telling("/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py")
    assert telling("/usr/lib/python3.11/multiprocessing/process.py")
