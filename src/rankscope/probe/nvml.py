"""The driver's own library asked about its GPUs, read-only (NVML API reference); through ctypes, so nothing must be installed.

Names of functions and shapes of answers are those of the library's versions since driver 470. A function that is missing is
a thing not told. The caller runs this in a child with a deadline: a driver in trouble may not answer.
"""

from __future__ import annotations

import ctypes
from typing import Any

from ..model.evidence.gpus import Gpu

SONAME = "libnvidia-ml.so.1"
# Codes that say that the device itself is in trouble: lost from the bus, reset needed, in-band errors of the driver (nvml.h).
_LOST = {15: "GPU is lost", 16: "GPU requires reset", 10: "an IRQ of the GPU is not served"}
_MOST_PROCESSES = 512


class _Memory(ctypes.Structure):
    _fields_ = [("size", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Use(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("a", ctypes.c_uint), ("b", ctypes.c_uint)]


def read(soname: str = SONAME) -> tuple[Gpu, ...] | None:
    """All GPUs; None where the library is not there. Raise OSError when the driver refuses."""
    try:
        library = ctypes.CDLL(soname)
    except OSError:
        return None
    code = _call(library, "nvmlInit_v2")
    if code:
        raise OSError(f"nvmlInit: {_LOST.get(code, f'error {code}')}")
    try:
        count = ctypes.c_uint()
        if _call(library, "nvmlDeviceGetCount_v2", ctypes.byref(count)):
            raise OSError("the driver does not count its GPUs")
        return tuple(_gpu(library, index) for index in range(min(count.value, 64)))
    finally:
        _call(library, "nvmlShutdown")


def _gpu(library: Any, index: int) -> Gpu:
    device = ctypes.c_void_p()
    code = _call(library, "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
    if code:
        return Gpu(index, lost=_LOST.get(code, ""))
    use, memory, errors = _Use(), _Memory(), ctypes.c_ulonglong()
    used = _call(library, "nvmlDeviceGetUtilizationRates", device, ctypes.byref(use))
    held = _call(library, "nvmlDeviceGetMemoryInfo", device, ctypes.byref(memory))
    # 1: uncorrected errors; 0: since the driver was loaded.
    ecc = _call(library, "nvmlDeviceGetTotalEccErrors", device, ctypes.c_int(1), ctypes.c_int(0), ctypes.byref(errors))
    return Gpu(
        index, _text(library, "nvmlDeviceGetName", device), _text(library, "nvmlDeviceGetUUID", device),
        next((_LOST[code] for code in (used, held) if code in _LOST), ""), -1 if used else use.gpu,
        -1 if held else memory.used, -1 if held else memory.size, _pids(library, device), -1 if ecc else errors.value,
    )  # fmt: skip


def _pids(library: Any, device: ctypes.c_void_p) -> tuple[int, ...]:
    count = ctypes.c_uint(_MOST_PROCESSES)
    found = (_Process * _MOST_PROCESSES)()
    code = _call(library, "nvmlDeviceGetComputeRunningProcesses_v3", device, ctypes.byref(count), found)
    return tuple(sorted(found[i].pid for i in range(min(count.value, _MOST_PROCESSES)))) if code == 0 else ()


def _text(library: Any, name: str, device: ctypes.c_void_p) -> str:
    buffer = ctypes.create_string_buffer(96)
    return "" if _call(library, name, device, buffer, ctypes.c_uint(96)) else buffer.value.decode("utf-8", "replace")


def _call(library: Any, name: str, *arguments: Any) -> int:
    """The function's code; a function that this version lacks says "not found" (13)."""
    function = getattr(library, name, None)
    return int(function(*arguments)) if function is not None else 13
