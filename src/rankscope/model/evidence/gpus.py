"""The GPUs of a host as their driver sees them (NVML)."""

from __future__ import annotations

from dataclasses import dataclass

from . import evidence


@dataclass(frozen=True)
class Gpu:
    """One GPU. ``lost`` holds the driver's words when it does not answer as a device; -1 stands for "not told".

    ``pids`` are as the driver numbers them, of processes that compute on it.
    """

    index: int
    name: str = ""
    uuid: str = ""
    lost: str = ""
    busy_percent: int = -1
    used_bytes: int = -1
    size_bytes: int = -1
    pids: tuple[int, ...] = ()
    ecc_errors: int = -1  # uncorrected, since the driver was loaded


@evidence("gpus")
@dataclass(frozen=True)
class Gpus:
    """All GPUs of one host; told once per host, beside the first process that was looked at."""

    gpus: tuple[Gpu, ...]
