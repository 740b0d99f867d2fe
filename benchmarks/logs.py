"""How fast a big log is judged, and in how much memory: ``python benchmarks/logs.py [MEGABYTES]``.

Before it the log of a job, most of which readers know, and the CPU of one command for a few lines, and for half a megabyte of
lines that are all different, the worst for rules.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

STEP = "2026-02-11 04:10:27,{:03d} INFO step {} loss 1.2345 lr 1e-4 tokens/s 15001 grad_norm 0.71\n"
TROUBLE = (
    "[rank{0}]:[E ProcessGroupNCCL.cpp:563] [Rank {0}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, "
    "OpType=ALLREDUCE, NumelIn=100, NumelOut=800, Timeout(ms)=600000) ran for 600520 milliseconds before timing out.\n"
)


def make(path: pathlib.Path, megabytes: int) -> None:
    """A log of one rank after another, with one message of trouble per thousand lines."""
    block = "".join(STEP.format(number % 1000, number) for number in range(1000))
    with path.open("w") as file:
        written = number = 0
        while written < megabytes << 20:
            written += file.write(block) + file.write(TROUBLE.format(number % 7))
            number += 1


_JOB = (
    "[default{local}]:2025-05-04T04:{minute:02d}:{second:02d}.123Z INFO train: step={at} loss=0.{part} lr=1e-4 tok/s={part}\n",
    "node{node}: {rank}: iteration {at}/500000 | consumed samples: {at}00 | elapsed time per iteration (ms): {part}.1\n",
    "node{node}:{pid}:{pid} [{local}] NCCL INFO AllReduce: opCount {at:x} sendbuff 0x7f{at:08x} recvbuff 0x7f{at:08x} "
    "count {part} datatype 9 op 0 root 0 comm 0x55d{rank:06x} [nranks=64] stream 0x55d\n",
    "WARNING:root:gradient norm 1.{part} on rank {rank} exceeded 1.0, clipping\n",
    *(
        f"2025-05-04 04:{{minute:02d}}:{{second:02d}},123 - module{number} - DEBUG - rank {{rank}}: batch {{at}} data loading "
        "took 0.{part}s, forward 0.2s\n"
        for number in range(7)
    ),
)
_FAILED = (
    'Traceback (most recent call last):\n[rank13]:   File "/app/train.py", line 88, in <module>\n[rank13]:     main()\n'
    "[rank13]:   File \"/app/train.py\", line 70, in main\n[rank13]:     x = table[key]\n[rank13]: KeyError: 'lang=zz'\n"
)


def make_job(path: pathlib.Path, megabytes: int) -> None:
    """What 64 ranks write, every eleventh line about a call of NCCL; at the end one of them fails, and the others time out."""
    draw, at, written = random.Random(5), 0, 0
    with path.open("w") as file:
        while written < megabytes << 20:
            rank = at % 64
            written += file.write(
                _JOB[at % len(_JOB)].format(
                    at=at, rank=rank, local=rank % 8, node=rank // 8, pid=1000 + rank, minute=at // 60 % 60, second=at % 60,
                    part=draw.randint(1000, 9999),
                )
            )  # fmt: skip
            at += 1
        file.write("[rank13]: " + _FAILED)
        file.writelines(TROUBLE.format(rank) for rank in range(64) if rank != 13)


def make_different(path: pathlib.Path, lines: int) -> None:
    """Lines of which no two are alike, with words that rules know."""
    words = "rank loader worker epoch loss token cache read write model layer checkpoint queue lock wait group step batch".split()
    draw = random.Random(5)
    with path.open("w") as file:
        for number in range(lines):
            name = "".join(draw.choices("abcdefghijklmnop", k=6))
            said = " ".join(draw.choices(words, k=9))
            file.write(f"2026-02-11 04:{number // 60 % 60:02d}:{number % 60:02d} INFO {name}: {said}\n")


def cpu_s(path: pathlib.Path) -> float:
    """User and system time of one analysis, the best of three."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "rankscope", "analyze", str(path)], stdout=subprocess.DEVNULL, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


def short(folder: pathlib.Path) -> None:
    """CPU of commands on small texts."""
    few, different = folder / "few.log", folder / "different.log"
    few.write_text("".join(TROUBLE.format(rank) for rank in range(3)))
    make_different(different, 5600)
    print(
        f"CPU of one command: {cpu_s(few):.2f} s for three lines, {cpu_s(different):.2f} s for 0.5 MB that all differ"
    )


def job(folder: pathlib.Path, megabytes: int) -> None:
    """CPU and memory of a log of a job; that of a short one is what a command takes for anything."""
    path = folder / "job.log"
    make_job(path, megabytes)
    took = cpu_s(path)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{'log of a job':20} {megabytes} MB in {took:.1f} s of CPU: {megabytes / took:.0f} MB/s, peak {peak:.0f} MB")
    path.unlink()


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        short(pathlib.Path(folder))
        job(pathlib.Path(folder), megabytes)
        log = pathlib.Path(folder) / "train.log"
        make(log, megabytes)
        for name, call in (
            ("rankscope analyze", [sys.executable, "-m", "rankscope", "analyze", str(log)]),
            ("cat (peer)", ["cat", str(log)]),
        ):
            began = time.perf_counter()
            subprocess.run(call, stdout=subprocess.DEVNULL, check=False)
            took = time.perf_counter() - began
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            print(
                f"{name:20} {megabytes} MB in {took:.1f} s: {megabytes / took:.0f} MB/s, peak of children so far {peak:.0f} MB"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("megabytes", nargs="?", type=int, default=1024, help="(%(default)s)")
    main(parser.parse_args().megabytes)
