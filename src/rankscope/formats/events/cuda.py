"""What CUDA, ROCm and their libraries answer when something on the device went wrong."""

# ruff: noqa: E501  (a pattern is one line, so that it can be compared with the format string it was made from)
from __future__ import annotations

import re

from ._table import TableReader, pattern

NAME = "cuda"
NEEDLES = (
    "CUDA",
    "cuda",
    "Cuda",
    "HIP",
    "hip",
    "driver",
    "NVML",
    "nvml",
    "illegal memory",
    "cuDNN",
    "CUDNN",
    "CUBLAS",
    "fabric",
    "Acl",
    "NVIDIA",
    "out of memory",
)

_TABLE = (
    pattern("cuda.fork", r"Cannot re-initialize (?P<what>CUDA|XPU|NPU|MUSA) in forked subprocess|(?:CUDA|HIP).{0,60}forked? (?:sub)?process|poison[_ ]fork", flags=re.IGNORECASE),
    pattern("cuda.out_of_memory", r"(?:CUDA|HIP|NPU|XPU) out of memory|cudaErrorMemoryAllocation|CUDA error: out of memory|OutOfMemoryError|CUDA_ERROR_OUT_OF_MEMORY"),
    pattern("cuda.error", r"an illegal memory access was encountered|illegal memory access|cudaErrorIllegalAddress|CUDA_ERROR_ILLEGAL_ADDRESS", lambda f, x: {**x, "text": "illegal memory access"}),
    pattern("cuda.error", r"device-side assert(?: triggered)?|cudaErrorAssert", lambda f, x: {**x, "text": "device-side assert"}),
    pattern("cuda.error", r"unspecified launch failure|CUDA_ERROR_LAUNCH_FAILED|cudaErrorLaunchFailure", lambda f, x: {**x, "text": "unspecified launch failure"}),
    pattern("cuda.error", r"misaligned address|illegal instruction was encountered|invalid (?:program counter|address space)|CUDA_ERROR_MISALIGNED_ADDRESS|CUDA_EXCEPTION_\d+", lambda f, x: {**x, "text": "kernel fault"}),
    pattern("cuda.hardware", r"uncorrectable (?:ECC|NVLink) error|hardware stack error|CUDA_ERROR_ECC_UNCORRECTABLE|[Gg][Pp][Uu] (?:has fallen off the bus|is lost)|CUDA_ERROR_HARDWARE|cudaErrorNvlinkUncorrectable|row remapp\w+ (?:failure|pending)"),
    pattern("cuda.launch_timeout", r"the launch timed out and was terminated|CUDA_ERROR_LAUNCH_TIMEOUT"),
    pattern("cuda.not_ready", r"system not yet initialized|CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady|Error 802|system driver mismatch|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|Error 803|NVIDIA-SMI has failed because it couldn't communicate|fabric ?manager.{0,300}(?:not running|failed|mismatch|inactive)|(?:nvidia-)?fabricmanager.{0,300}(?:not|fail)", flags=re.IGNORECASE),
    pattern("cuda.driver_old", r"driver version is insufficient for CUDA runtime version|CUDA driver version|forward compatibility was attempted|Driver/library version mismatch|NVIDIA driver on your system is too old|the provided PTX was compiled with an unsupported toolchain"),
    pattern("cuda.no_kernel", r"no kernel image is available for execution on the device|is not compatible with the current PyTorch installation"),
    pattern("cuda.no_device", r"no CUDA-capable device is detected|[Nn]o CUDA GPUs are available|invalid device ordinal|CUDA-capable device\(s\) is/are busy or unavailable"),
    pattern("cuda.error", r"(?:CUDA|HIP) error: (?P<text>[^.]{3,120})|CUDA driver error: (?P<driver>[^.]{3,120})"),
)  # fmt: skip


class Reader(TableReader):
    """The table."""

    def __init__(self) -> None:
        super().__init__(_TABLE)
