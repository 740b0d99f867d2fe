"""Compare dumps of many ranks: rankscope against PyTorch's own analyser, on the same synthetic files, in one run.

    $ python benchmarks/recorder.py [--ranks 64 256 1024] [--entries 2000] [--skip-torch]

Tensor-parallel groups of eight, data-parallel groups across them, one rank that stops. Each tool runs in a process of its
own; wall time, CPU time and peak memory include starting the interpreter.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SRC = Path(__file__).resolve().parent.parent / "src"
OURS = """
import json, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from rankscope.analysis.collectives import find
from rankscope.formats import flight_recorder, names
pool, recorders = flight_recorder.Pool(), {}
for file in Path(sys.argv[1]).iterdir():
    recorders[names.rank_in(file.name)] = flight_recorder.read(file.read_bytes(), file.name, pool)
found = find(recorders)
print(found.kind, found.culprits, found.states[0].op, found.states[0].seq, found.states[0].desc)
"""


def main() -> None:
    """Write the files, run both, print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--ranks", type=int, nargs="+", default=[64, 256, 1024])
    options.add_argument("--entries", type=int, default=2000)
    options.add_argument("--skip-torch", action="store_true")
    chosen = options.parse_args()
    print(f"{'ranks':>6} {'MB':>6} {'tool':12} {'wall s':>8} {'CPU s':>8} {'peak MB':>8}  answer")
    for ranks in chosen.ranks:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), ranks, chosen.entries)
            size = sum(file.stat().st_size for file in Path(folder).iterdir()) / 1e6
            row(ranks, size, "rankscope", [sys.executable, "-c", OURS, folder, str(SRC)])
            if not chosen.skip_torch:
                command = [sys.executable, "-m", "torch.distributed.flight_recorder.fr_trace", folder, "-p", "rank_"]
                row(ranks, size, "fr_trace", command)


def row(ranks: int, size: float, tool: str, command: list[str]) -> None:
    """Run one tool and print its line."""
    before = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": ""})
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = [line for line in out.read().decode(errors="replace").splitlines() if line.strip()]
    answer = (
        said[-1] if tool == "rankscope" else next((x for x in said if "missing ranks" in x), said[-1] if said else "")
    )
    took = f"{time.monotonic() - before:8.2f} {usage.ru_utime + usage.ru_stime:8.2f}"
    print(f"{ranks:6} {size:6.0f} {tool:12} {took} {usage.ru_maxrss / 1024:8.0f}  {answer[-70:]}", flush=True)


def write(folder: Path, ranks: int, entries: int) -> None:
    """Dumps of a TP8 × DP job in which rank 5 stops sixteen calls before the others."""
    for rank in range(ranks):
        count = entries - (16 if rank == 5 else 0)
        (folder / f"rank_{rank}").write_bytes(pickle.dumps(dump(rank, ranks, count, entries - 16), protocol=2))


def dump(rank: int, ranks: int, count: int, finished: int) -> dict[str, object]:
    """One rank's ring: three calls over tp, then one over dp, and so on."""
    tp, dp = f"{1 + rank // 8}", f"{1 + ranks // 8 + rank % 8}"
    members = {tp: ("tp", range(rank // 8 * 8, rank // 8 * 8 + 8)), dp: ("dp", range(rank % 8, ranks, 8))}
    frames = [{"name": name, "filename": "/job/train.py", "line": line} for name, line in (("step", 41), ("main", 90))]
    seqs = dict.fromkeys(members, 0)
    listed = []
    for number in range(count):
        group = dp if number % 4 == 3 else tp
        seqs[group] += 1
        done = number < finished
        listed.append({
            "record_id": number, "pg_id": 1 + (group == dp), "process_group": (group, members[group][0]),
            "collective_seq_id": seqs[group], "p2p_seq_id": 0, "op_id": seqs[group],
            "profiling_name": "nccl:all_reduce" if group == dp else "nccl:_all_gather_base",
            "time_created_ns": 1_790_000_000_000_000_000 + number * 1_000_000 + rank,
            "input_sizes": [[1024, 64]], "input_dtypes": ["BFloat16"],
            "output_sizes": [[1024 if group == dp else 8192, 64]], "output_dtypes": ["BFloat16"],
            "state": "completed" if done else "scheduled", "time_discovered_started_ns": None,
            "time_discovered_completed_ns": 1_790_000_000_000_500_000 + number * 1_000_000 if done else None,
            "retired": done, "timeout_ms": 600000, "is_p2p": False, "frames": frames,
        })  # fmt: skip
    config = {name: {"name": name, "desc": desc, "ranks": str(list(ranks))} for name, (desc, ranks) in members.items()}
    config["0"] = {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}
    return {"version": "2.10", "pg_config": config, "comm_lib_version": "2.27.5", "pg_status": {}, "entries": listed}


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
