"""Which torch, NCCL and CUDA a process has mapped, from /proc/PID/maps and the metadata beside the library.

Files are opened below the process's own root, so that a container's library is read and not the host's.
"""

from __future__ import annotations

import os
import re

from ...model.evidence.versions import Versions
from ...model.process import Role
from .. import procfs, source_lines
from ..collector import Collector, Target, Touch

_LIBRARY = re.compile(
    r"/(libtorch_cpu|libtorch_cuda|libtorch_python|libnccl|libcudart|libcuda|libpython3[0-9.]*|libmpi|libuct)[^/]*\.so"
)
_PYTHON = re.compile(r"python(3\.\d+)")
_DIST = re.compile(r"^(torch|nvidia_nccl_cu\d+|nvidia_cuda_runtime_cu\d+|triton)-([0-9][^-]*)\.dist-info$")


def collect(target: Target) -> Versions:
    libraries: dict[str, str] = {}
    for line in procfs.read(f"{target.path}/maps", 8 << 20).decode("utf-8", "replace").splitlines():
        path = line.partition("/")[2]
        found = _LIBRARY.search("/" + path) if path else None
        if found:
            libraries.setdefault(found.group(1), "/" + path)
    versions = _metadata(target, libraries)
    python = _PYTHON.search(target.process.executable or "") or _PYTHON.search(" ".join(libraries))
    if python:
        versions.setdefault("python", python.group(1))
    return Versions(versions, libraries)


def _metadata(target: Target, libraries: dict[str, str]) -> dict[str, str]:
    """Versions from the dist-info folders of the site-packages that torch was loaded from; read once per folder."""
    site = next((path.split("/torch/lib/")[0] for path in libraries.values() if "/torch/lib/" in path), None)
    if site is None:
        return {}
    known: dict[str, dict[str, str]] = target.shelf.setdefault("sites", {})
    key = f"{os.stat(f'{target.path}/root').st_dev}:{site}"
    if key not in known:
        known[key] = {}
        for name in source_lines.names_in(target.proc, target.process.ref.pid, site):
            found = _DIST.match(name)
            if found:
                known[key][found.group(1).split("_cu")[0].replace("nvidia_", "")] = found.group(2)
    return dict(known[key])


COLLECTOR = Collector(
    "versions", Touch.PASSIVE, 2.0, collect, every_sweep=False, roles=frozenset({Role.RANK}), order=60, shared=True
)
