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
pair, many, stride, vast = (ProcessGroup() for _ in range(4))
_pg_names = {pair: "7", many: "0", stride: "2", vast: "1"}
members = {pair: [1, 3], many: range(1009), stride: range(1, 1009, 7), vast: range(4097)}
_pg_group_ranks = {group: {rank: at for at, rank in enumerate(ranks)} for group, ranks in members.items()}
def all_reduce(tensor, group=None):
    print("ready", flush=True)
    time.sleep(1000)
"""
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from torch.distributed import distributed_c10d as c10d
c10d.all_reduce(1.0, {"none": None, "other": c10d.ProcessGroup()}.get(sys.argv[2]) or getattr(c10d, sys.argv[2], None))
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


@pytest.mark.parametrize("python", pythons(), ids=label)
def test_all_ranks_of_a_large_group_are_told(python: str, tmp_path: pathlib.Path) -> None:
    (world,) = told(python, tmp_path / "world", "many")
    assert world == "0: 0-1008"
    (stride,) = told(python, tmp_path / "stride", "stride")
    assert stride == "2: " + ",".join(map(str, range(1, 1009, 7)))


def test_a_group_that_is_too_large_to_be_read_whole_is_left_out(tmp_path: pathlib.Path) -> None:
    """A part of it would pass for the whole: nobody would wait for the others."""
    assert told(sys.executable, tmp_path, "vast") == []
