"""What it costs to look at a job on many hosts: ours against ``clush`` with py-spy, over the same hosts in the same run.

    python benchmarks/hosts.py [--hosts 1,4,16] [--ranks 4]       needs root: hosts are namespaces of this machine
    python benchmarks/hosts.py --answers 1024 [--ranks 8]         joins and judges answers of that many hosts, made here

Each round runs both, one after the other, so that a busy neighbour disturbs both alike. The time slept between our two
sweeps is taken out; py-spy looks once.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BED = ROOT / "tests" / "lab" / "testbed.sh"
TOOLS = pathlib.Path(sys.executable).parent
SLEPT_S = 1.0
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TB_DIR": "/run/rankscope-lab"}


WEIGHT = pathlib.Path("/sys/fs/cgroup/cpu/rankscope-benchmark")


def weigh() -> None:
    """Both sides, hosts included, outweigh what else runs on the machine, where its control groups let us (cgroups(7))."""
    with contextlib.suppress(OSError):
        WEIGHT.mkdir(exist_ok=True)
        (WEIGHT / "cpu.shares").write_text("20000")
        (WEIGHT / "cgroup.procs").write_text(str(os.getpid()))


def give_back() -> None:
    with contextlib.suppress(OSError):
        (WEIGHT.parent / "cgroup.procs").write_text(str(os.getpid()))
        WEIGHT.rmdir()


def bed(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(BED), *words], env=ENV, capture_output=True, text=True, check=False)


def job(hosts: int, ranks: int) -> list[subprocess.Popen[bytes]]:
    """Processes that look like ranks and stand still, on every host."""
    started = []
    for host in range(hosts):
        line = " ".join(
            f"RANK={host * ranks + i} LOCAL_RANK={i} {sys.executable} -c 'import time;time.sleep(3600)' &"
            for i in range(ranks)
        )
        about = f"export WORLD_SIZE={hosts * ranks} MASTER_ADDR=node1 MASTER_PORT=29500; {line} wait"
        words = [str(BED), "exec", f"node{host + 1}", "sh", "-c", about]
        quiet = subprocess.DEVNULL
        started.append(subprocess.Popen(words, env=ENV, stdin=quiet, stdout=quiet, stderr=quiet))
    time.sleep(1.0 + 0.02 * hosts * ranks)  # the interpreters start; nothing measured depends on it
    return started


def timed(*command: str) -> tuple[float, str]:
    began = time.perf_counter()
    said = bed("exec", "login", *command).stdout
    return time.perf_counter() - began, said


def compared(names: str, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds of both in every round, one after the other; the first round warms up and does not count."""
    ours, theirs = [], []
    for number in range(rounds + 1):
        mine, said = timed(str(TOOLS / "rankscope"), "diagnose", f"ssh:{names}", "--interval", str(SLEPT_S), "--json")
        assert '"rankscope/diagnosis"' in said
        other, said = timed(str(TOOLS / "clush"), "-n", "-w", names,
                            f"pgrep -f time.sleep.3600 | xargs -n1 {TOOLS / 'py-spy'} dump --nonblocking --pid")  # fmt: skip
        assert "Thread" in said
        if number:
            ours.append(mine - SLEPT_S)
            theirs.append(other)
    return ours, theirs


def on_hosts(counts: list[int], ranks: int, rounds: int) -> None:
    weigh()
    bed("down")
    bed("up", str(max(counts)))
    print(f"medians of {rounds} rounds; ours less the {SLEPT_S:g} s between its sweeps; the ratio is that of one round")
    print(f"{'hosts':>6} {'ranks':>6} {'rankscope':>10} {'clush+py-spy':>13} {'ratio':>6} {'lowest-highest':>15}")
    try:
        for count in counts:
            started = job(count, ranks)
            names = f"node[1-{count}]"
            ours, theirs = compared(names, rounds)
            ratios = sorted(mine / other for mine, other in zip(ours, theirs, strict=True))
            print(
                f"{count:6} {count * ranks:6} {statistics.median(ours):9.2f}s {statistics.median(theirs):12.2f}s "
                f"{statistics.median(ratios):6.2f} {ratios[0]:9.2f}-{ratios[-1]:.2f}",
                flush=True,
            )
            for host in range(count):
                bed("exec", f"node{host + 1}", "pkill", "-KILL", "-f", "time.sleep.3600")
            for process in started:
                process.wait()
    finally:
        bed("down")
        give_back()


def on_answers(hosts: int, ranks: int) -> None:
    """Bytes, seconds and memory at the login node, for answers made by the agent's own writer."""
    sys.path.insert(0, str(ROOT / "tests"))
    from rankscope.pipeline import judge
    from rankscope.reach.answers import Answers
    from rankscope.reach.join import join
    from reach.conftest import answer

    names = tuple(f"node{i + 1}" for i in range(hosts))
    world = hosts * ranks
    answers = Answers(names)
    size = 0
    spent = {"read": 0.0}
    for number, name in enumerate(names):
        raw = answer(name, tuple(range(number * ranks, (number + 1) * ranks)), world=world, asleep=(world // 3,))
        size += len(raw)
        began = time.perf_counter()
        for line in raw.split(b"\n"):
            answers.feed(name, line)
        spent["read"] += time.perf_counter() - began
    answers.close(1.0)
    began = time.perf_counter()
    (snapshot,) = join(answers, whole=True)
    spent["join"] = time.perf_counter() - began
    began = time.perf_counter()
    diagnosis = judge(snapshot)
    spent["judge"] = time.perf_counter() - began
    assert diagnosis.verdict is not None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items())
    print(
        f"{hosts} hosts x {ranks} ranks: {size / 1e6:.2f} MB received; {times}; peak {peak:.0f} MiB; {diagnosis.verdict.title}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", default="1,4,16")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--answers", type=int)
    given = parser.parse_args()
    if given.answers:
        on_answers(given.answers, given.ranks)
    elif os.geteuid():
        sys.exit("hosts made of namespaces need root; --answers does not")
    else:
        on_hosts([int(count) for count in given.hosts.split(",")], given.ranks, given.rounds)


if __name__ == "__main__":
    main()
