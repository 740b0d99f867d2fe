"""What it costs a job to be prepared: gloo with one rank, small all_reduces, with and without, alternating in one run.

    $ python benchmarks/prepare.py [--calls 20000] [--rounds 5]

Each round is a process of its own; the best round of each kind counts. ``noting`` is the writer alone, without torch.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
JOB = """
import sys, time
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "prepared":
    import rankscope.prepare
import torch, torch.distributed as dist
dist.init_process_group("gloo", init_method=f"file://{sys.argv[3]}", rank=0, world_size=1)
data, calls = torch.ones(1), int(sys.argv[4])
def run(calls):
    began = time.perf_counter_ns()
    for _ in range(calls):
        dist.all_reduce(data)
    return (time.perf_counter_ns() - began) / calls
run(calls // 10)
print(run(calls))
"""


def main() -> None:
    """Run both kinds in turns and print the best of each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--calls", type=int, default=20_000)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    found: dict[str, list[float]] = {"plain": [], "prepared": []}
    with tempfile.TemporaryDirectory() as place:
        for number in range(chosen.rounds):
            for kind, times in found.items():
                times.append(_round(kind, f"{place}/{kind}{number}", chosen.calls, place))
    plain, prepared = (min(found[kind]) for kind in ("plain", "prepared"))
    print(f"all_reduce, gloo, one rank: plain {plain:.0f} ns, prepared {prepared:.0f} ns, ratio {prepared / plain:.2f}")
    print(f"preparing costs {prepared - plain:.0f} ns a call")
    print(f"noting alone (one record, begun and ended): {_noting(chosen.calls):.0f} ns")


def _round(kind: str, meeting: str, calls: int, home: str) -> float:
    done = subprocess.run(
        [sys.executable, "-c", JOB, str(SRC), kind, meeting, str(calls)], capture_output=True, text=True, check=True,
        env={**os.environ, "XDG_RUNTIME_DIR": home, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def _noting(calls: int) -> float:
    sys.path.insert(0, str(SRC))
    from rankscope.prepare.ring import Ring

    ring = Ring()
    try:
        began = time.perf_counter_ns()
        for number in range(calls):
            ring.ends(ring.begin(3, 1, 1, -1, -1, number, 0, 1, 1, 1))
        return (time.perf_counter_ns() - began) / calls
    finally:
        ring.remove()


if __name__ == "__main__":
    main()
