"""What it costs to judge very many stacks that are mostly alike: ``python benchmarks/dumps.py [--only NAME ...]``.

``ranks`` is a folder with a ``py-spy dump`` of each of 1,024 ranks, 26 threads each, of which one rank computes a loss while all
others stand in a collective; ``threads`` is one dump of a program with very many threads; ``logs`` are very many small logs. No
other tool judges such a folder, so seconds of CPU and the peak of memory are printed; ``--keep FOLDER`` leaves what was made.
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

Thread = tuple[str, str, tuple[str, ...]]  # its state, its name, and its frames, deepest first

_SITE = "/opt/venv/lib/python3.11/site-packages"
_RUN = ("_bootstrap_inner (threading.py:1045)", "_bootstrap (threading.py:1002)")
_THREAD = ("run (threading.py:982)", *_RUN)
_WAIT = ("wait (threading.py:331)",)
_WAIT_LONG = ("wait (threading.py:327)",)

_MAIN = (
    f"_run_step ({_SITE}/lightning/fabric/loop.py:211)", "train_step (engine/step.py:318)", "fit (engine/trainer.py:142)",
    "main (train.py:88)", "<module> (train.py:97)",
)  # fmt: skip
_REDUCES = (
    f"all_reduce ({_SITE}/torch/distributed/distributed_c10d.py:2501)",
    f"wrapper ({_SITE}/torch/distributed/c10d_logger.py:83)",
    f"_sync_grads ({_SITE}/torch/nn/parallel/distributed.py:1203)", *_MAIN,
)  # fmt: skip
_COMPUTES = ("bucketize (engine/losses.py:57)", "ranking_loss (engine/losses.py:112)", *_MAIN)

_PINS = (
    "wait (multiprocessing/connection.py:930)", "_poll (multiprocessing/connection.py:424)",
    "poll (multiprocessing/connection.py:257)", "get (multiprocessing/queues.py:113)",
    f"do_one_step ({_SITE}/torch/utils/data/_utils/pin_memory.py:32)",
    f"_pin_memory_loop ({_SITE}/torch/utils/data/_utils/pin_memory.py:55)", *_THREAD,
)  # fmt: skip
_FEEDS = (*_WAIT_LONG, "_feed (multiprocessing/queues.py:231)", *_THREAD)
_WRITES = (
    *_WAIT_LONG, "get (queue.py:171)", f"_run ({_SITE}/tensorboard/summary/writer/event_file_writer.py:269)",
    f"run ({_SITE}/tensorboard/summary/writer/event_file_writer.py:244)", *_RUN,
)  # fmt: skip
_SHOWS = (*_WAIT, "wait (threading.py:629)", f"run ({_SITE}/tqdm/_monitor.py:60)", *_RUN)
_BEATS = (*_WAIT, "wait (threading.py:629)", "_heartbeat (engine/watchdog.py:41)", *_THREAD)
_READS = (f"_read_thread ({_SITE}/torch/_inductor/compile_worker/subproc_pool.py:228)", *_THREAD)
_POOLED = (f"_worker ({_SITE}/../../concurrent/futures/thread.py:81)", *_THREAD)
_STORES = ("accept (socket.py:294)", "serve (engine/store.py:66)", *_THREAD)
_TELLS = (
    "select (selectors.py:468)", "_run_once (asyncio/base_events.py:1884)", "run_forever (asyncio/base_events.py:607)",
    "run_loop (engine/metrics.py:30)", *_THREAD,
)  # fmt: skip
_GRADS = (
    f"unpack_hook ({_SITE}/torch/utils/checkpoint.py:1118)",
    f"backward ({_SITE}/torch/autograd/function.py:307)",
)


def _threads(computes: bool) -> Iterator[Thread]:
    """The 26 threads of a rank."""
    yield ("active+gil", "MainThread", _COMPUTES) if computes else ("active", "MainThread", _REDUCES)
    yield "idle", "Thread-1 (_read_thread)", _READS
    yield "idle", "Thread-2 (serve)", _STORES
    yield "idle", "Thread-3 (_heartbeat)", _BEATS
    yield "idle", "Thread-4", _WRITES
    yield "idle", "Thread-5 (_pin_memory_loop)", _PINS
    yield "idle", "tqdm_monitor", _SHOWS
    yield "idle", "Thread-6 (run_loop)", _TELLS
    for _ in range(2):
        yield "idle", "Dummy-7", _GRADS
    for _ in range(8):
        yield "idle", "QueueFeederThread", _FEEDS
    for number in range(8):
        yield "idle", f"ThreadPoolExecutor-0_{number}", _POOLED


def _dump(pid: int, threads: Iterator[Thread], rank: int = 0) -> Iterator[str]:
    """The lines of one dump."""
    yield f"Process {pid}: /opt/venv/bin/python train.py --config base.yaml --local_rank {rank % 8}\n"
    yield "Python v3.11.7 (/opt/venv/bin/python3.11)\n\n"
    for number, (state, name, frames) in enumerate(threads):
        yield f'Thread {pid + number} ({state}): "{name}"\n'
        yield from (f"    {frame}\n" for frame in frames)


def make_ranks(folder: pathlib.Path, ranks: int) -> None:
    """A dump of each rank; one of them computes, and all others wait in a collective."""
    for rank in range(ranks):
        lines = _dump(4_000 + rank * 7919 % 400_000, _threads(computes=rank == ranks // 3), rank)
        (folder / f"rank{rank}.txt").write_text("".join(lines))


def make_threads(folder: pathlib.Path, count: int) -> None:
    """One dump of a program with so many threads of a pool."""
    pool = (("idle", f"ThreadPoolExecutor-0_{number}", _POOLED) for number in range(count))
    with (folder / "pool.txt").open("w") as file:
        file.writelines(_dump(20_000, pool))


def make_logs(folder: pathlib.Path, count: int) -> None:
    """A log of a few lines of each of so many tasks, one of which says more."""
    for task in range(count):
        lines = [
            f"2026-02-11 04:10:{number:02d},{task % 1000:03d} INFO rank {task}: step {number} loss 1.2{task % 10}\n"
            for number in range(5)
        ]
        if task == count // 3:
            lines.append("Traceback (most recent call last):\n  File \"train.py\", line 88, in main\nKeyError: 'zz'\n")
        (folder / f"task{task}.log").write_text("".join(lines))


JOBS: dict[str, tuple[Callable[[pathlib.Path, int], None], int]] = {
    "ranks": (make_ranks, 1024), "threads": (make_threads, 100_000), "logs": (make_logs, 5000),
}  # fmt: skip


def measured(folder: pathlib.Path) -> tuple[float, float]:
    """Seconds of CPU and the peak in MB of one analysis of a folder; the peak is that of the largest so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "rankscope", "analyze", "--json", str(folder)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


def main() -> None:
    """Make what is to be judged, judge it, and print a line for each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="+", choices=JOBS, default=list(JOBS))
    options.add_argument("--count", type=int, help="so many ranks, threads or logs")
    options.add_argument("--keep", type=pathlib.Path, help="leave what was made in this folder")
    chosen = options.parse_args()
    for name in chosen.only:
        make, count = JOBS[name]
        with tempfile.TemporaryDirectory() as scratch:
            folder = (chosen.keep or pathlib.Path(scratch)) / name
            folder.mkdir(parents=True, exist_ok=True)
            make(folder, chosen.count or count)
            took, peak = measured(folder)
        print(f"{name:8} {chosen.count or count:7}: {took:6.1f} s of CPU, peak so far {peak:.0f} MB", flush=True)


if __name__ == "__main__":
    main()
