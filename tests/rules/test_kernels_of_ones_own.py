# ruff: noqa: E501  (a line of a log is one line)
"""Kernels that exchange data themselves, and ranks that wait for nothing but their devices."""

from __future__ import annotations

import pathlib

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Kind
from rankscope.pipeline import judge

SICK = {
    "one-shot": "the first step never ends; all GPUs at 100 %\nkernel on every GPU: one-shot allreduce (IPC buffers), no NCCL kernel\n",
    "multimem": "it hangs, GPUs at 100 %\nthe kernel that all 8 devices run is the multimem all_reduce of the engine\n",
    "own device": "ranks 0-3: top frame is torch.cuda.synchronize in replay(), no collective frame on any rank; stands still\n",
    "HIP": "it hangs in hipDeviceSynchronize() below forward(), outside of any collective\n",
    "NVSHMEM": "main thread in torch.cuda.synchronize(), hangs\nGPU utilization 100 %\nlast launch: combine of DeepEP\n",
}
WELL = {
    "NCCL": "the first step never ends; GPUs at 100 %\nkernel on every GPU: ncclDevKernel_AllReduce_Sum\n",
    "in a call": "rank 0 stands in all_reduce, the others wait in torch.cuda.synchronize() behind the same collective\n",
}


def told(folder: pathlib.Path, text: str) -> set[str]:
    (folder / "notes.txt").write_text(text)
    found = judge(gather([folder]), 30.0).findings
    return {one.cls for one in found if one.kind is Kind.CAUSE and one.rule == "kernel-spins"}


@pytest.mark.parametrize("name", SICK)
def test_a_kernel_of_ones_own_that_does_not_end_is_told(tmp_path: pathlib.Path, name: str) -> None:
    """Nobody is missing from a collective."""
    assert told(tmp_path, SICK[name]) == {"gpu-kernel-hang"}


@pytest.mark.parametrize("name", WELL)
def test_a_kernel_of_a_library_waits_for_peers(tmp_path: pathlib.Path, name: str) -> None:
    """What spins there is a collective of all ranks."""
    assert not told(tmp_path, WELL[name])
