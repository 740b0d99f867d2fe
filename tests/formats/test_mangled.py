"""Functions of C++ and Rust as the linker names them are read by their plain names."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankscope.formats import gdb_text
from rankscope.formats.gather import gather
from rankscope.formats.mangled import plain_name
from rankscope.formats.records import Dump
from rankscope.pipeline import case_of
from rankscope.rules.told import child_in_threaded_library


@pytest.mark.parametrize(
    ("mangled", "plain"),
    [
        ("_ZN2cv10ThreadPool3runERKNS_5RangeERKNS_16ParallelLoopBodyEd", "cv::ThreadPool::run"),
        ("_ZNK2at6Tensor4itemEv", "at::Tensor::item"),
        ("__ZN4absl5Mutex4LockEv", "absl::Mutex::Lock"),
        ("_ZNSt6thread4joinEv", "std::thread::join"),
        ("_ZL18pyopencv_cv_resizeP7_objectS0_S0_", "pyopencv_cv_resize"),
        ("_ZN12_GLOBAL__N_14work3runEv", "(anonymous namespace)::work::run"),
        ("_ZN2at8internal15invoke_parallelIZNS_12parallel_forIZ", "at::internal::invoke_parallel"),
        ("_ZN10rayon_core8registry14in_worker_cold17h0123456789abcdefE", "rayon_core::registry::in_worker_cold"),
        ("_ZN2cv10Threa", "cv"),
        ("_ZdlPv", "_ZdlPv"),
        ("_Zebra", "_Zebra"),
        ("memcpy", "memcpy"),
    ],
)
def test_a_mangled_name_is_read_by_its_plain_one(mangled: str, plain: str) -> None:
    assert plain_name(mangled) == plain


def test_frames_of_native_code_bear_plain_names() -> None:
    text = "TID 41:\n#0  0x00007f10a8c93a41 pthread_cond_wait\n#1  0x00007f0ff1b3e1f3 _ZN3zmq13socket_base_t4sendEv\n"
    (dump,) = (one for one in gdb_text.read(text) if isinstance(one, Dump))
    assert [frame.function for frame in dump.thread.stack] == ["zmq::socket_base_t::send", "pthread_cond_wait"]


SLEEPS = (
    "PID 812\nTID 812:\n#0  0x00007f10a8c91117 __futex_wait\n{frames}#6  0x000000000051ad15 _PyEval_EvalFrameDefault\n"
)
POOL = "#1  0x00007f0ff1b3e1f3 _ZN2cv10ThreadPool3runERKNS_5RangeERKNS_16ParallelLoopBodyEd\n"
OTHER = "#1  0x00007f0ff1b3e1f3 _ZN7storage6Reader4nextEv\n"


@pytest.mark.parametrize(("frames", "found"), [(POOL, 1), (OTHER, 0)], ids=["a pool of threads", "a reader"])
def test_a_loader_worker_waits_in_a_library_with_threads_whose_name_is_mangled(
    frames: str, found: int, tmp_path: Path
) -> None:
    (tmp_path / "dataloader worker 812.txt").write_text(SLEEPS.format(frames=frames))
    assert len(list(child_in_threaded_library.check(case_of(gather([tmp_path]))))) == found


def test_frames_that_were_left_out_are_a_gap_in_one_stack() -> None:
    """People put dots in place of an address, and of frames that nobody needs."""
    text = (
        "Thread 35 (Thread 0x7f2a1c7f8700 (LWP 2417)):\n"
        "#0  0x00007f2b8a4c3360 in pthread_cond_wait () from /lib/libpthread.so.0\n"
        "#1  ... in eng::Engine::WaitForVar(eng::Var*) () from libeng.so\n...\n"
        "#6  ... in eng::Op<float>::Run(...) () from libeng.so\n"
        "#9  … in eng::Engine::Worker() () from libeng.so\n...\n#1  ... in other::main () from other.so\n"
    )
    first, second = (one for one in gdb_text.read(text) if isinstance(one, Dump))
    names = [frame.function for frame in first.thread.stack]
    assert names == [
        "eng::Engine::Worker()",
        "eng::Op<float>::Run(...)",
        "eng::Engine::WaitForVar(eng::Var*)",
        "pthread_cond_wait",
    ]
    assert [frame.function for frame in second.thread.stack] == ["other::main"]
