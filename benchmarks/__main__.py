"""``make bench``: every benchmark, one after another, with the sizes that docs/performance.md shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = (
    ("stacks.py", "--workers", "8"),
    ("stacks.py",),
    ("merge.py", "131072"),
    ("judging.py",),
    ("dumps.py",),
    ("recorder.py",),
    ("logs.py", "128"),
)


def main() -> int:
    """Run them all; the exit code says whether each of them ran."""
    failed = []
    for script, *arguments in RUNS:
        print(f"\n== {script} {' '.join(arguments)}", flush=True)
        if subprocess.run([sys.executable, str(HERE / script), *arguments], check=False).returncode:
            failed.append(script)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall ran")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
