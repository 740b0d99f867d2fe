"""What it costs to see every Python stack of a host: ours against py-spy, over the same processes in the same run.

    python benchmarks/stacks.py [--ranks 8] [--workers 16] [--torch] [--rounds 5]

Each round runs every command once, so that a busy neighbour disturbs all alike; shown are medians over the rounds, and
the ratio to the usual ``pgrep | xargs py-spy dump`` loop of the same round. Then it is shown who stops a process: a
target that never sleeps tells how often and how long it stood still, and why.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import rankscope

HERE = Path(__file__).parent
JOB = HERE / "stacks_job.py"
TOOLS = Path(sys.executable).parent
# As the tools run for their users: compiled when they were installed, their output buffered.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

# A target of twelve threads, one of which never sleeps. Each gap in its time has a reason: the kernel counts it as an
# involuntary switch when somebody else got the CPU, and as a voluntary one only when the thread was stopped from outside.
SPINNER = """
import os, resource, sys, threading, time
os.set_blocking(0, False)
def down(depth):
    down(depth - 1) if depth else threading.Event().wait()
for _ in range(11):
    threading.Thread(target=down, args=(40,), daemon=True).start()
sys.setswitchinterval(1000)
def switches():
    used = resource.getrusage(resource.RUSAGE_THREAD)
    return used.ru_nvcsw, used.ru_nivcsw
def spin():
    stopped, other = 0.0, 0.0
    first = before = switches()
    last = time.perf_counter()
    while True:
        for _ in range(2000):
            now = time.perf_counter()
            if now - last > 1e-4:
                after = switches()
                if after[0] > before[0]:
                    stopped = max(stopped, now - last)
                else:
                    other = max(other, now - last)
                before, now = after, time.perf_counter()
            last = now
        try:
            if not os.read(0, 1):
                return
        except BlockingIOError:
            last = time.perf_counter()
            continue
        os.write(1, b"%d %.3f %.3f\\n" % (switches()[0] - first[0], stopped * 1e3, other * 1e3))
        stopped, other = 0.0, 0.0
        first = before = switches()
        last = time.perf_counter()
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
    """Seconds by the clock, less those that a diagnosis says it slept, seconds of CPU, and peak memory (MiB) of a command."""
    with tempfile.TemporaryFile() as out:
        began = time.perf_counter()
        child = subprocess.Popen(
            command, stdout=out, stderr=subprocess.DEVNULL, shell=isinstance(command, str), env=ENVIRONMENT
        )
        _, status, usage = os.wait4(child.pid, 0)
        took_s = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in (0, 1, 3):
            sys.exit(f"{command[:200]} failed: {child.returncode}")
        if "diagnose" in command:
            out.seek(0)
            took_s -= json.load(out)["cost"]["slept_s"]
    return took_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def commands(pids: list[int]) -> dict[str, list[str] | str]:
    """What is compared, the peer first."""
    listed, spy = " ".join(map(str, pids)), TOOLS / "py-spy"
    ours, target = str(TOOLS / "rankscope"), f"pid:{pids[0]}"
    return {
        "py-spy dump, one after another": f"echo {listed} | xargs -n1 {spy} dump --pid",
        "py-spy dump --nonblocking, 4 at a time": f"echo {listed} | xargs -n1 -P4 {spy} dump --nonblocking --pid",
        "rankscope stacks --raw": [ours, "stacks", "--raw", "--children", target],
        "rankscope diagnose, less its sleep": [ours, "diagnose", "--json", target],
        "a bare interpreter reading memory": [sys.executable, "-c", READ, *map(str, pids)],
    }


def gaps_under(command: list[str] | None) -> tuple[int, float, float]:
    """How often a spinning target was stopped while a command worked on it, the longest stop and the longest other gap
    (ms); without a command, in a time of the same length."""
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
                env=ENVIRONMENT,
            )
        else:
            time.sleep(0.2)
        child.stdin.write(b"?")
        stops, stopped, other = child.stdout.readline().split()
        return int(stops), float(stopped), float(other)
    finally:
        child.kill()
        child.wait()


def report_cost(pids: list[int], rounds: int) -> None:
    """Print seconds, ratio and memory of each command; CPU seconds tell more when neighbours are at work."""
    asked = commands(pids)
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, command in asked.items():
            clock, cpu, memory = timed(command)
            runs[name].append((clock, cpu, memory))
    peer = next(iter(runs.values()))
    for name, taken in runs.items():
        clock, cpu = (statistics.median(run[which] for run in taken) for which in (0, 1))
        ratios = sorted(run[0] / other[0] for run, other in zip(taken, peer, strict=True))
        ratio_cpu = statistics.median(run[1] / other[1] for run, other in zip(taken, peer, strict=True))
        spread = f"{ratios[0]:.2f}–{ratios[-1]:.2f}"
        print(
            f"{name:42} {clock:7.3f} {statistics.median(ratios):6.2f} {spread:>10} {cpu:7.3f} {ratio_cpu:6.2f}"
            f" {max(run[2] for run in taken):6.0f} MiB"
        )
    said = subprocess.run([sys.executable, "-c", READ, *map(str, pids)], capture_output=True, text=True, check=True)
    work, threads = said.stdout.split()
    print(f"{'of that, the reading itself':42} {float(work):7.3f} ({threads} threads)")


def report_gaps(rounds: int) -> None:
    """Print who stops a process, how often and for how long, and what the scheduler does to it anyway."""
    spy = str(TOOLS / "py-spy")
    print(
        f"\n{f'a target that never sleeps, {rounds} times under':42} {'stops':>7} {'longest':>10}  other gaps (scheduler)"
    )
    for name, command in {
        "nobody": None,
        "py-spy dump": [spy, "dump", "--pid", "PID"],
        "py-spy dump --nonblocking": [spy, "dump", "--nonblocking", "--pid", "PID"],
        "rankscope's reader": [sys.executable, "-c", READ, "PID"],
    }.items():
        seen = [gaps_under(command) for _ in range(rounds)]
        others = sorted(each[2] for each in seen)
        print(
            f"{name:42} {sum(each[0] for each in seen):7} {max(each[1] for each in seen):7.2f} ms"
            f"  median {statistics.median(others):.2f}, worst {others[-1]:.2f} ms"
        )


def undisturbed() -> None:
    """Go on in a child whose session outweighs its neighbours, where the kernel lets us say so (sched(7), autogroup)."""
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os.setsid()
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("-20")


def main() -> None:
    """Run the job and measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--torch", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    undisturbed()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    compileall.compile_dir(Path(rankscope.__file__).parent, quiet=2)
    with job(asked.ranks, asked.workers, asked.torch) as pids:
        print(f"{len(pids)} processes" + (" with torch loaded" if asked.torch else ""))
        print(f"{'':42} {'s':>7} {'ratio':>6} {'(spread)':>10} {'CPU s':>7} {'ratio':>6} {'peak':>7}")
        report_cost(pids, asked.rounds)
    report_gaps(20)


if __name__ == "__main__":
    main()
