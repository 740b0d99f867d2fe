"""How fast a big log is judged, and in how much memory: ``python benchmarks/logs.py [MEGABYTES]``.

Then the CPU of one command for a few lines, and for half a megabyte of lines that are all different, the worst for rules.
"""

from __future__ import annotations

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


def main(megabytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        short(pathlib.Path(folder))
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
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
