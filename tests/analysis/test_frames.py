"""What a thread waits for is read from its frames, however the path was shortened."""

from __future__ import annotations

import pytest

from rankscope.analysis.frames import WaitKind, plain_name, wait_of
from rankscope.analysis.origin import Origin, origin_of_file
from rankscope.model.evidence.stacks import Frame, Stack

SITE = "/opt/venv/lib/python3.11/site-packages/"
STD = "/usr/lib/python3.11/"


def stack(text: str) -> Stack:
    """Frames written as ``file function``, root first; @ stands for site-packages, ^ for the standard library."""
    pairs = (line.strip().rsplit(" ", 1) for line in text.split("|"))
    return Stack(Frame(function, file.replace("@", SITE).replace("^", STD), 1) for file, function in pairs)


def native(*names: str) -> Stack:
    return Stack(Frame(name, "", 0, "libx.so") for name in names)


C10D = "torch/distributed/distributed_c10d.py"
LOADER = "torch/utils/data/dataloader.py"
PYTHON = [
    (
        WaitKind.COLLECTIVE,
        "all_reduce",
        f"train.py main | @torch/distributed/c10d_logger.py wrapper | @{C10D} all_reduce",
    ),
    (WaitKind.COLLECTIVE, "barrier", f"@lightning/pytorch/trainer/trainer.py save | @{C10D} barrier"),
    (WaitKind.COLLECTIVE, "_pre_forward", "train.py main | @torch/nn/parallel/distributed.py _pre_forward"),
    (WaitKind.DATA, "_get_data", f"/home/u/train.py main | {LOADER} __next__ | {LOADER} _get_data | queue.py get"),
    (
        WaitKind.RENDEZVOUS,
        "_store_based_barrier",
        f"x.py main | {C10D} init_process_group | {C10D} _store_based_barrier",
    ),
    (
        WaitKind.FILE_BATON,
        "wait",
        "a.py <module> | @torch/utils/cpp_extension.py load | @torch/utils/file_baton.py wait",
    ),
    (WaitKind.EXIT, "_exit_function", "^multiprocessing/util.py _exit_function | ^multiprocessing/process.py join"),
    (WaitKind.IMPORT_LOCK, "acquire", "x.py f | <frozen importlib._bootstrap> acquire"),
    (WaitKind.USER, "spin", "/job/train.py main | /job/train.py spin"),
    (WaitKind.LIBRARY, "forward", "/job/train.py main | @torch/nn/modules/linear.py forward"),
    (WaitKind.INPUT, "cmdloop", "/job/train.py main | ^pdb.py interaction | ^cmd.py cmdloop"),
    (WaitKind.COLLECTIVE, "barrier", f"/job/train.py main | /src/pytorch/{C10D} barrier"),
    (WaitKind.IDLE, "_worker", "^threading.py run | ^concurrent/futures/thread.py _worker"),
    (
        WaitKind.CONDITION,
        "barrier",
        "train.py main | ^threading.py Barrier.wait | ^threading.py Barrier._wait | "
        "^threading.py Condition.wait_for | ^threading.py Condition.wait",
    ),
    (
        WaitKind.COLLECTIVE,
        "barrier",
        "train.py main | ^threading.py Barrier.wait | ^threading.py Barrier._wait | "
        "^multiprocessing/synchronize.py Condition.wait_for | ^multiprocessing/synchronize.py Condition.wait",
    ),
]


@pytest.mark.parametrize(("kind", "op", "frames"), PYTHON)
def test_python_frames(kind: WaitKind, op: str, frames: str) -> None:
    """The library frame that says most decides."""
    found = wait_of(stack(frames))
    assert found.kind is kind
    assert found.op == op or kind is WaitKind.INPUT


NATIVE = [
    (
        WaitKind.GIL,
        ["cuOccupancyMaxPotentialBlockSize", "PyEval_RestoreThread", "take_gil", "pthread_cond_timedwait@@GLIBC"],
    ),
    (
        WaitKind.LOCK,
        ["at::set_num_threads(int)", "__kmp_lock_suspend_mx", "__GI___pthread_mutex_lock", "__lll_lock_wait"],
    ),
    (WaitKind.DEVICE, ["cudaStreamSynchronize", "cuStreamSynchronize", "poll"]),
    (
        WaitKind.COLLECTIVE,
        ["gloo::transport::tcp::UnboundBuffer::waitRecv(int*, std::ratio<1l, 1000l> >)", "pthread_cond_wait"],
    ),
    (WaitKind.EXIT, ["exit", "__run_exit_handlers", "pthread_join"]),
    (
        WaitKind.GIL,
        ["pybind11::gil_scoped_acquire::gil_scoped_acquire()", "_PyThreadState_Attach", "tstate_wait_attach"],
    ),
    (WaitKind.LOCK, ["QMutex::lock()", "__lll_lock_wait"]),
    (WaitKind.CONDITION, ["cblas_dgemm", "exec_blas", "GOMP_parallel_end", "do_spin"]),
    (WaitKind.DEVICE, ["aclrtSynchronizeEvent", "poll"]),
]


def test_copies_of_multiprocessing_are_known() -> None:
    """The packages multiprocess and billiard have the same files and functions."""
    for package in ("multiprocessing", "multiprocess", "billiard"):
        assert wait_of(stack(f"a/b.py main|{package}/connection.py recv")).kind is WaitKind.PIPE


@pytest.mark.parametrize(("kind", "names"), NATIVE)
def test_native_frames(kind: WaitKind, names: list[str]) -> None:
    """Native functions are known by name, whatever their arguments and symbol versions."""
    assert wait_of(native(*names)).kind is kind


def test_plain_names() -> None:
    """Arguments, templates, return types and versions fall away."""
    assert plain_name("void c10d::F<int, std::vector<long> >::run(int) const") == "c10d::F::run"
    assert plain_name("pthread_cond_wait@@GLIBC_2.3.2") == "pthread_cond_wait"
    assert plain_name("at::native::(anonymous namespace)::f(at::Tensor&)") == "at::native::(anonymous namespace)::f"


@pytest.mark.parametrize(
    ("file", "who"),
    [
        (SITE + "torch/x.py", Origin.LIBRARY),
        ("torch/x.py", Origin.LIBRARY),
        (STD + "threading.py", Origin.STDLIB),
        ("lib/python3.12/weakref.py", Origin.STDLIB),
        ("threading.py", Origin.STDLIB),
        ("<frozen runpy>", Origin.STDLIB),
        ("/home/python/work/train.py", Origin.USER),
        ("/opt/pytorch/torch/distributed/distributed_c10d.py", Origin.LIBRARY),  # built where it lies
        ("/tmp/unpacked/torch/utils/data/dataloader.py", Origin.LIBRARY),
        ("/home/u/examples/torch/distributed/train.py", Origin.USER),
        ("/home/u/torch/train.py", Origin.USER),
        ("train.py", Origin.USER),
        ("<string>", Origin.USER),
    ],
)
def test_origin(file: str, who: Origin) -> None:
    """A path alone tells whose code it is."""
    assert origin_of_file(file) is who


def test_sqlite_that_sleeps_until_a_database_is_free_waits_for_a_file_lock() -> None:
    waits = native(
        "sqlite3_step",
        "sqlite3VdbeExec",
        "sqlite3BtreeBeginTrans",
        "sqlite3InvokeBusyHandler",
        "??",
        "usleep",
        "nanosleep",
    )
    assert wait_of(waits).kind is WaitKind.FILE_LOCK
    assert wait_of(native("sqlite3_step", "sqlite3VdbeExec", "usleep")).kind is not WaitKind.FILE_LOCK


def test_what_is_written_in_c_is_no_code_of_the_job() -> None:
    assert origin_of_file("<built-in>") is Origin.STDLIB
