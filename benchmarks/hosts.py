"""What it costs to look at a job on many hosts: ours against ``clush`` with py-spy, over the same hosts in the same run.

    python benchmarks/hosts.py [--hosts 1,4,16] [--ranks 4]       needs root: hosts are namespaces of this machine
    python benchmarks/hosts.py --answers 1024 [--ranks 8]         joins and judges answers of that many hosts, made here

The time slept between our two sweeps is taken out and shown apart; py-spy looks once.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BED = ROOT / "tests" / "lab" / "testbed.sh"
TOOLS = pathlib.Path(sys.executable).parent
ENV = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TB_DIR": "/run/rankscope-lab"}


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
    best, said = 1e9, ""
    for _ in range(4):
        began = time.perf_counter()
        said = bed("exec", "login", *command).stdout
        best = min(best, time.perf_counter() - began)
    return best, said


def on_hosts(counts: list[int], ranks: int) -> None:
    bed("down")
    bed("up", str(max(counts)))
    print(f"{'hosts':>6} {'ranks':>6} {'rankscope':>10} {'(slept)':>8} {'clush+py-spy':>13} {'ratio':>6}")
    try:
        for count in counts:
            started = job(count, ranks)
            names = f"node[1-{count}]"
            ours, _ = timed(str(TOOLS / "rankscope"), "diagnose", f"ssh:{names}", "--interval", "1", "--json")
            theirs, said = timed(str(TOOLS / "clush"), "-n", "-w", names,
                                 f"pgrep -f time.sleep.3600 | xargs -n1 {TOOLS / 'py-spy'} dump --nonblocking --pid")  # fmt: skip
            assert "Thread" in said
            print(
                f"{count:6} {count * ranks:6} {ours - 1.0:9.2f}s {1.0:7.1f}s {theirs:12.2f}s {(ours - 1.0) / theirs:6.2f}",
                flush=True,
            )
            for host in range(count):
                bed("exec", f"node{host + 1}", "pkill", "-KILL", "-f", "time.sleep.3600")
            for process in started:
                process.wait()
    finally:
        bed("down")


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
    parser.add_argument("--answers", type=int)
    given = parser.parse_args()
    if given.answers:
        on_answers(given.answers, given.ranks)
    elif os.geteuid():
        sys.exit("hosts made of namespaces need root; --answers does not")
    else:
        on_hosts([int(count) for count in given.hosts.split(",")], given.ranks)


if __name__ == "__main__":
    main()
