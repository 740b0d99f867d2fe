"""What a patient or its launcher needs, and whether this machine has it."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess

from .patient import Card

_HERE = {
    "root": lambda: os.geteuid() == 0,
    "fuse": lambda: os.access("/dev/fuse", os.W_OK),
    "cgroup-memory": lambda: os.access("/sys/fs/cgroup/memory/memory.limit_in_bytes", os.W_OK),
    "cgroup-cpu": lambda: os.access("/sys/fs/cgroup/cpu/cgroup.procs", os.W_OK),
    "cgroup-freezer": lambda: os.access("/sys/fs/cgroup/freezer/cgroup.procs", os.W_OK),
    "loop": lambda: os.path.exists("/dev/loop-control"),
}
# What a launcher needs besides the patient itself.
_OF_LAUNCHER = {"torchrun": ("torch",), "spawn": ("torch",), "accelerate": ("torch", "accelerate"),
                "deepspeed": ("torch", "deepspeed"), "mpirun": ("mpirun",)}  # fmt: skip


def missing(card: Card, launcher: str, python: str) -> list[str]:
    """What is needed and not there; ``python`` is the interpreter of the patient."""
    needs = dict.fromkeys((*card.needs, *_OF_LAUNCHER.get(launcher, ())))
    return [need for need in needs if not _has(need, python)]


def _has(need: str, python: str) -> bool:
    """Something of this machine, a program, or a package of the interpreter."""
    return _HERE[need]() if need in _HERE else shutil.which(need) is not None or _installed(need, python)


@functools.cache
def _installed(package: str, python: str) -> bool:
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
    return subprocess.run([python, "-c", code, package], capture_output=True, check=False).returncode == 0
