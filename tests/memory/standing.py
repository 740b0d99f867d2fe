"""Interpreters to read, and programs that say themselves what their stacks are."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

TARGET = Path(__file__).with_name("target.py")
READY_S = 30
OLDEST, NEWEST = (3, 8), (3, 14)


@lru_cache(maxsize=1)
def pythons() -> tuple[str, ...]:
    """One interpreter of each build on this machine: named in RANKSCOPE_PYTHONS, on the path, or beside our own."""
    wanted = os.environ.get("RANKSCOPE_PYTHONS", "").split(os.pathsep)
    wanted += [shutil.which(f"python3.{minor}") or "" for minor in range(OLDEST[1], NEWEST[1] + 1)]
    wanted += [str(each) for each in sorted(Path(sys.base_prefix).parent.glob("3.*/bin/python"))]
    wanted += ["/usr/bin/python3", sys.executable]
    builds: dict[str, str] = {}
    for path in filter(None, wanted):
        if os.access(path, os.X_OK):
            builds.setdefault(_build(path), path)
    return tuple(path for build, path in sorted(builds.items()) if build)


def _build(path: str) -> str:
    """The version and build of an interpreter; empty for one too old, too new or broken."""
    code = "import sys; print(sys.version_info[:2] >= (3, 8), sys.base_prefix, sys.version)"
    done = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.stdout.startswith("True") and "CPython" in _implementation(path) else ""


def _implementation(path: str) -> str:
    code = "import platform; print(platform.python_implementation())"
    return subprocess.run([path, "-c", code], capture_output=True, text=True, check=False).stdout


def label(path: str) -> str:
    """What a test calls an interpreter."""
    found = re.search(r"\d+\.\d+\.\d+", path)
    return found[0] if found else path.strip("/").replace("/", "-")


@dataclass
class Target:
    """A program that stands still, and its own view of its stacks."""

    process: subprocess.Popen[str]
    pid: int
    reporter: int
    threads: dict[int, dict[str, Any]]


@contextmanager
def standing(
    *shapes: str, python: str = sys.executable, prefix: tuple[str, ...] = (), environment: dict[str, str] | None = None
) -> Iterator[Target]:
    """Run the target in some shapes until the block ends."""
    child = subprocess.Popen(
        [*prefix, python, "-X", "utf8", str(TARGET), *shapes],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    try:
        assert child.stdout is not None
        ready, _, _ = select.select([child.stdout], [], [], READY_S)
        assert ready, f"the target {shapes} never stood still"
        said = json.loads(child.stdout.readline())
        yield Target(child, said["pid"], said["me"], {each["tid"]: each for each in said["threads"]})
    finally:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            assert stream is not None
            stream.close()
