"""Ranks that are looked at twice: who is met in a call of all and out of it again gets on; who never comes to it does not."""

from __future__ import annotations

from pathlib import Path

from rankscope.formats.gather import gather
from rankscope.pipeline import judge

IN_BACKWARD = """    _engine_run_backward (torch/autograd/graph.py:979)
    backward (torch/autograd/__init__.py:395)
    Tensor.backward (torch/_tensor.py:623)
    <module> (loop.py:60)"""
IN_FORWARD = """    Conv2d.forward (torch/nn/modules/conv.py:554)
    DistributedDataParallel._run_ddp_forward (torch/nn/parallel/distributed.py:1715)
    DistributedDataParallel.forward (torch/nn/parallel/distributed.py:1890)
    Module._call_impl (torch/nn/modules/module.py:1789)
    <module> (loop.py:60)"""
FILTERS = """    keep (filters.py:{line})
    clean (filters.py:71)
    step (loop.py:44)
    <module> (loop.py:60)"""
IN_BARRIER = """    barrier (torch/distributed/distributed_c10d.py:4800)
    wrapper (torch/distributed/c10d_logger.py:81)
    save (loop.py:{line})
    <module> (loop.py:61)"""


def dump(pid: int, stack: str, state: str = "active") -> str:
    head = f'Process {pid}: python -u loop.py\nPython v3.11.7 (/usr/bin/python3.11)\n\nThread {pid} ({state}): "MainThread"\n'
    return f"{head}{stack}\n\n"


def spoken(folder: Path, *looks: str) -> set[str]:
    """The rules that say something of looks that were kept in a file each, also where their words then outvote them."""
    for name, look in zip(("first", "second"), looks, strict=True):
        (folder / f"py-spy_{name}.txt").write_text(look)
    return {one.rule for one in judge(gather([folder])).findings}


def test_a_rank_that_came_out_of_backward_between_the_looks_is_well(tmp_path: Path) -> None:
    first = dump(501, IN_BACKWARD) + dump(502, IN_BACKWARD, "idle")
    said = spoken(tmp_path, first, dump(501, IN_BACKWARD) + dump(502, IN_FORWARD))
    assert "ranks-stand-apart" not in said
    assert "only-slow" in said


def test_ranks_that_are_in_two_calls_at_both_looks_have_parted(tmp_path: Path) -> None:
    look = dump(501, IN_BACKWARD, "idle") + dump(502, IN_BARRIER.format(line=23), "idle")
    assert "ranks-stand-apart" in spoken(tmp_path, look, look)


def test_a_rank_that_is_elsewhere_at_both_looks_keeps_the_other_waiting(tmp_path: Path) -> None:
    """Also where it moves meanwhile: it never came to the call."""
    looks = [dump(501, IN_BACKWARD, "idle") + dump(502, FILTERS.format(line=line)) for line in (18, 23)]
    assert "person-asked" in spoken(tmp_path, *looks)
