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
_PACKAGES = frozenset(
    "torch accelerate deepspeed lightning ray mpi4py pandas pyarrow tensorboardX numpy requests filelock torchmetrics joblib "
    "dask distributed celery gunicorn uvicorn uvloop tqdm".split()
)
# What a launcher needs besides the patient itself.
_OF_LAUNCHER = {"torchrun": ("torch",), "spawn": ("torch",), "accelerate": ("torch", "accelerate"),
                "deepspeed": ("torch", "deepspeed"), "mpirun": ("mpirun",)}  # fmt: skip


def missing(card: Card, launcher: str, python: str) -> list[str]:
    """What is needed and not there; ``python`` is the interpreter of the patient."""
    needs = dict.fromkeys((*card.needs, *_OF_LAUNCHER.get(launcher, ())))
    return [need for need in needs if not _has(need, python)]


def _has(need: str, python: str) -> bool:
    if need in _PACKAGES:
        return need in _installed(python)
    return _HERE[need]() if need in _HERE else shutil.which(need) is not None


@functools.cache
def _installed(python: str) -> frozenset[str]:
    code = "import importlib.util, sys; print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))"
    done = subprocess.run([python, "-c", code, *sorted(_PACKAGES)], capture_output=True, text=True, check=False)
    return frozenset(done.stdout.split())
