"""The name and the ranks of the process group that a call of torch.distributed was given are read on every Python."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest
from standing import label, pythons

from rankscope.model.evidence.stacks import PythonStacks
from rankscope.model.process import ProcessRef
from rankscope.probe.engine import StackOptions
from rankscope.probe.engines import memory

# What the module of torch keeps, and a call in it.
MODULE = """
import time
class ProcessGroup:
    pass
world, pair = ProcessGroup(), ProcessGroup()
_pg_names = {world: "0", pair: "7"}
_pg_group_ranks = {world: {0: 0, 1: 1, 2: 2, 3: 3}, pair: {1: 0, 3: 1}}
def all_reduce(tensor, group=None):
    print("ready", flush=True)
    time.sleep(1000)
"""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from torch.distributed import distributed_c10d as c10d
c10d.all_reduce(1.0, {"pair": c10d.pair, "none": None, "other": c10d.ProcessGroup()}[sys.argv[2]])
"""


def told(python: str, place: pathlib.Path, group: str) -> list[str]:
    module = place / "torch" / "distributed" / "distributed_c10d.py"
    module.parent.mkdir(parents=True)
    module.write_text(MODULE)
    for package in (module.parent, module.parent.parent):
        (package / "__init__.py").touch()
    child = subprocess.Popen([python, "-c", PROGRAM, str(place), group], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "ready\n"
        answer = memory.make().stacks(ProcessRef("here", child.pid), None, None, StackOptions())
        assert isinstance(answer, PythonStacks), answer
        return [one.value for one in answer.threads[0].locals if one.name == "group ranks"]
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_a_group_is_told_by_name_and_ranks(python: str, tmp_path: pathlib.Path) -> None:
    assert told(python, tmp_path, "pair") == ["7: 1,3"]


@pytest.mark.parametrize("group", ["none", "other"])
def test_no_group_and_one_that_the_module_does_not_know_are_left_out(group: str, tmp_path: pathlib.Path) -> None:
    assert told(sys.executable, tmp_path, group) == []
