"""What it costs to see every Python stack of a host: ours against py-spy, over the same processes in the same run.

    python benchmarks/stacks.py [--ranks 8] [--workers 16] [--torch] [--repeat 3]

Prints seconds, the ratio to the usual ``pgrep | xargs py-spy dump`` loop, peak memory of the command, and how long a
target that measures its own gaps stood still under each.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
JOB = HERE / "stacks_job.py"
TOOLS = Path(sys.executable).parent

# A target of twelve threads, one of which spins and tells the longest gap it saw since it was last asked.
SPINNER = """
import os, sys, threading, time
os.set_blocking(0, False)
def down(depth):
    down(depth - 1) if depth else threading.Event().wait()
for _ in range(11):
    threading.Thread(target=down, args=(40,), daemon=True).start()
sys.setswitchinterval(1000)
def spin():
    worst, last = 0.0, time.perf_counter()
    while True:
        for _ in range(2000):
            now = time.perf_counter()
            if now - last > worst:
                worst = now - last
            last = now
        try:
            if not os.read(0, 1):
                return
        except BlockingIOError:
            last = time.perf_counter()
            continue
        os.write(1, b"%.3f\\n" % (worst * 1e3))
        worst, last = 0.0, time.perf_counter()
spin()
"""

# Only the reading itself, without our command around it.
READ = """
import sys, time
from rankscope.model.process import ProcessRef
from rankscope.probe import engines
from rankscope.probe.engine import StackOptions
engine, began, kept = engines.make("memory"), time.perf_counter(), []
for pid in map(int, sys.argv[1:]):
    kept.append(engine.stacks(ProcessRef("here", pid), None, None, StackOptions(locals=False)))
print(f"{time.perf_counter() - began:.4f}", sum(len(each.threads) for each in kept))
"""


@contextmanager
def job(ranks: int, workers: int, heavy: bool) -> Iterator[list[int]]:
    """Run the hung job; yields the pids of all its processes."""
    command = [sys.executable, str(JOB), str(ranks), str(workers), *(["torch"] if heavy else [])]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        yield [int(each) for each in child.stdout.readline().split()]
    finally:
        child.stdin.close()
        child.wait()


def timed(command: list[str] | str) -> tuple[float, float, float]:
    """Seconds by the clock, seconds of CPU, and peak memory (MiB) of a command; its output is dropped."""
    began = time.perf_counter()
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, shell=isinstance(command, str)
    )
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 3):
        sys.exit(f"{command[:200]} failed: {child.returncode}")
    return time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commands(pids: list[int]) -> dict[str, list[str] | str]:
    """What is compared, the peer first."""
    listed, spy = " ".join(map(str, pids)), TOOLS / "py-spy"
    ours, target = str(TOOLS / "rankscope"), f"pid:{pids[0]}"
    return {
        "py-spy dump, one after another": f"echo {listed} | xargs -n1 {spy} dump --pid",
        "py-spy dump --nonblocking, 4 at a time": f"echo {listed} | xargs -n1 -P4 {spy} dump --nonblocking --pid",
        "rankscope stacks --raw": [ours, "stacks", "--raw", "--children", target],
        "rankscope diagnose, less its interval": [ours, "diagnose", target],
        "a bare interpreter reading memory": [sys.executable, "-c", READ, *map(str, pids)],
    }


def gap_under(command: list[str] | None) -> float:
    """The longest gap, in ms, that a spinning target sees while a command works on it."""
    child = subprocess.Popen([sys.executable, "-c", SPINNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    assert child.stdin is not None
    assert child.stdout is not None
    cpus = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(child.pid, {cpus[-1]})
    try:
        child.stdin.write(b"?")
        child.stdout.readline()
        if command:
            subprocess.run(
                [each.replace("PID", str(child.pid)) for each in command],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=lambda: os.sched_setaffinity(0, set(cpus[:-1]) or set(cpus)),
                check=False,
            )
        else:
            time.sleep(0.2)
        child.stdin.write(b"?")
        return float(child.stdout.readline())
    finally:
        child.kill()
        child.wait()


def report_cost(pids: list[int], repeat: int) -> None:
    """Print seconds, ratio and memory of each command; CPU seconds tell more when neighbours are at work."""
    peer = [0.0, 0.0]
    for name, command in commands(pids).items():
        runs = [timed(command) for _ in range(repeat)]
        clock = statistics.median(run[0] for run in runs) - (1.0 if "interval" in name else 0.0)
        cpu = statistics.median(run[1] for run in runs)
        peer = peer if any(peer) else [clock, cpu]
        memory = max(run[2] for run in runs)
        print(f"{name:42} {clock:7.3f} {clock / peer[0]:6.2f} {cpu:7.3f} {cpu / peer[1]:6.2f} {memory:6.0f} MiB")
    said = subprocess.run([sys.executable, "-c", READ, *map(str, pids)], capture_output=True, text=True, check=True)
    work, threads = said.stdout.split()
    print(f"{'of that, the reading itself':42} {float(work):7.3f} {float(work) / peer[0]:6.2f}   ({threads} threads)")


def report_gaps(repeat: int) -> None:
    """Print how long a process stands still: the median of several worst gaps."""
    spy = str(TOOLS / "py-spy")
    for name, command in {
        "nobody": None,
        "py-spy dump": [spy, "dump", "--pid", "PID"],
        "py-spy dump --nonblocking": [spy, "dump", "--nonblocking", "--pid", "PID"],
        "rankscope's reader": [sys.executable, "-c", READ, "PID"],
    }.items():
        gaps = [gap_under(command) for _ in range(repeat)]
        print(f"{name:42} {statistics.median(gaps):7.2f} ms")


def main() -> None:
    """Run the job and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with job(asked.ranks, asked.workers, asked.torch) as pids:
        print(f"{len(pids)} processes" + (" with torch loaded" if asked.torch else ""))
        print(f"{'':42} {'s':>7} {'ratio':>6} {'CPU s':>7} {'ratio':>6} {'peak':>7}")
        report_cost(pids, asked.repeat)
    print("\nlongest gap seen by the target under")
    report_gaps(9)


if __name__ == "__main__":
    main()
