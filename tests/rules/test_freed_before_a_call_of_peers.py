"""Who frees device memory waits for what runs there: recorders show whether its peers wait for a call that it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats.gather import gather
from rankscope.model.diagnosis import Diagnosis
from rankscope.pipeline import judge

FREES = """Process 41: python train.py
Python v3.11.9 (/usr/bin/python3.11)

Thread 41 (active): "MainThread"
    0x7ffe11ab36f6
    cuMemFree_v2 (libcuda.so.550.54.15)
    cudaFree (libcudart.so.12)
    THCPModule_emptyCache (libtorch_python.so)
    empty_cache (torch/cuda/memory.py:170)
    trim (engine/pipe.py:88)
    main (train.py:12)
"""
READS = """Process 42: python train.py

Thread 42 (active): "MainThread"
    cuStreamSynchronize (libcuda.so.550.54.15)
    at::native::_local_scalar_dense_cuda (libtorch_cuda.so)
    overflow (engine/scaler.py:31)
    main (train.py:12)
"""
RECORDER = """rank 0: pipe  seq 7  nccl:recv 0<-1  size [64, 32]  state started
rank 0: all  seq {mine}  nccl:all_reduce  size [1]  state {state}
rank 1: pipe  seq 6  nccl:recv 1<-0  size [64, 32]  state completed
rank 1: all  seq 4  nccl:all_reduce  size [1]  state started
"""


def judged(folder: Path, recorder: str, frees: str = FREES) -> Diagnosis:
    (folder / "rank 0, py-spy --native.txt").write_text(frees)
    (folder / "rank 1, py-spy --native.txt").write_text(READS)
    if recorder:
        (folder / "recorder.txt").write_text(recorder)
    return judge(gather([folder]))


def test_the_peers_of_who_frees_wait_for_its_next_call(tmp_path: Path) -> None:
    verdict = judged(tmp_path, RECORDER.format(mine=3, state="completed")).verdict
    assert verdict is not None
    assert (verdict.cls, verdict.certainty.name, list(verdict.ranks)) == ("implicit-sync-deadlock", "LIKELY", [0])


@pytest.mark.parametrize("recorder", ["", RECORDER.format(mine=4, state="started")], ids=["none", "it has come"])
def test_without_a_call_that_it_lacks_it_may_only_be_slow(recorder: str, tmp_path: Path) -> None:
    verdict = judged(tmp_path, recorder).verdict
    assert verdict is None or verdict.certainty.name == "POSSIBLE"
